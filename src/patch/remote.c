/* Remote calls, with the target's memory limit raised where needed. */
#include "patch/remote.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "patch/limits.h"
#include "patch/permits.h"
#include "target/maps.h"

enum { MAX_ERRNO = 4095 };

bool space_maps_full(const struct space *s, pid_t tid, struct err *err) {
    size_t count, most;
    if (!maps_are_full(tid, &count, &most))
        return false;
    err_set(err, ENOMEM, "too-many-maps",
            "process %d: has %zu mappings, and vm.max_map_count allows %zu: raise that (sysctl)",
            s->pid, count, most);
    return true;
}

int space_call_failed(const struct space *s, pid_t tid, long number, int64_t result,
                      struct err *err) {
    if (result == -ENOMEM && space_maps_full(s, tid, err))
        return -ENOMEM;
    if (result < 0 && result >= -MAX_ERRNO)
        return err_set(err, (int)-result, "remote-call",
                       "process %d: system call %ld in it failed: %s", s->pid, number,
                       strerror((int)-result));
    return 0;
}

int space_call(struct space *s, pid_t tid, const struct remote_call *call, int64_t *ret,
               struct err *err) {
    int rc = call->number == REGS_CALL_MMAP ? limits_raise(s, tid, call->args[1], err) : 0;
    if (rc == 0)
        rc = thread_call(tid, &s->remote, call, ret, err);
    return rc < 0 ? rc : space_call_failed(s, tid, call->number, *ret, err);
}

bool space_calls(struct space *s, pid_t tid, struct remote_step *steps, size_t count) {
    int rc = permits(s, tid, PERMIT_SERIES) ? 0 : -ENOTSUP;
    for (size_t i = 0; i < count && rc == 0; i++)
        if (steps[i].call.number == REGS_CALL_MMAP)
            rc = limits_raise(s, tid, steps[i].call.args[1], NULL);
    return rc == 0 && thread_calls(tid, &s->remote, steps, count, NULL) == 0;
}

int space_unmap(const struct space *s, pid_t caller, taddr_t at, size_t size, struct err *err) {
    struct remote_call call = {SYS_munmap, {at, size}};
    int64_t result = 0;
    int rc = thread_call(caller, &s->remote, &call, &result, err);
    if (rc == 0 && result < 0)
        rc = err_set(err, (int)-result, "remote-call",
                     "process %d: memory that tracing took cannot be unmapped: %s: 'spoor detach "
                     "%d' removes it when that is possible again",
                     s->pid, strerror((int)-result), s->pid);
    return rc;
}
