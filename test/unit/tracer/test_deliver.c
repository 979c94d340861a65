/*
 * A signal arrives before each instruction of a call, including those of stubs, trampolines and
 * the agent, and is delivered as a session delivers it. The handler calls a traced function
 * itself. It must find the thread in a state that the program alone would reach, with all
 * registers. After the handler the call must end right, and each event of both must be recorded
 * once, the handler's between those of the call. Where only calls from a certain place count
 * (library calls), the handler's call is not counted.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <dlfcn.h>

#include "../patch/trial.h"
#include "../target/hold.h"
#include "target/memory.h"
#include "tracer/deliver.h"
#include "tracer/tracer_state.h"

#define TESTS                                                                                      \
    TEST(handler_in_a_waiting_stub)                                                                \
    TEST(handler_while_waiting_for_room)                                                           \
    TEST(handler_after_the_tool_died)                                                              \
    TEST(handler_in_a_dropping_stub)                                                               \
    TEST(handler_while_dropping)                                                                   \
    TEST(handler_in_an_overwriting_stub)                                                           \
    TEST(handler_in_a_caller_filtering_stub)                                                       \
    TEST(handler_in_a_stub_that_passes_a_call)                                                     \
    TEST(handler_during_a_slice_copy)                                                              \
    TEST(handler_while_waiting_in_the_hook)

/* ---- code that runs in the guest ---- */

enum { HANDLER_EVENTS = 2, FIRST = 5, SECOND = 6, RESULT = 5 + 0x11 + 6 + 0x22 + 1 };

static struct {
    uint64_t count, value, result;
    gregset_t regs;
} seen;
static uint64_t (*called)(uint64_t first, uint64_t second);

static void on_signal(int sig, siginfo_t *info, void *context) {
    (void)sig;
    seen.count++;
    seen.value = (uint64_t)info->si_value.sival_int;
    memcpy(&seen.regs, ((ucontext_t *)context)->uc_mcontext.gregs, sizeof seen.regs);
    seen.result = called(FIRST, SECOND);
}

/* Guests inherit it. */
static int install_handler(void **state) {
    (void)state;
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGRTMIN, &action, NULL), 0);
    void *library = dlopen(SITES, RTLD_NOW);
    assert_non_null(library);
    called = (uint64_t(*)(uint64_t, uint64_t))(uintptr_t)dlsym(library, "site_plain");
    assert_non_null(called);
    return 0;
}

/* ---- code that runs in the test ---- */

/* The part of a tracer that deliver.c needs. */
struct post {
    struct tracer tracer;
    struct task *task;
};

static void post_init(struct post *p, const struct guest *g) {
    memset(p, 0, sizeof *p);
    p->tracer.options.context = g->context;
    p->task = tasks_add(&p->tracer.tasks, g->pid);
    p->task->pid = g->pid;
    p->task->space = g->space;
    p->task->lane = g->handle;
    p->task->stage = TASK_READY;
    task_set_state(p->task, TASK_STOPPED);
    task_set_state(p->task, TASK_HELD);
}

static void deliver(const struct trial *t, struct post *p) {
    union sigval value = {.sival_int = (int)t->k};
    assert_int_equal(sigqueue(t->g->pid, SIGRTMIN, value), 0);
    assert_int_equal(thread_continue(t->g->pid, 0), 0);
    p->task->stop = child_await_stop(t->g->pid);
    assert_int_equal(p->task->stop.kind, STOP_SIGNAL);
    assert_int_equal(p->task->stop.signal, SIGRTMIN);
    if (!deliver_prepare(&p->tracer, p->task, SIGRTMIN))
        trial_fail(t, "the signal is not delivered");
    trial_change_conditions(t);
    guest_finish_with(t->g, SIGRTMIN);
}

/* The registers that the handler saw; registers that signal frames do not have are the present
 * ones. */
static struct regs regs_found(const struct guest *g) {
    struct regs regs;
    assert_int_equal(thread_get_regs(g->pid, &regs), 0);
    struct user_regs_struct *r = &regs.raw;
    const struct {
        unsigned long long *to;
        int from;
    } map[] = {{&r->r8, REG_R8},   {&r->r9, REG_R9},     {&r->r10, REG_R10}, {&r->r11, REG_R11},
               {&r->r12, REG_R12}, {&r->r13, REG_R13},   {&r->r14, REG_R14}, {&r->r15, REG_R15},
               {&r->rdi, REG_RDI}, {&r->rsi, REG_RSI},   {&r->rbp, REG_RBP}, {&r->rbx, REG_RBX},
               {&r->rdx, REG_RDX}, {&r->rax, REG_RAX},   {&r->rcx, REG_RCX}, {&r->rsp, REG_RSP},
               {&r->rip, REG_RIP}, {&r->eflags, REG_EFL}};
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        *map[i].to = (unsigned long long)seen.regs[map[i].from];
    return regs;
}

static void check_handler(const struct trial *t) {
    assert_int_equal(memory_read(t->g->memory_fd, (taddr_t)&seen, &seen, sizeof seen, NULL), 0);
    if (seen.count != 1 || seen.value != t->k)
        trial_fail(t, "the handler has not run once with its value");
    if (seen.result != RESULT)
        trial_fail(t, "the handler's own call went wrong");
    struct regs regs = regs_found(t->g);
    if (space_area_at(t->g->space, regs_pc(&regs)))
        trial_fail(t, "the handler finds a pc in spoor's areas");
    if (!is_natural(t->reference, &regs, regs_pc(&regs)))
        trial_fail(t, "the handler does not find the program's registers");
}

static size_t handler_events(const struct trial *t) {
    return t->conditions->from == FROM_ANYWHERE ? HANDLER_EVENTS : 0;
}

/* An event of the call or its callees, not of the handler, whose stack is deeper. */
static bool is_of_call(const struct trial *t, const struct event *e) {
    enum { RED_ZONE = 128 };
    return event_sp(&t->reference->events[0]) - event_sp(e) < RED_ZONE;
}

/* Returns the number of the call's events before the handler's. */
static size_t check_sequence(const struct trial *t, const struct event *events, size_t count) {
    const struct reference *r = t->reference;
    size_t before = 0;
    while (before < count && is_of_call(t, &events[before]))
        before++;
    for (size_t i = 0, next = 0; i < count; i++) {
        bool of_handler = i >= before && i < before + handler_events(t);
        if (is_of_call(t, &events[i]) == of_handler)
            trial_fail(t, "the handler's events are not between the call's");
        if (!of_handler && events[i].site != r->events[next++].site)
            trial_fail(t, "a wrong event is recorded");
        if (i && events[i].clock_sp >> 16 < events[i - 1].clock_sp >> 16)
            trial_fail(t, "events are not in order");
    }
    return before;
}

/* Right before each entry is a slice, without gaps from its beginning to its last word. */
static void check_slices(const struct trial *t) {
    const struct event *begin = events_of(t->g),
                       *end = begin + t->g->handle->lane->head / EVENT_BYTES;
    for (const struct event *e = begin; e < end; e++) {
        const struct event *back = e;
        if ((e->site & 3) != EVENT_ENTRY)
            continue;
        while (back > begin && is_slice_event(back[-1].site >> 2) && back->site >> 2 != SLICE_BEGIN)
            back--;
        if (back->site >> 2 != SLICE_BEGIN || back[1].site >> 2 != SLICE_END)
            trial_fail(t, "an entry has no slice");
        if (e - back < SLICE_HEAD_SLOTS)
            trial_fail(t, "a slice is not whole");
    }
}

static size_t check_events(const struct trial *t) {
    const struct lane *lane = t->g->handle->lane;
    bool dropped = t->conditions->full && t->conditions->overflow == OVERFLOW_DROP;
    uint64_t first = t->conditions->full ? GUEST_RING_BYTES : 0;
    size_t all = t->reference->event_count + handler_events(t);
    if (lane->lost != (dropped ? all : 0))
        trial_fail(t, "a wrong number of events is counted as lost");
    struct event events[32];
    size_t count = trial_events(t->g, first, events, sizeof events / sizeof *events);
    if (count != (dropped ? 0 : all))
        trial_fail(t, "a wrong number of events is recorded");
    if (t->conditions->sliced)
        check_slices(t);
    return dropped ? 0 : check_sequence(t, events, all);
}

static void forget_handler(const struct guest *g) {
    memset(&seen, 0, sizeof seen);
    assert_int_equal(memory_write(g->memory_fd, (taddr_t)&seen, &seen, sizeof seen, NULL), 0);
}

/* Returns the number of the call's events recorded before the handler ran. */
static size_t try_one(const struct trial *t) {
    struct post post;
    post_init(&post, t->g);
    forget_handler(t->g);
    deliver(t, &post);
    check_handler(t);
    if (!is_at_end(t->g, t->reference))
        trial_fail(t, "the call ends with wrong registers");
    tasks_remove(&post.tracer.tasks, post.task);
    return check_events(t);
}

static void try_call(struct trial *t) {
    struct snapshot *before = mem_alloc(sizeof *before);
    size_t recorded = 0;
    t->k = 0;
    trial_begin(t);
    do {
        if (t->k == TRIAL_LATER)
            trial_change_conditions(t);
        guest_save(t->g, before);
        size_t now = try_one(t);
        if (now < recorded)
            trial_fail(t, "what was recorded before is recorded after the handler");
        recorded = now;
        guest_restore(t->g, before);
        t->k++;
    } while (guest_step(t->g));
    assert_true(t->k > t->reference->count);
    free(before);
}

static void try_calls(const struct conditions *c, const struct call *all, size_t count) {
    struct guest *bare = guest_new_bare();
    struct guest *g = c->sliced ? guest_new_sliced(c->overflow) : guest_new(c->overflow);
    trial_expect_tiers(g);
    struct reference *r = mem_alloc(sizeof *r);
    taddr_t caller = c->from == FROM_ELSEWHERE ? 4096 : (taddr_t)hold_trap;
    if (c->from != FROM_ANYWHERE)
        guest_filter(g, (struct span){caller, caller + 1});
    for (size_t i = 0; i < count; i++) {
        struct trial t = {g, &all[i], c, r, 0};
        reference_record(bare, g, &all[i], r);
        if (c->from != FROM_ANYWHERE)
            assert_int_equal(r->event_count == 0, c->from == FROM_ELSEWHERE);
        try_call(&t);
    }
    free(r);
    guest_free(g);
    guest_free(bare);
}
#define TRY_CALLS(...) try_calls(&(const struct conditions){__VA_ARGS__}, trial_calls, TRIAL_CALLS)

static void handler_in_a_waiting_stub(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_WAIT);
}

static void handler_while_waiting_for_room(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_WAIT, .full = true, .room_later = true);
}

static void handler_after_the_tool_died(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_WAIT, .full = true, .dies_later = true);
}

static void handler_in_a_dropping_stub(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_DROP);
}

static void handler_while_dropping(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_DROP, .full = true);
}

static void handler_in_an_overwriting_stub(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_OVERWRITE);
}

static void handler_in_a_caller_filtering_stub(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_WAIT, .from = FROM_CALLER);
    TRY_CALLS(.overflow = OVERFLOW_WAIT, .full = true, .room_later = true, .from = FROM_CALLER);
    TRY_CALLS(.overflow = OVERFLOW_DROP, .full = true, .from = FROM_CALLER);
}

static void handler_in_a_stub_that_passes_a_call(void **state) {
    (void)state;
    TRY_CALLS(.overflow = OVERFLOW_WAIT, .from = FROM_ELSEWHERE);
}

static void handler_during_a_slice_copy(void **state) {
    (void)state;
    try_calls(&(const struct conditions){.overflow = OVERFLOW_WAIT, .sliced = true}, trial_calls,
              2);
    try_calls(&(const struct conditions){.overflow = OVERFLOW_DROP, .sliced = true},
              trial_calls + 1, 1);
}

static void handler_while_waiting_in_the_hook(void **state) {
    (void)state;
    const struct conditions living = {.overflow = OVERFLOW_WAIT}, dead = {.dies_later = true};
    try_calls(&living, &trial_hook_call, 1);
    try_calls(&dead, &trial_hook_call, 1);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("tracer deliver", tests, install_handler, NULL);
}
