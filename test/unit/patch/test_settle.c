/*
 * A thread is taken out of stubs, trampolines and the agent, before each of their instructions. It
 * must then stand in the program's own code, where the program alone would have been. No slot may
 * stay reserved in its lane, and the slot that is reserved next must not look committed. When the
 * thread goes on, its call must end right, with each event recorded once.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "../target/hold.h"
#include "patch/patcher.h"
#include "patch/settle.h"
#include "ring/rings.h"
#include "trial.h"

#define TESTS                                                                                      \
    TEST(stub_variants_of_the_functions)                                                           \
    TEST(settle_in_a_waiting_stub)                                                                 \
    TEST(settle_while_waiting_for_room)                                                            \
    TEST(settle_after_the_tool_died)                                                               \
    TEST(settle_in_a_dropping_stub)                                                                \
    TEST(settle_while_dropping)                                                                    \
    TEST(settle_in_an_overwriting_stub)                                                            \
    TEST(settle_in_a_caller_filtering_stub)                                                        \
    TEST(settle_in_a_stub_that_passes_a_call)                                                      \
    TEST(settle_in_a_capturing_stub)                                                               \
    TEST(settle_in_a_plainly_capturing_stub)                                                       \
    TEST(settle_in_capturing_stubs_of_full_rings)                                                  \
    TEST(settle_in_a_stub_with_slices)                                                             \
    TEST(settle_in_a_stub_that_judges_calls)                                                       \
    TEST(settle_while_waiting_in_the_hook)                                                         \
    TEST(settle_behind_the_hook_of_a_judged_call)                                                  \
    TEST(place_of_a_faulting_instruction)                                                          \
    TEST(signal_waits_until_the_thread_is_outside)                                                 \
    TEST(delivered_signal_keeps_its_value)                                                         \
    TEST(thread_in_program_code_untouched)                                                         \
    TEST(ended_thread_cannot_be_settled)

/* ---- the checks ---- */

/* Every slot below the lane's head holds an event. */
static void check_nothing_reserved(const struct trial *t) {
    const struct lane *lane = t->g->handle->lane;
    uint64_t first = t->conditions->full ? GUEST_RING_BYTES : 0;
    if (lane->head < first)
        trial_fail(t, "more was given back than reserved");
    for (uint64_t at = first; at < lane->head; at += EVENT_BYTES)
        if (!events_of(t->g)[at % GUEST_RING_BYTES / EVENT_BYTES].clock_sp)
            trial_fail(t, "a slot is reserved");
}

/* The next event's slot is reserved, and its thread stands before the store that commits it. */
static void check_next_slot(const struct trial *t) {
    struct lane_handle *handle = t->g->handle;
    struct lane *lane = handle->lane;
    const uint64_t head = lane->head;
    if (head >= lane->limit)
        return;
    lane->head += EVENT_BYTES;
    if (ring_head(handle, head, handle->last_clock) != head)
        trial_fail(t, "the next slot looks committed as soon as it is reserved");
    lane->head = head;
}

static void check_place(const struct trial *t, enum settled settled,
                        const struct settle_place *place) {
    struct regs regs;
    assert_int_equal(thread_get_regs(t->g->pid, &regs), 0);
    bool in_area = space_area_at(t->g->space, regs_pc(&regs)) != NULL;
    if (in_area != (settled == SETTLED_INSIDE))
        trial_fail(t, "its pc is not the reported one");
    if (settled == SETTLED_INSIDE && (!place || !place->patched || !place->original))
        trial_fail(t, "its place is not reported");
    taddr_t at = settled == SETTLED_INSIDE && place ? place->original : regs_pc(&regs);
    if (!is_natural(t->reference, &regs, at))
        trial_fail(t, "registers are not as the program has them there");
}

/* But for the clocks. Of a narrow word a stub stores also what its register has above. */
static bool same_slot(const struct event *a, const struct event *b) {
    const uint64_t differ = event_word(a) ^ event_word(b);
    const bool narrow = is_whole_word(a) && event_word_number(a) == 1;
    return (a->clock_sp & 0xffff) == (b->clock_sp & 0xffff) && !(narrow ? differ << 32 : differ);
}

static void check_events(const struct trial *t) {
    const struct reference *r = t->reference;
    const struct lane *lane = t->g->handle->lane;
    bool dropped = t->conditions->full && t->conditions->overflow == OVERFLOW_DROP;
    uint64_t first = t->conditions->full ? GUEST_RING_BYTES : 0;
    if (lane->lost != (dropped ? r->lost : 0))
        trial_fail(t, "a wrong number of events is counted as lost");
    struct event events[sizeof r->events / sizeof *r->events];
    size_t count = trial_events(t->g, first, events, sizeof events / sizeof *events);
    if (count != (dropped ? 0 : r->event_count))
        trial_fail(t, "a wrong number of events is recorded");
    for (size_t i = 0; i < count; i++) {
        const struct event *e = &events[i];
        if (!same_slot(e, &r->events[i]))
            trial_fail(t, "a wrong event is recorded");
        if (i && e->clock_sp >> 16 < e[-1].clock_sp >> 16)
            trial_fail(t, "events are not in order");
    }
}

static void finish(const struct trial *t) {
    trial_change_conditions(t);
    guest_finish(t->g);
    if (!is_at_end(t->g, t->reference))
        trial_fail(t, "the call ends with wrong registers");
    check_events(t);
}

/* The thread was moved out of its wait for room, which had begun at SINCE; 0: it did not wait. */
static void check_wait(const struct trial *t, uint64_t since) {
    struct pauses *p = &t->g->handle->pauses;
    struct event begin = {.clock_sp = since};
    if (t->g->handle->lane->wait_since)
        trial_fail(t, "it still waits");
    if (p->added.count != (since ? 1 : 0))
        trial_fail(t, "its wait is not recorded");
    bool hooked = t->call == &trial_hook_call;
    if (since && (p->added.at[0].id != PAUSE_EVENT + (hooked ? PAUSE_DLOPEN : PAUSE_RING) ||
                  p->added.at[0].begin != event_ticks(&begin, p->added.at[0].end)))
        trial_fail(t, "another pause is recorded");
}

static void settle_by_registers(const struct trial *t) {
    enum settled settled;
    struct settle_place place = {0};
    uint64_t since = t->g->handle->lane->wait_since;
    pauses_begin(&t->g->handle->pauses);
    assert_int_equal(settle_registers(t->g->space, t->g->pid, t->g->handle, &settled, &place), 0);
    if (!t->conditions->dies_later)
        check_wait(t, since);
    check_nothing_reserved(t);
    check_next_slot(t);
    check_place(t, settled, &place);
    finish(t);
}

static void settle_by_steps(const struct trial *t) {
    enum settled settled;
    assert_int_equal(settle_step_out(t->g->space, t->g->pid, t->g->handle, &settled), 0);
    if (settled != SETTLED_OUTSIDE)
        trial_fail(t, "its pc is still in an area");
    check_nothing_reserved(t);
    check_next_slot(t);
    check_place(t, settled, NULL);
    finish(t);
}

/* ---- the tests ---- */

/* Settles the call's thread before each of its instructions. */
static void try_call(struct guest *g, const struct call *call, const struct conditions *c,
                     const struct reference *r) {
    struct trial t = {g, call, c, r, 0};
    struct snapshot *before = mem_alloc(sizeof *before);
    trial_begin(&t);
    do {
        if (t.k == TRIAL_LATER)
            trial_change_conditions(&t);
        guest_save(g, before);
        settle_by_registers(&t);
        guest_restore(g, before);
        settle_by_steps(&t);
        guest_restore(g, before);
        t.k++;
    } while (guest_step(g));
    assert_true(t.k > r->count);
    free(before);
}

/* Of all sites: registers, vectors, words of the stack, texts that are there and that are not. */
/* The word number 1 of each is of an i32. */
#define ARGUMENTS "site_*@%rdi/x,%rdx/i32,%r15/x,%rsp/s,%rbx/s,fparg2/64,arg7/i"
#define RESULTS "site_*@retval/x,retval/i32,retval/s"
#define PLAIN_ARGUMENTS "site_*@%rdi/x,%rdx/i32,%r15/x,fparg2/64,arg7/i"
#define PLAIN_RESULTS "site_*@retval/x,retval/i32"
/* All calls meet the first one, none meets the second one. */
static const char always[] = "site_*/arg1 != 0x123456789abc && arg2 != 0x123456789abc/";
static const char never[] = "site_*/arg1 == 0x123456789abc || arg2 == 0x123456789abc/";

static const char hooked[] = "_dl_debug_state/arg1 != 0x123456789abc/";

/* Whether entries and exits are recorded. */
static void check_judged(const struct reference *r, bool recorded) {
    size_t count = 0;
    for (size_t i = 0; i < r->event_count; i++)
        count += (r->events[i].site & 3) != EVENT_CONTROL;
    assert_int_equal(count > 0, recorded);
}

static void try_calls(const struct conditions *c, const struct call *all, size_t count) {
    struct guest *bare = guest_new_bare();
    struct guest *g = c->plain    ? guest_new_capturing(c->overflow, PLAIN_ARGUMENTS, PLAIN_RESULTS)
                      : c->sliced ? guest_new_sliced(c->overflow)
                      : c->captures        ? guest_new_capturing(c->overflow, ARGUMENTS, RESULTS)
                      : c->where == hooked ? guest_new_judging_linker(c->overflow, c->where)
                      : c->where           ? guest_new_judging(c->overflow, c->where)
                                           : guest_new(c->overflow);
    if (c->where != hooked)
        trial_expect_tiers(g);
    struct reference *r = mem_alloc(sizeof *r);
    taddr_t caller = c->from == FROM_ELSEWHERE ? 4096 : (taddr_t)hold_trap;
    if (c->from != FROM_ANYWHERE)
        guest_filter(g, (struct span){caller, caller + 1});
    for (size_t i = 0; i < count; i++) {
        reference_record(bare, g, &all[i], r);
        if (c->from != FROM_ANYWHERE)
            assert_int_equal(r->event_count == 0, c->from == FROM_ELSEWHERE);
        if (c->captures || c->plain)
            assert_true(r->event_count > 4 * r->lost);
        if (c->where)
            check_judged(r, c->where != never);
        try_call(g, &all[i], c, r);
    }
    free(r);
    guest_free(g);
    guest_free(bare);
}
#define TRY_CALLS(...) try_calls(&(const struct conditions){__VA_ARGS__}, trial_calls, TRIAL_CALLS)

static void settle_in_a_waiting_stub(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_WAIT);
}

static void settle_while_waiting_for_room(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_WAIT, .full = true, .room_later = true);
}

static void settle_after_the_tool_died(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_WAIT, .full = true, .dies_later = true);
}

static void settle_in_a_dropping_stub(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_DROP);
}

static void settle_while_dropping(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_DROP, .full = true);
}

static void settle_in_an_overwriting_stub(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_OVERWRITE);
}

static void settle_in_a_caller_filtering_stub(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_WAIT, .from = FROM_CALLER);
    TRY_CALLS(.overflow = OVERFLOW_WAIT, .full = true, .room_later = true, .from = FROM_CALLER);
    TRY_CALLS(.overflow = OVERFLOW_DROP, .full = true, .from = FROM_CALLER);
}

static void settle_in_a_stub_that_passes_a_call(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_WAIT, .from = FROM_ELSEWHERE);
}

/* Values are recorded once, and are the same, also where the tool writes the event. */
static void settle_in_a_capturing_stub(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_WAIT, .captures = true);
}

static void settle_in_a_plainly_capturing_stub(void **state) {
    (void)state;
    enum { SOME = 4 };
    const struct conditions full = {
        .overflow = OVERFLOW_WAIT, .plain = true, .full = true, .room_later = true};
    TRY_CALLS(.overflow = OVERFLOW_WAIT, .plain = true);
    try_calls(&full, trial_calls, SOME);
}

static void settle_in_capturing_stubs_of_full_rings(void **state) {
    (void)state;
    enum { SOME = 4 }; /* these stubs have many instructions */
    const struct conditions waits = {
        .overflow = OVERFLOW_WAIT, .captures = true, .full = true, .room_later = true};
    const struct conditions drops = {.overflow = OVERFLOW_DROP, .captures = true, .full = true};
    try_calls(&waits, trial_calls, SOME);
    try_calls(&drops, trial_calls, SOME);
}

static void settle_in_a_stub_with_slices(void **state) {
    (void)state;
    enum { SOME = 4 };
    const struct conditions c = {.overflow = OVERFLOW_WAIT, .sliced = true};
    try_calls(&c, trial_calls, SOME);
}

static void settle_in_a_stub_that_judges_calls(void **state) {
    (void)state;
    enum { MOST = TRIAL_CALLS / 2, SOME = 8 };
    try_calls(&(const struct conditions){.where = always}, trial_calls, MOST);
    try_calls(&(const struct conditions){.where = never}, trial_calls, SOME);
}

static void settle_while_waiting_in_the_hook(void **state) {
    (void)state;
    const struct conditions living = {.overflow = OVERFLOW_WAIT}, dead = {.dies_later = true};
    try_calls(&living, &trial_hook_call, 1);
    try_calls(&dead, &trial_hook_call, 1);
}

/* Its entry is judged behind the hook, so the thread cannot be put back to the entry. */
static void settle_behind_the_hook_of_a_judged_call(void **state) {
    (void)state;
    try_calls(&(const struct conditions){.where = hooked}, &trial_hook_call, 1);
}

static unsigned variants_of(const struct guest *g) {
    unsigned seen = 0;
    for (size_t i = 0; i < g->space->modules.count; i++) {
        const struct plan_code *c = &g->space->modules.at[i].code->emitted;
        for (size_t k = 0; k < c->mark_count; k++)
            if (c->marks[k].kind == MARK_STUB)
                seen |= 1u << c->marks[k].variant;
    }
    return seen;
}

static void stub_variants_of_the_functions(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    unsigned seen = variants_of(g);
    assert_true(seen & 1u << 0);
    assert_true(seen & 1u << STUB_SAVE_FLAGS);
    assert_true(seen & 1u << STUB_SKIP_RED_ZONE);
    assert_true(seen & 1u << (STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE));
    assert_true(seen & (1u << STUB_HOOK | 1u << (STUB_HOOK | STUB_SAVE_FLAGS) |
                        1u << (STUB_HOOK | STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE) |
                        1u << (STUB_HOOK | STUB_SKIP_RED_ZONE)));
    guest_free(g);
}

/* ---- faults and signals ---- */

static void place_of_a_faulting_instruction(void **state) {
    (void)state;
    const struct call bad = {"site_fault", 0, 0, false};
    enum { BEFORE_LOAD = 4 /* the size of a lea */ };
    struct guest *g = guest_new(OVERFLOW_WAIT);
    struct regs first;
    enum settled settled = SETTLED_OUTSIDE;
    struct settle_place place = {0};
    guest_enter(g, &bad);
    thread_get_regs(g->pid, &first);
    /* while it is taken back to before the window, the load has not run */
    while (settled == SETTLED_OUTSIDE) {
        struct snapshot before;
        assert_true(guest_step(g));
        guest_save(g, &before);
        assert_int_equal(settle_step_out(g->space, g->pid, g->handle, &settled), 0);
        if (settled == SETTLED_OUTSIDE)
            guest_restore(g, &before);
    }
    assert_int_equal(settle_registers(g->space, g->pid, g->handle, &settled, &place), 0);
    assert_int_equal(settled, SETTLED_INSIDE);
    assert_int_equal(place.original, regs_pc(&first) + BEFORE_LOAD);
    assert_int_equal(g->handle->lane->head, EVENT_BYTES);
    guest_free(g);
}

/* Stops the guest at a relocated instruction, from which only steps lead out. */
static void enter_inside(struct guest *g) {
    enum settled settled = SETTLED_OUTSIDE;
    struct settle_place place;
    struct snapshot before;
    guest_enter(g, &(struct call){"site_plain", 5, 6, false});
    while (settled == SETTLED_OUTSIDE) {
        assert_true(guest_step(g));
        guest_save(g, &before);
        assert_int_equal(settle_registers(g->space, g->pid, g->handle, &settled, &place), 0);
        guest_restore(g, &before);
    }
}

static void signal_waits_until_the_thread_is_outside(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    uint64_t before = 0, after = 0;
    enum settled settled;
    enter_inside(g);
    ptrace(PTRACE_GETSIGMASK, g->pid, sizeof before, &before);
    kill(g->pid, SIGUSR1);
    kill(g->pid, SIGSTOP);
    assert_int_equal(settle_step_out(g->space, g->pid, g->handle, &settled), 0);
    assert_int_equal(settled, SETTLED_OUTSIDE);
    ptrace(PTRACE_GETSIGMASK, g->pid, sizeof after, &after);
    assert_int_equal(before, after);
    unsigned seen = 0;
    for (int i = 0; i < 2; i++) {
        thread_continue(g->pid, 0);
        const struct stop stop = child_await_stop(g->pid);
        assert_int_equal(stop.kind, STOP_SIGNAL);
        seen |= 1u << stop.signal;
    }
    assert_int_equal(seen, 1u << SIGUSR1 | 1u << SIGSTOP);
    guest_free(g);
}

static void delivered_signal_keeps_its_value(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    enum settled settled;
    siginfo_t info;
    enter_inside(g);
    sigqueue(g->pid, SIGRTMIN, (union sigval){.sival_int = 4711});
    thread_continue(g->pid, 0);
    child_await_signal(g->pid, SIGRTMIN);
    assert_int_equal(settle_step_out(g->space, g->pid, g->handle, &settled), 0);
    assert_int_equal(settled, SETTLED_OUTSIDE);
    assert_int_equal(ptrace(PTRACE_GETSIGINFO, g->pid, NULL, &info), 0);
    assert_int_equal(info.si_signo, SIGRTMIN);
    assert_int_equal(info.si_value.sival_int, 4711);
    guest_free(g);
}

static void thread_in_program_code_untouched(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    enum settled settled;
    struct settle_place place = {0};
    struct regs before, after;
    thread_get_regs(g->pid, &before);
    assert_int_equal(settle_registers(g->space, g->pid, g->handle, &settled, &place), 0);
    assert_int_equal(settled, SETTLED_OUTSIDE);
    assert_int_equal(settle_step_out(g->space, g->pid, g->handle, &settled), 0);
    thread_get_regs(g->pid, &after);
    assert_memory_equal(&before, &after, sizeof before);
    guest_free(g);
}

static void ended_thread_cannot_be_settled(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    enum settled settled;
    struct settle_place place = {0};
    enter_inside(g);
    kill(g->pid, SIGKILL);
    assert_int_equal(settle_step_out(g->space, g->pid, g->handle, &settled), -ESRCH);
    assert_int_equal(settle_registers(g->space, g->pid, g->handle, &settled, &place), -ESRCH);
    guest_free(g);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("patch settle", tests, NULL, NULL);
}
