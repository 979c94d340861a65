/* Lets a task execute its program once more, by a remote call from a foothold. */
#include "tracer/privileged_exec.h"

#include <errno.h>

#include "patch/foothold.h"
#include "target/maps.h"
#include "target/memory.h"
#include "target/privileges.h"
#include "tracer/identity.h"

static int exec_again(pid_t tid, struct err *err) {
    AUTO_FD int fd = -1;
    struct maps maps = {0};
    struct foothold foothold;
    int rc = thread_finish_syscall(tid, err);
    if (rc == 0)
        rc = memory_open(tid, &fd, err);
    if (rc == 0)
        rc = maps_read(tid, &maps, err);
    if (rc == 0)
        rc = foothold_take(fd, &maps, tid, &foothold, err);
    maps_done(&maps);
    if (rc < 0)
        return rc;
    rc = privileges_exec_again(tid, &(struct remote_site){.memory_fd = fd, .code = foothold.code},
                               err);
    if (rc < 0)
        foothold_leave(&foothold, NULL);
    return rc;
}

bool privileged_exec_restart(struct tracer *t, const struct task *task) {
    struct err err = {0};
    struct identity id;
    if (!privileges_withheld(task->tid))
        return false;
    identity_of_process(task->tid, &id);
    err_set(&err, EPERM, "privileged",
            "process %d: the kernel withholds the privileges of %s from a program that spoor "
            "traces: it runs untraced (as root spoor can trace it)",
            task->tid, id.command);
    tracer_warn(t, task->tid, &err);
    if (exec_again(task->tid, &err) < 0) {
        tracer_warn(t, task->tid, &err);
        return false;
    }
    return true;
}
