/*
 * A thread leaves a trampoline over the bridge. Wherever its tracer leaves it on the bridge, the
 * thread itself reaches the place that it would have reached through the trampoline, with the same
 * signals blocked. A tool that finds it on the bridge can take it out at once.
 */
#include "patch/crossing.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "../target/hold.h"
#include "patch/patcher.h"
#include "patch/settle.h"
#include "target/memory.h"
#include "trial.h"

#define TESTS                                                                                      \
    TEST(bridged_thread_reaches_the_other_side)                                                    \
    TEST(queued_signals_keep_their_order)                                                          \
    TEST(equal_signals_not_merged)                                                                 \
    TEST(job_signals_do_not_cancel_each_other)                                                     \
    TEST(sent_fault_waits_in_the_queue)                                                            \
    TEST(thread_that_may_not_set_its_mask)                                                         \
    TEST(thread_with_syscall_user_dispatch)                                                        \
    TEST(remote_calls_bypass_the_dispatch_handler)                                                 \
    TEST(no_remote_calls_into_a_dispatch_handler)

static const uint64_t OWN_MASK = UINT64_C(1) << (SIGUSR2 - 1);

struct crosser {
    struct crossing c;
    uint8_t code[BRIDGE_BYTES];
};

/* The crossing from the guest's pc; false: the guest needs no bridge there. */
static bool find_crossing(const struct guest *g, struct crosser *ret) {
    struct regs regs;
    assert_int_equal(thread_get_regs(g->pid, &regs), 0);
    taddr_t pc = regs_pc(&regs);
    const struct patched *p = space_area_at(g->space, pc);
    if (!p || regs_agent_place(&regs, p->area) != AGENT_OUTSIDE ||
        memory_read(g->memory_fd, pc, ret->code, sizeof ret->code, NULL) < 0)
        return false;
    size_t size = bridge_fit(&regs, ret->code, sizeof ret->code);
    ret->c = (struct crossing){g->space, p, g->pid, ret->code, size, pc};
    return size;
}

static bool is_on_bridge(const struct guest *g, const struct crosser *x) {
    struct regs regs;
    assert_int_equal(thread_get_regs(g->pid, &regs), 0);
    return regs_agent_place(&regs, x->c.patched->area) == AGENT_BRIDGE;
}

static void check_mask(const struct trial *t) {
    uint64_t mask;
    assert_int_equal(thread_get_mask(t->g->pid, &mask), 0);
    if (mask != OWN_MASK)
        trial_fail(t, "other signals are blocked than before");
}

static void take_out(const struct trial *t) {
    enum settled settled;
    struct settle_place place = {0};
    struct regs regs;
    assert_int_equal(settle_registers(t->g->space, t->g->pid, t->g->handle, &settled, &place), 0);
    assert_int_equal(thread_get_regs(t->g->pid, &regs), 0);
    taddr_t at = settled == SETTLED_INSIDE ? place.original : regs_pc(&regs);
    if (!is_natural(t->reference, &regs, at))
        trial_fail(t, "taken off the bridge, its registers differ from the program's");
    check_mask(t);
    guest_finish(t->g);
    if (!is_at_end(t->g, t->reference))
        trial_fail(t, "taken off the bridge, it ends with wrong registers");
}

/* At each instruction on the bridge the tool can take the guest out. Otherwise the guest continues
 * by itself. */
static void check_left_on_bridge(const struct trial *t, const struct crosser *x) {
    struct snapshot *on_bridge = mem_alloc(sizeof *on_bridge);
    while (is_on_bridge(t->g, x)) {
        uint64_t mask;
        guest_save(t->g, on_bridge);
        assert_int_equal(thread_get_mask(t->g->pid, &mask), 0);
        take_out(t);
        guest_restore(t->g, on_bridge);
        assert_int_equal(thread_set_mask(t->g->pid, mask), 0);
        assert_true(guest_step(t->g));
    }
    free(on_bridge);
    check_mask(t);
    guest_finish(t->g);
    if (!is_at_end(t->g, t->reference))
        trial_fail(t, "left on the bridge, it ends with wrong registers");
}

/* Returns how many crossings the guest began. */
static unsigned try_call(struct guest *g, const struct call *call, const struct conditions *c,
                         const struct reference *r) {
    struct trial t = {g, call, c, r, 0};
    struct snapshot *before = mem_alloc(sizeof *before);
    unsigned crossings = 0;
    trial_begin(&t);
    assert_int_equal(thread_set_mask(g->pid, OWN_MASK), 0);
    do {
        struct crosser x;
        struct crossing_before how;
        guest_save(g, before);
        if (find_crossing(g, &x)) {
            assert_true(crossing_is_possible(&x.c));
            assert_int_equal(crossing_begin(&x.c, &how), 0);
            check_left_on_bridge(&t, &x);
            guest_restore(g, before);
            crossings++;
        }
        t.k++;
    } while (guest_step(g));
    free(before);
    return crossings;
}

static void bridged_thread_reaches_the_other_side(void **state) {
    (void)state;
    const struct conditions c = {.overflow = OVERFLOW_DROP};
    struct guest *bare = guest_new_bare(), *g = guest_new(c.overflow);
    struct reference *r = mem_alloc(sizeof *r);
    unsigned crossings = 0;
    for (size_t i = 0; i < TRIAL_CALLS; i++) {
        reference_record(bare, g, &trial_calls[i], r);
        crossings += try_call(g, &trial_calls[i], &c, r);
    }
    assert_true(crossings > TRIAL_CALLS);
    free(r);
    guest_free(g);
    guest_free(bare);
}

/* ---- signals ---- */

/* Stops the guest at an instruction from which only the bridge leads out. */
static void enter_inside(struct guest *g, struct crosser *ret) {
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
    assert_true(find_crossing(g, ret));
}

/* Queues SIG COUNT times for the guest's one thread, with values from 0 on. */
static void queue(const struct guest *g, int sig, int count) {
    for (int i = 0; i < count; i++) {
        siginfo_t info = {.si_code = SI_QUEUE, .si_pid = getpid(), .si_value.sival_int = i};
        assert_int_equal(syscall(SYS_rt_tgsigqueueinfo, g->pid, g->pid, sig, &info), 0);
    }
}

/* The guest is stopped before SIG, which was queued with VALUE. */
static void expect_signal(const struct guest *g, int sig, int value) {
    siginfo_t info;
    assert_int_equal(ptrace(PTRACE_GETSIGINFO, g->pid, NULL, &info), 0);
    assert_int_equal(info.si_signo, sig);
    assert_int_equal(info.si_code, SI_QUEUE);
    assert_int_equal(info.si_value.sival_int, value);
}

static void cross(const struct crosser *x) {
    struct crossing_before before;
    bool fault;
    assert_int_equal(crossing_begin(&x->c, &before), 0);
    assert_int_equal(crossing_end(&x->c, &before, &fault), 0);
    assert_false(fault);
}

static void queued_signals_keep_their_order(void **state) {
    (void)state;
    enum { COUNT = 3 };
    struct guest *g = guest_new(OVERFLOW_WAIT);
    struct crosser x;
    enter_inside(g, &x);
    struct regs inside;
    assert_int_equal(thread_get_regs(g->pid, &inside), 0);
    queue(g, SIGRTMIN, COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(thread_continue(g->pid, 0), 0);
        child_await_signal(g->pid, SIGRTMIN);
        expect_signal(g, SIGRTMIN, i);
        assert_int_equal(thread_set_regs(g->pid, &inside), 0);
        cross(&x);
        expect_signal(g, SIGRTMIN, i);
    }
    guest_free(g);
}

/* The second signal arrived after the first had left the queue. */
static void equal_signals_not_merged(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    struct crosser x;
    enter_inside(g, &x);
    queue(g, SIGUSR1, 1);
    assert_int_equal(thread_continue(g->pid, 0), 0);
    child_await_signal(g->pid, SIGUSR1);
    assert_int_equal(syscall(SYS_tgkill, g->pid, g->pid, SIGUSR1), 0);
    cross(&x);
    expect_signal(g, SIGUSR1, 0);
    assert_int_equal(thread_continue(g->pid, 0), 0);
    child_await_signal(g->pid, SIGUSR1);
    guest_free(g);
}

static void job_signals_do_not_cancel_each_other(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    struct crosser x;
    enter_inside(g, &x);
    queue(g, SIGTSTP, 1);
    assert_int_equal(thread_continue(g->pid, 0), 0);
    child_await_signal(g->pid, SIGTSTP);
    assert_int_equal(kill(g->pid, SIGCONT), 0);
    cross(&x);
    expect_signal(g, SIGTSTP, 0);
    assert_int_equal(thread_continue(g->pid, 0), 0);
    child_await_signal(g->pid, SIGCONT);
    guest_free(g);
}

/* Looks as if an instruction had raised the signal; only its siginfo shows that it was sent. */
static void sent_fault_waits_in_the_queue(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    struct crosser x;
    enter_inside(g, &x);
    struct crossing_before before;
    bool fault;
    uint64_t mask;
    assert_int_equal(crossing_begin(&x.c, &before), 0);
    queue(g, SIGSEGV, 1);
    assert_int_equal(crossing_end(&x.c, &before, &fault), 0);
    assert_false(fault);
    assert_int_equal(thread_get_mask(g->pid, &mask), 0);
    assert_int_equal(mask, before.notes.mask);
    assert_int_equal(thread_continue(g->pid, 0), 0);
    child_await_signal(g->pid, SIGSEGV);
    expect_signal(g, SIGSEGV, 0);
    guest_free(g);
}

/* ---- system calls that a handler of the program receives ---- */

#ifndef PR_SET_SYSCALL_USER_DISPATCH /* since Linux 5.11 */
enum { PR_SET_SYSCALL_USER_DISPATCH = 59, PR_SYS_DISPATCH_ON = 1 };
#endif
enum { PTRACE_GET_DISPATCH = 0x4211 }; /* linux/ptrace.h, since Linux 6.4 */
enum { SA_RESTORER = 0x04000000 };     /* asm/signal.h */

/* From now on all system calls of the guest raise SIGSYS. Returns false if this kernel cannot do
 * that. */
static bool dispatch_calls(struct guest *g) {
    static const char blocked = 1; /* at the same address in guests */
    const struct remote_call call = {
        SYS_prctl, {PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, (uintptr_t)&blocked}};
    int64_t result;
    assert_int_equal(thread_call(g->pid, &g->space->remote, &call, &result, NULL), 0);
    return result == 0;
}

/* The kernel's struct sigaction. */
struct action {
    uint64_t handler, flags, restorer, mask;
};

/* Sets the guest's action for SIG if NEW; otherwise reads it into *RET. */
static void signal_action(const struct guest *g, int sig, const struct action *new,
                          struct action *ret) {
    static struct action here; /* at the same address in guests, too */
    taddr_t place = (uintptr_t)&here;
    const struct remote_call call = {
        SYS_rt_sigaction, {(uint64_t)sig, new ? place : 0, new ? 0 : place, sizeof here.mask}};
    int64_t result;
    if (new)
        assert_int_equal(memory_write(g->memory_fd, place, new, sizeof *new, NULL), 0);
    assert_int_equal(thread_call(g->pid, &g->space->remote, &call, &result, NULL), 0);
    assert_int_equal(result, 0);
    if (ret)
        assert_int_equal(memory_read(g->memory_fd, place, ret, sizeof *ret, NULL), 0);
}

static void thread_with_syscall_user_dispatch(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT), *bare = guest_new_bare();
    struct reference *r = mem_alloc(sizeof *r);
    struct crosser x;
    struct regs inside;
    enum settled settled;
    const struct action own = {.handler = (uintptr_t)hold_trap, .flags = SA_RESTORER};
    struct action now = own;
    signal_action(g, SIGSYS, &own, NULL);
    if (!dispatch_calls(g))
        skip();
    reference_record(bare, g, &(struct call){"site_plain", 5, 6, false}, r);
    enter_inside(g, &x);
    assert_int_equal(thread_get_regs(g->pid, &inside), 0);
    queue(g, SIGUSR1, 1);
    assert_int_equal(thread_continue(g->pid, 0), 0);
    child_await_signal(g->pid, SIGUSR1);
    assert_int_equal(thread_set_regs(g->pid, &inside), 0);
    assert_int_equal(settle_step_out(g->space, g->pid, g->handle, &settled), 0);
    assert_int_equal(settled, SETTLED_OUTSIDE);
    expect_signal(g, SIGUSR1, 0);
    guest_finish(g);
    assert_true(is_at_end(g, r));
    signal_action(g, SIGSYS, NULL, &now);
    assert_int_equal(now.handler, own.handler);
    free(r);
    guest_free(g);
    guest_free(bare);
}

static void remote_calls_bypass_the_dispatch_handler(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    const struct remote_call call = {SYS_getpid, {0}};
    int64_t result;
    if (!dispatch_calls(g))
        skip();
    for (int i = 0; i < 2; i++) {
        struct err err = {0};
        if (thread_call(g->pid, &g->space->remote, &call, &result, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(result, g->pid);
    }
    guest_free(g);
}

/* Behaves as before Linux 6.4, for the rest of this process's life. */
static void refuse_dispatch_requests(void) {
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PTRACE_GET_DISPATCH, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void no_remote_calls_into_a_dispatch_handler(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT), *bare = guest_new_bare();
    struct reference *r = mem_alloc(sizeof *r);
    const struct remote_call call = {SYS_getpid, {0}};
    struct err err = {0};
    int64_t result;
    if (!dispatch_calls(g))
        skip();
    reference_record(bare, g, &(struct call){"site_plain", 5, 6, false}, r);
    refuse_dispatch_requests();
    assert_true(thread_call(g->pid, &g->space->remote, &call, &result, &err) < 0);
    assert_string_equal(err.tag, "remote-call");
    assert_non_null(strstr(err.text, "system calls go to a handler"));
    guest_enter(g, &(struct call){"site_plain", 5, 6, false});
    guest_finish(g);
    assert_true(is_at_end(g, r));
    free(r);
    guest_free(g);
    guest_free(bare);
}

/* ---- processes in which no bridge can be used ---- */

static int64_t call_in(const struct guest *g, long number, uint64_t a, uint64_t b, uint64_t c) {
    struct remote_call call = {number, {a, b, c}};
    int64_t result;
    assert_int_equal(thread_call(g->pid, &g->space->remote, &call, &result, NULL), 0);
    return result;
}

static void thread_that_may_not_set_its_mask(void **state) {
    (void)state;
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    static struct sock_fprog program = {sizeof code / sizeof *code, code}; /* guests have a copy */
    struct guest *g = guest_new(OVERFLOW_WAIT), *bare = guest_new_bare();
    struct reference *r = mem_alloc(sizeof *r);
    enum settled settled;
    reference_record(bare, g, &(struct call){"site_plain", 5, 6, false}, r);
    assert_int_equal(call_in(g, SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0), 0);
    assert_int_equal(call_in(g, SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (uint64_t)&program), 0);
    assert_int_equal(thread_get_regs(g->pid, &g->idle), 0);
    struct crosser x;
    enter_inside(g, &x);
    assert_false(crossing_is_possible(&x.c));
    assert_int_equal(settle_step_out(g->space, g->pid, g->handle, &settled), 0);
    assert_int_equal(settled, SETTLED_INSIDE);
    guest_finish(g);
    assert_true(is_at_end(g, r));
    free(r);
    guest_free(g);
    guest_free(bare);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("patch crossing", tests, NULL, NULL);
}
