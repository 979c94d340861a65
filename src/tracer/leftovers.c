/* Removes what a killed spoor has left in a process. */
#include "patch/leftovers.h"

#include <errno.h>

#include "tracer/detach.h"
#include "tracer/seizing.h"
#include "tracer/stopping.h"
#include "tracer/syscall_resume.h"
#include "tracer/tracer.h"

/* Moves all tasks of FROM, which stood for the process so far, to TO. */
static void move_tasks(struct tracer *t, struct space *from, struct space *to) {
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

/* All tasks of SPACE are stopped: finds and removes a killed spoor's leftovers. */
static int take_over(struct tracer *t, struct space *space, bool *ret_found, struct err *err) {
    const struct task *caller = stop_space_with_caller(t, space);
    if (!caller)
        return no_caller(space->pid, err);
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));)
        leftovers_end_call(k->tid);
    struct space *found;
    int rc = leftovers_find(caller->tid, &found, err);
    if (rc < 0 || !found)
        return rc;
    *ret_found = true;
    move_tasks(t, space, found);
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, found));)
        syscall_resume_end(k);
    rc = detach_stopped(t, found, err);
    space_unref(found);
    return rc;
}

int tracer_remove_leftovers(struct tracer *t, pid_t pid, bool *ret_found, struct err *err) {
    struct space *space = space_new_untraced(pid);
    struct seizing s = {.tracer = t, .space = space, .sharing.pid = pid};
    sharing_update(&s.sharing);
    int rc = seizing_all(&s, err);
    sharing_done(&s.sharing);
    if (rc == 0)
        rc = take_over(t, space, ret_found, err);
    detach_stopped(t, space, NULL); /* tasks that are still there */
    await_detachments(t);
    space_unref(space);
    return rc;
}
