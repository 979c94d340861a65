#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "session/settle.h"
#include "session/tracer_parts.h"

static bool all_stopped(const struct tracer *t, const struct space *space) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && !k->stopped && !k->vforked)
            return false;
    return true;
}

void stop_space(struct tracer *t, struct space *space) {
    space->stopping = true;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && !k->stopped && !k->vforked)
            thread_interrupt(k->tid);
    while (!all_stopped(t, space)) {
        int status;
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid > 0)
            tracer_report(t, tid, status);
        else if (errno != EINTR)
            break;
    }
}

void resume_space(struct tracer *t, struct space *space) {
    tid_array tids = {0};
    space->stopping = false;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && k->stopped)
            ARRAY_PUSH(&tids, k->tid);
    tracer_answer_all(t, &tids);
    tracer_answer_newborns(t);
}

/* Lets TASK, which is stopped, run on without us, with what it was stopped for. */
static void release(struct tracer *t, struct task *task) {
    int event = task->status >> 16, sig = WSTOPSIG(task->status);
    thread_set_lane(task->tid, 0);
    thread_detach(task->tid, event ? 0 : sig);
    family_forget(t, task);
}

/* Inside a system call (at its fork or exec event) or held by job control a task is no caller. */
static bool may_call(const struct task *task) {
    int event = task->status >> 16;
    return !event || (event == PTRACE_EVENT_STOP && !is_stop_signal(WSTOPSIG(task->status)));
}

static void release_space(struct tracer *t, struct space *space) {
    struct task *caller = NULL;
    struct err err = {0};
    stop_space(t, space);
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        enum settled settled;
        if (k->space != space || !k->stopped)
            continue;
        settle_step_out(space, k->tid, k->slot, &settled);
        if (may_call(k))
            caller = k;
    }
    if (caller && space_undo(space, caller->tid, &err) < 0 && err.code != ESRCH)
        tracer_warn(t, &err);
    space->stopping = false;
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k; k = next) {
        next = tasks_next(&t->tasks, k);
        if (k->space == space && k->stopped)
            release(t, k);
        else if (k->space == space)
            family_forget(t, k); /* waits for its vfork child: the kernel lets it go with us */
    }
}

void tracer_release_all(struct tracer *t) {
    for (struct task *k; (k = tasks_next(&t->tasks, NULL));) {
        if (!k->space) {
            family_forget(t, k); /* nothing of ours is in it */
            continue;
        }
        struct space *space = space_ref(k->space);
        release_space(t, space);
        space_unref(space);
    }
}
