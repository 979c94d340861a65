#include "record/detach.h"

#include <errno.h>
#include <signal.h>

#include "patch/leftovers.h"
#include "target/candidate.h"
#include "tracer/tracer_parts.h"

/* All tasks of FROM belong to TO from now on, which is theirs in truth. */
static void hand_over(struct tracer *t, struct space *from, struct space *to) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (k->space != from)
            continue;
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

/* All tasks of SPACE, which has nothing of ours, stand still. */
static int take_over(struct tracer *t, struct space *space, pid_t pid, bool *ret_found,
                     struct err *err) {
    const struct task *caller = stop_with_caller(t, space);
    if (!caller)
        return no_caller(pid, err);
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (stands_in(k, space))
            leftovers_end_call(k->tid);
    struct space *left;
    int rc = leftovers_find(caller->tid, &left, err);
    if (rc < 0 || !left)
        return rc;
    *ret_found = true;
    hand_over(t, space, left);
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (stands_in(k, left))
            rests_end(k);
    rc = release_stopped(t, left, err);
    space_unref(left);
    return rc;
}

static int detach(struct tracer *t, pid_t pid, bool *ret_found, struct err *err) {
    struct space *space = space_blank(pid);
    int rc = seizing_stop_all(t, space, pid, err);
    if (rc == 0)
        rc = take_over(t, space, pid, ret_found, err);
    release_stopped(t, space, NULL); /* those that are still there */
    await_leavers(t);
    space_unref(space);
    return rc;
}

int session_detach(const struct session_options *options, pid_t pid, bool *ret_found,
                   struct err *err) {
    sigset_t reports, mask;
    struct session_options o = *options;
    struct tracer_options to = {.context = {.options = &o}};
    *ret_found = false;
    int rc = candidate_check(pid, err);
    if (rc == 0)
        rc = leftovers_exist(candidate_thread(pid), ret_found, err);
    if (rc < 0 || !*ret_found)
        return rc;
    sigemptyset(&reports);
    sigaddset(&reports, SIGCHLD);
    sigprocmask(SIG_BLOCK, &reports, &mask);
    struct tracer *t = tracer_new(&to);
    rc = detach(t, pid, ret_found, err);
    tracer_free(t);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return rc;
}
