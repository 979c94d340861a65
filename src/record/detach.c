/* Runs a tracer for the time of one undo; SIGCHLD is blocked, as the tracer expects. */
#include "record/detach.h"

#include <signal.h>

#include "patch/leftovers.h"
#include "target/candidate.h"
#include "tracer/tracer.h"

int record_detach(const struct report *report, pid_t pid, bool *ret_found, struct err *err) {
    sigset_t children, mask;
    const struct record_options o = {.report = *report};
    struct tracer_options to = {.context = {.options = &o}};
    *ret_found = false;
    int rc = candidate_check(pid, err);
    if (rc == 0)
        rc = leftovers_exist(candidate_thread(pid), ret_found, err);
    if (rc < 0 || !*ret_found)
        return rc;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, &mask);
    struct tracer *t = tracer_new(&to);
    rc = tracer_remove_leftovers(t, pid, ret_found, err);
    tracer_free(t);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return rc;
}
