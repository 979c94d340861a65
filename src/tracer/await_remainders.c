#include "tracer/await_remainders.h"

#include "target/status.h"
#include "target/thread.h"
#include "tracer/detach.h"
#include "tracer/reports.h"
#include "tracer/syscall_resume.h"

static void let_make(struct task *k) {
    k->cut.remainder = REMAINDER_MADE;
    task_set_running(k);
    thread_continue_to_call(k->tid, 0);
}

/* K has come from the call: stops it where remote calls can be made. */
static void end_remainder(struct task *k) {
    syscall_resume_end(k);
    if (k->cut.is_cut && !status_signal_pending(k->tid) && syscall_resume_remainder(k)) {
        let_make(k);
        return;
    }
    k->cut.remainder = REMAINDER_OVER;
    task_set_running(k);
    thread_interrupt(k->tid);
    thread_continue(k->tid, 0);
}

/* K, which made a remainder, has stopped. Returns whether it makes one still. */
static bool goes_on(struct task *k) {
    struct thread_call_stop call;
    if (k->cut.remainder == REMAINDER_MADE && k->stop.kind == STOP_SYSCALL) {
        if (thread_at_call(k->tid, &call))
            let_make(k);
        else
            end_remainder(k);
        return true;
    }
    if (k->cut.remainder == REMAINDER_MADE && syscall_resume_remainder(k)) {
        let_make(k);
        return true;
    }
    k->cut.remainder = REMAINDER_NONE;
    return false;
}

static bool one_turn(struct tracer *t, const struct space *space) {
    size_t left = 0;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        left += k->space == space && k->cut.remainder != REMAINDER_NONE &&
                (k->state != TASK_STOPPED || goes_on(k));
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k && left; k = next) {
        next = tasks_next(&t->tasks, k);
        if (k->space != space || k->state != TASK_STOPPED || k->cut.remainder != REMAINDER_NONE)
            continue;
        keys_take_back(k->space, k->tid);
        detach_task(t, k, 0);
    }
    return left;
}

static bool makes_remainder(const struct task *k, const struct space *space) {
    return k->space == space && k->state != TASK_STOPPED && k->cut.remainder == REMAINDER_MADE &&
           !status_has_ended(k->tid);
}

static void tell(const struct tracer *t, const struct task *k, const char *what) {
    AUTO_FREE char *text = mem_printf("process %d: thread %d %s", k->pid, k->tid, what);
    report_warn(&options_of(t)->report, text);
}

/* Whether a remainder has got on since the call before. TOLD: the user knows of them. */
static bool some_get_on(const struct tracer *t, const struct space *space, bool told) {
    bool any = false;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (!makes_remainder(k, space))
            continue;
        uint64_t before = k->cut.switches;
        k->cut.switches = status_switches(k->tid);
        if (k->cut.switches == before && !status_is_runnable(k->tid))
            continue;
        if (!told)
            tell(t, k,
                 "still sends or receives the rest of what it was asked to: "
                 "spoor waits for that; ^C lets the call end early");
        any = true;
    }
    return any;
}

void await_remainders(struct tracer *t, const struct space *space) {
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (k->state == TASK_STOPPED && syscall_resume_remainder(k)) {
            k->cut.switches = status_switches(k->tid);
            let_make(k);
        }
    for (bool told = false; reports_await_while(t, one_turn, space) && some_get_on(t, space, told);)
        told = true;
    for (const struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (makes_remainder(k, space))
            tell(t, k,
                 "waits on to send or receive the rest of what it was asked to: "
                 "as spoor leaves, that call ends early");
}
