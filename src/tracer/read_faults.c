/*
 * See read_faults.h. A forced signal leaves the flags, the restorer and the mask of its action in
 * the kernel; only the handler is lost. So an action that was noted is still the program's if these
 * are the same.
 *
 * A thread may be stopped for another reason between the fault and its report. It goes on until it
 * has reported: moved elsewhere, it would report the fault there.
 */
#include "tracer/read_faults.h"

#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>

#include "base/clock.h"
#include "patch/value_faults.h"
#include "target/status.h"
#include "trace/captures.h"
#include "tracer/kept_signals.h"

static const enum kept_signal kept[] = {KEPT_SEGV, KEPT_BUS};
enum { KEPT = sizeof kept / sizeof *kept };

void read_faults_note(struct tracer *t, struct space *space, pid_t caller) {
    const struct captures *captures = module_table_captures(t->options.context.module_table);
    if (space->reads.state == READS_WATCHED || !space->slabs.count || !captures ||
        !captures_longest(captures))
        return;
    space_set_reads(space, READS_NOTED);
    for (size_t i = 0; i < KEPT; i++)
        kept_signals_read(t, space, caller, kept[i]);
}

/* ---- faults ---- */

/* Whether the program has set no other action since NOTED, as far as a forced signal leaves that.
 */
static bool is_still(const struct kept_action *noted, const struct kept_action *now) {
    return noted->flags == now->flags && noted->restorer == now->restorer &&
           memcmp(noted->mask, now->mask, sizeof now->mask) == 0;
}

static void block(const struct task *task, enum kept_signal which) {
    uint64_t mask;
    if (thread_get_mask(task->tid, &mask) == 0)
        thread_set_mask(task->tid, mask | kept_signal_bit(which));
}

/* TASK's mask and action are not exactly known: restores what was noted. */
static void restore_noted(struct tracer *t, struct task *task, enum kept_signal which) {
    const struct kept_action noted = task->signals.actions[which];
    struct kept_action now;
    if (!kept_signals_get(task->space, task->tid, which, &now))
        return;
    if (now.handler == DEFAULT_ACTION && noted.handler != DEFAULT_ACTION &&
        is_still(&noted, &now) && kept_signals_set(task->space, task->tid, which, &noted)) {
        now = noted;
        if (noted.handler > IGNORE_ACTION) /* the signal was forced, as it was blocked */
            block(task, which);
    }
    kept_signals_note(t, task, which, &now);
}

/* The same for a task that is watched. */
static void restore_known(const struct task *task, enum kept_signal which) {
    const struct kept_action *action = &task->signals.actions[which];
    const bool blocked = task->signals.mask & kept_signal_bit(which);
    if (blocked)
        block(task, which);
    if (action->handler == IGNORE_ACTION || (blocked && action->handler != DEFAULT_ACTION))
        kept_signals_set(task->space, task->tid, which, action);
}

/* The other tasks of TASK's space are to be watched, too. */
static void begin_watch(struct tracer *t, const struct task *task) {
    struct space *space = task->space;
    space_set_reads(space, READS_WATCHED);
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (k->state == TASK_RUNNING)
            task_interrupt(k);
}

/* Nothing is to be expected any more. Its tasks stop once more at a system call. */
static void end_watch(const struct tracer *t, struct space *space) {
    space_set_reads(space, READS_NOTED);
    for (struct task *k = NULL;
         !kept_signals_watch(space) && (k = tasks_next_in(&t->tasks, k, space));)
        kept_signals_forget(k);
}

/* TASK reports WHICH. If a read of a value has raised it: moves TASK on, and drops the signal. */
static void handle_report(struct tracer *t, struct task *task, enum kept_signal which) {
    struct task_signals *s = &task->signals;
    const bool blocked = s->watched && s->mask & kept_signal_bit(which);
    siginfo_t info;
    if (ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) < 0 || (info.si_code <= 0 && !blocked) ||
        !value_fault_pass(task->space, task->tid))
        return;
    task_drop_stop(task);
    if (s->watched)
        restore_known(task, which);
    else
        restore_noted(t, task, which);
    if (info.si_code <= 0) /* it was pending, blocked, and has replaced the fault's */
        kept_signals_send_again(task->space, task->tid, &info);
    if (s->must_stop_again)
        thread_interrupt(task->tid);
    s->must_stop_again = false;
    const bool left = value_faults_are_left(task->space);
    const bool watched = task->space->reads.state == READS_WATCHED;
    if (left && !watched)
        begin_watch(t, task);
    else if (!left && watched)
        end_watch(t, task->space);
}

/* Whether TASK, interrupted or in a group-stop, has made a fault that it has not reported. */
static bool is_about_to_report(const struct task *task) {
    struct regs regs;
    uint64_t mask;
    if (thread_get_regs(task->tid, &regs) < 0 || !value_fault_is_at(task->space, &regs) ||
        thread_get_mask(task->tid, &mask) < 0)
        return false;
    for (size_t i = 0; i < KEPT; i++)
        if (!(mask & kept_signal_bit(kept[i])) &&
            thread_has_pending(task->tid, kept_signal_number(kept[i])))
            return true;
    return false;
}

bool read_faults_on_stop(struct tracer *t, struct task *task) {
    const bool report = task->stop.kind == STOP_SIGNAL;
    for (size_t i = 0; i < KEPT && report; i++)
        if (task->stop.signal == kept_signal_number(kept[i]))
            handle_report(t, task, kept[i]);
    if (report || !task_may_call(task))
        return true;
    if (is_about_to_report(task)) {
        task->signals.must_stop_again = task->stop.kind == STOP_GROUP;
        thread_continue(task->tid, 0);
        return false;
    }
    if (task->space->reads.state == READS_STALE && task->stop.kind == STOP_INTERRUPT)
        read_faults_note(t, task->space, task->tid);
    return true;
}

/* ---- changes of actions ---- */

/* Whether /proc shows other actions of TASK's process than those noted. */
static bool has_changed(const struct task *task) {
    uint64_t caught, ignored;
    if (!status_actions(task->tid, &caught, &ignored))
        return false;
    for (size_t i = 0; i < KEPT; i++) {
        const unsigned long handler = task->signals.actions[kept[i]].handler;
        const uint64_t bit = kept_signal_bit(kept[i]);
        if (!(caught & bit) != !(handler > IGNORE_ACTION) ||
            !(ignored & bit) != !(handler == IGNORE_ACTION))
            return true;
    }
    return false;
}

static bool is_noted(enum reads_state state) {
    return state == READS_NOTED || state == READS_STALE;
}

void read_faults_poll(struct tracer *t) {
    static const uint64_t POLL_NS = 100000000, SHARE = 100; /* of a processor: a hundredth */
    const uint64_t begin = clock_monotonic_ns();
    if (begin < t->read_actions_ns)
        return;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (k->tid != k->pid || k->state != TASK_RUNNING || !k->space ||
            !is_noted(k->space->reads.state) || !has_changed(k))
            continue;
        space_set_reads(k->space, READS_STALE);
        task_interrupt(k);
    }
    const uint64_t end = clock_monotonic_ns(), rest = (end - begin) * SHARE;
    t->read_actions_ns = end + (rest > POLL_NS ? rest : POLL_NS);
}
