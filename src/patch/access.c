/* Makes a process dumpable for a moment, by remote calls, so that spoor may read its /proc
 * files. */
#include "patch/access.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "patch/permits.h"
#include "target/memory.h"

static bool is_refused(pid_t tid) {
    AUTO_FREE char *name = mem_printf("/proc/%d/maps", tid);
    AUTO_FD int fd = open(name, O_RDONLY | O_CLOEXEC);
    return fd < 0 && (errno == EACCES || errno == EPERM);
}

static int64_t call_prctl(const struct space *space, pid_t caller, int what, uint64_t argument) {
    struct remote_call call = {SYS_prctl, {(uint64_t)what, argument}};
    int64_t result;
    int rc = thread_call(caller, &space->remote, &call, &result, NULL);
    return rc < 0 ? rc : result;
}

bool access_gain(const struct space *space, pid_t caller) {
    return is_refused(caller) && permits(space, caller, PERMIT_LOOK) &&
           call_prctl(space, caller, PR_GET_DUMPABLE, 0) == 0 &&
           call_prctl(space, caller, PR_SET_DUMPABLE, 1) == 0;
}

void access_give_back(const struct space *space, pid_t caller) {
    call_prctl(space, caller, PR_SET_DUMPABLE, 0);
}

int access_open_memory(struct space *space, pid_t tid, struct err *err) {
    int fd, rc = memory_open(tid, &fd, err);
    if (rc < 0)
        return rc;
    close(space->remote.memory_fd);
    space->remote.memory_fd = fd;
    space->borrowed = false;
    return 0;
}
