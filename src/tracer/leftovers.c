/* Removing what a spoor that was killed has left in a process. */
#include "patch/leftovers.h"

#include <errno.h>

#include "tracer/detach.h"
#include "tracer/seizing.h"
#include "tracer/stopping.h"
#include "tracer/syscall_resume.h"
#include "tracer/tracer.h"

/* All tasks of FROM, which stood for the process so far, belong to TO from now on. */
static void hand_over(struct tracer *t, struct space *from, struct space *to) {
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, from));) {
        k->space = space_ref(to);
        space_unref(from);
    }
    to->stopping = from->stopping;
}

static int no_caller(pid_t pid, struct err *err) {
    return err_set(
        err, EBUSY, "busy",
        "process %d: none of its threads can be made to call the kernel: try again later", pid);
}

/* All tasks of SPACE, in which nothing is known to be of a spoor, stand still. */
static int take_over(struct tracer *t, struct space *space, bool *ret_found, struct err *err) {
    const struct task *caller = stop_space_with_caller(t, space);
    if (!caller)
        return no_caller(space->pid, err);
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));)
        leftovers_end_call(k->tid);
    struct space *left;
    int rc = leftovers_find(caller->tid, &left, err);
    if (rc < 0 || !left)
        return rc;
    *ret_found = true;
    hand_over(t, space, left);
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, left));)
        syscall_resume_end(k);
    rc = detach_stopped(t, left, err);
    space_unref(left);
    return rc;
}

int tracer_remove_leftovers(struct tracer *t, pid_t pid, bool *ret_found, struct err *err) {
    struct space *space = space_new_untraced(pid);
    struct seizing s = {.tracer = t, .space = space, .sharing.pid = pid};
    sharing_look(&s.sharing);
    int rc = seizing_all(&s, err);
    sharing_done(&s.sharing);
    if (rc == 0)
        rc = take_over(t, space, ret_found, err);
    detach_stopped(t, space, NULL); /* tasks that are still there */
    await_leavers(t);
    space_unref(space);
    return rc;
}
