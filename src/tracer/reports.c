/* Waits for reports of tracees, and has the loop handle and answer them. */
#include "tracer/reports.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "target/timing.h"
#include "tracer/orphans.h"
#include "tracer/thread_names.h"

void reports_wait_ms(void) { clock_wait_child_ns(1000000); }

static bool is_end(int code) {
    return code == CLD_EXITED || code == CLD_KILLED || code == CLD_DUMPED;
}

/* Takes a report. An ended thread has a name until its end is taken. Returns as waitpid(). */
static pid_t next(struct tracer *t, int *ret_status) {
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL) < 0)
        return -1;
    struct task *task =
        info.si_pid && is_end(info.si_code) ? tasks_find(&t->tasks, info.si_pid) : NULL;
    if (task)
        thread_names_end(t, task);
    return info.si_pid ? waitpid(info.si_pid, ret_status, __WALL | WNOHANG) : 0;
}

/* Handles MOST reports at most. Returns what the last waitpid() did. */
static pid_t handle(struct tracer *t, unsigned most) {
    int status;
    pid_t tid = 0;
    for (unsigned i = 0; i < most && (tid = next(t, &status)) > 0; i++)
        t->loop->report(t, tid, status);
    return tid;
}

bool reports_handle(struct tracer *t) {
    enum { MOST_AT_ONCE = 500 };
    const bool more = handle(t, MOST_AT_ONCE) > 0;
    if (t->slabs_left) /* that takes long, and tasks would wait for it */
        slabs_reap();
    t->slabs_left = false;
    return more;
}

bool reports_await(struct tracer *t) {
    reports_wait_ms();
    return handle(t, UINT_MAX) == 0;
}

bool reports_await_one(struct tracer *t) {
    int status;
    pid_t tid = waitpid(-1, &status, __WALL);
    if (tid > 0)
        t->loop->report(t, tid, status);
    return tid > 0 || errno == EINTR;
}

bool reports_is_urged(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
            sigismember(&pending, SIGHUP) || sigismember(&pending, SIGQUIT));
}

bool reports_await_while(struct tracer *t, bool (*turn)(struct tracer *, const struct space *),
                         const struct space *space) {
    uint64_t until = timing_now().ns + LEAVE_PATIENCE_S * UINT64_C(1000000000);
    while (turn(t, space)) {
        if (reports_is_urged())
            return false;
        if (timing_now().ns >= until)
            return true;
        reports_wait_ms();
        reports_handle(t);
    }
    return false;
}

/* Answering one task may end others (their deaths are reported meanwhile): so this keeps thread
 * ids. */
void reports_answer_all(struct tracer *t, tid_array *tids) {
    for (size_t i = 0; i < tids->count; i++) {
        struct task *k = tasks_find(&t->tasks, tids->at[i]);
        if (k && k->state == TASK_STOPPED && !(k->space && k->space->stopping))
            t->loop->answer(t, k);
    }
    ARRAY_FREE(tids);
}

void reports_answer_newborns(struct tracer *t) {
    tid_array tids = {0};
    unsigned waiting = 0;
    if (!t->unknown_newborns)
        return;
    orphans_identify(t);
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (k->state != TASK_STOPPED || task_is_ready(k))
            continue;
        if (k->stage == TASK_UNKNOWN || (k->space && k->space->stopping))
            waiting++;
        else
            ARRAY_PUSH(&tids, k->tid);
    }
    t->unknown_newborns = waiting;
    reports_answer_all(t, &tids);
}
