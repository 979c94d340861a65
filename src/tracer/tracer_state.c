/* Warnings, and lookups in a tracer's tasks. */
#include "tracer/tracer_state.h"

#include <errno.h>

void tracer_warn(const struct tracer *t, pid_t tid, const struct err *err) {
    struct regs regs;
    if (err->code != ESRCH && thread_get_regs(tid, &regs) != -ESRCH)
        report_warn(&options_of(t)->report, err->text);
}

/* Whether a stopped task of SPACE still has the memory that was traced. */
static bool has_survivor(const struct tracer *t, const struct space *space) {
    struct regs regs;
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));)
        if (thread_get_regs(k->tid, &regs) == 0)
            return true;
    return false;
}

void tracer_report_left(struct tracer *t, const struct space *space, const struct err *err) {
    if (err->code == ESRCH || !has_survivor(t, space))
        return;
    t->left_something = true;
    report_complain(&options_of(t)->report, err->text);
}

tid_array tracer_pids_of(const struct tracer *t, const struct space *space) {
    tid_array pids = {0};
    for (const struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));) {
        size_t i = 0;
        while (i < pids.count && pids.at[i] != k->pid)
            i++;
        if (k->pid && i == pids.count)
            ARRAY_PUSH(&pids, k->pid);
    }
    return pids;
}
