#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "session/settle.h"
#include "session/tracer_parts.h"

/* Whether it cannot come to the program's code before we have answered what it reports next. */
static bool stands_still(const struct task *k) {
    return k->stopped || k->vfork_child || k->exiting;
}

static bool all_stopped(const struct tracer *t, const struct space *space) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && !stands_still(k))
            return false;
    return true;
}

void stop_space(struct tracer *t, struct space *space) {
    space->stopping = true;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && !stands_still(k))
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

bool may_call(const struct task *task) { return task->status >> 16 == PTRACE_EVENT_STOP; }

/* Lets TASK, which is stopped, run on without us, with what it was stopped for. */
static void release(struct tracer *t, struct task *task, taddr_t lane) {
    int event = task->status >> 16, sig = WSTOPSIG(task->status);
    thread_set_lane(task->tid, event == PTRACE_EVENT_EXEC ? 0 : lane);
    thread_detach(task->tid, event ? 0 : sig);
    family_forget(t, task);
}

/* A stopped task of SPACE that may make remote calls; NULL if there is none just now. */
static struct task *find_caller(const struct tracer *t, const struct space *space) {
    struct task *parent = NULL;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        int event = k->status >> 16;
        if (k->space != space || !k->stopped)
            continue;
        if (may_call(k))
            return k;
        if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_CLONE)
            parent = k;
    }
    return parent && thread_finish_call(parent->tid, NULL) == 0 ? parent : NULL;
}

static bool before_signal(const struct tracer *t, const struct space *space) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && k->stopped && !(k->status >> 16))
            return true;
    return false;
}

/* Stops the space at a moment when one of its tasks may call. NULL: there is no such moment. */
static struct task *stop_with_caller(struct tracer *t, struct space *space) {
    enum { MOST_TRIES = 100 };
    for (int i = 0;; i++) {
        stop_space(t, space);
        struct task *caller = find_caller(t, space);
        if (caller || i == MOST_TRIES || !before_signal(t, space))
            return caller;
        resume_space(t, space);
    }
}

static void settle_all(const struct tracer *t, const struct space *space) {
    enum settled settled;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && k->stopped)
            settle_step_out(space, k->tid, k->slot, &settled);
}

/* What cannot be undone goes on harmlessly: its threads write into the sink. */
static void release_space(struct tracer *t, struct space *space) {
    struct err err = {0};
    struct task *caller = stop_with_caller(t, space);
    settle_all(t, space);
    bool undone = caller && space_undo(space, caller->tid, &err) == 0;
    if (err.code)
        tracer_warn(t, caller->tid, &err);
    space->stopping = false;
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k; k = next) {
        next = tasks_next(&t->tasks, k);
        if (k->space == space && k->stopped)
            release(t, k, undone ? 0 : space_sink(space));
        else if (k->space == space)
            family_forget(t, k); /* in the kernel: that lets it go with us */
    }
}

static struct task *find_in_space(const struct tracer *t) {
    struct task *k = tasks_next(&t->tasks, NULL);
    while (k && !k->space)
        k = tasks_next(&t->tasks, k);
    return k;
}

void tracer_release_all(struct tracer *t) {
    for (struct task *k; (k = find_in_space(t));) {
        struct space *space = space_ref(k->space);
        release_space(t, space);
        space_unref(space);
    }
    for (struct task *k; (k = tasks_next(&t->tasks, NULL));)
        family_forget(t, k); /* nothing of ours is in it */
}
