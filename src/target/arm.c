/*
 * What only threads of 32-bit Arm have: the thread pointer, which lanes hang off; the number of the
 * call that they are in, apart from the registers. What only its machines may lack. Facts: Linux
 * arch/arm/kernel/ptrace.c and entry-common.S, arch/arm/include/asm/syscall.h; for the counter
 * arch/arm/kernel/vdso.c and drivers/clocksource/arm_arch_timer.c.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "arch/arm/needs.h"
#include "arch/clock.h"
#include "target/cpu.h"
#include "target/status.h"
#include "target/thread.h"

enum { A32_BYTES = 4, T32_BYTES = 2 }; /* of `svc` */

/* Programs have memory that kernels of 32 bits keep to themselves. */
static bool is_kernel_of_64_bits(void) {
    const uint64_t most_of_32 = 0xc0000000;
    return host_highest() > most_of_32;
}

int thread_get_pointer(pid_t tid, uint64_t *ret) {
    regs_word_t pointer = 0;
    int rc = ptrace(PTRACE_GET_THREAD_AREA, tid, NULL, &pointer) < 0 ? -errno : 0;
    *ret = pointer;
    return rc;
}

/* Return addresses are not guarded by a second stack. */
bool thread_guards_returns(pid_t tid) {
    (void)tid;
    return false;
}

/* Kernels from 5.15 on, until that was mended in 6.6, took −1 for a number that is too large, and
 * ended who makes such a call. So another one is made that changes nothing but r0. */
int thread_cancel_syscall(pid_t tid) {
    const uintptr_t other = SYS_getpid;
    return ptrace(PTRACE_SET_SYSCALL, tid, NULL, (void *)other) < 0 ? -errno : 0;
}

/* What of BEFORE is that call's, not the kernel's own (r12). */
int thread_end_cancelled_syscall(pid_t tid, const struct regs *before) {
    struct regs regs;
    int rc = thread_get_regs(tid, &regs);
    if (rc < 0)
        return rc;
    regs.raw.uregs[0] = before->raw.uregs[0];
    return thread_set_regs(tid, &regs);
}

/* One that is interrupted again before it has stopped may be on its way out already. Most calls are
 * told without that. */
void thread_note_wait(pid_t tid, struct thread_past *past) {
    struct status_wait now;
    status_blocking_syscall(tid, &now);
    if (now.number >= 0)
        past->wait = now;
}

/* Whether that is the call behind which REGS stand. */
static bool is_wait_of(const struct status_wait *w, const struct regs *regs) {
    long number;
    uint64_t argument;
    bool same = regs_call(regs, &number, &argument) && w->number == number &&
                w->sp == regs_sp(regs) && w->pc == regs_pc(regs) && w->args[0] == argument;
    for (int i = 1; i < 6; i++)
        same = same && w->args[i] == regs->raw.uregs[i];
    return same;
}

/*
 * The register with the number may be what a handler's return has restored: then the number that
 * the kernel itself has is of that, whose registers say nothing of this call. Kernels before 5.15
 * knew the number only of calls that somebody traced; those of 64 bits forget it as soon as a stop
 * has ended a call (do_signal() in Linux' arch/arm64/kernel/signal.c). Then what tells is where
 * handlers have run, as on AArch64.
 */
static bool comes_from_call(pid_t tid, const struct thread_past *past, const struct regs *regs) {
    long number, seen;
    uint64_t argument;
    if (!regs_call(regs, &number, &argument))
        return false;
    if (!status_syscall_of(tid, &seen, &argument))
        return is_kernel_of_64_bits() &&
               (is_wait_of(&past->wait, regs) ||
                !thread_was_handled(past, regs, regs_is_other(regs) ? T32_BYTES : A32_BYTES));
    bool from_handler = seen == SYS_rt_sigreturn || seen == SYS_sigreturn;
    return seen == number || (!from_handler && is_wait_of(&past->wait, regs));
}

/* Whether the instruction at AT, in REGS' state, calls the kernel: `svc`, with 0 in A32. */
static bool is_call(pid_t tid, const struct regs *regs, uintptr_t at) {
    enum { A32_SVC = (int)0xef000000, T32_SVC = 0xdf };
    errno = 0;
    uint32_t word = (uint32_t)ptrace(PTRACE_PEEKTEXT, tid, (void *)at, NULL);
    return !errno &&
           (regs_is_other(regs) ? (word >> 8 & 0xff) == T32_SVC : word == (uint32_t)A32_SVC);
}

static bool is_behind_call(pid_t tid, const struct regs *regs) {
    return is_call(tid, regs,
                   (uintptr_t)regs_pc(regs) - (regs_is_other(regs) ? T32_BYTES : A32_BYTES));
}

bool thread_returned_from_syscall(pid_t tid, const struct thread_past *past,
                                  const struct regs *regs, uint64_t *ret_argument) {
    long number;
    return regs_call(regs, &number, ret_argument) && is_behind_call(tid, regs) &&
           comes_from_call(tid, past, regs);
}

bool thread_restart_interrupted(pid_t tid, const struct thread_past *past, struct regs *regs) {
    uint64_t argument;
    if (!regs_is_interrupted(regs) || !thread_returned_from_syscall(tid, past, regs, &argument))
        return false;
    regs_call_again(regs);
    return true;
}

/* A lock's, as most idle threads of Go's wait: without a time that it could end at. */
static bool is_endless_wait(const struct regs *regs) {
    enum { NUMBER = 7, TIMEOUT = 3 };
    unsigned long number = regs->raw.uregs[NUMBER];
    return (number == SYS_futex || number == SYS_futex_time64) && !regs->raw.uregs[TIMEOUT];
}

/* Whether what REGS say is to be done is a call, or that is made again (by the kernel, which has
 * set the pc back; or by us, as a mere stop has ended it): behind another one a wait would begin
 * anew. */
static bool is_in_call(pid_t tid, const struct regs *regs) {
    return is_call(tid, regs, (uintptr_t)regs_pc(regs))
               ? !is_endless_wait(regs)
               : regs_syscall_result(regs) == -EINTR && is_behind_call(tid, regs);
}

int thread_set_pointer(pid_t tid, uint64_t pointer, const struct remote_site *site) {
    const struct remote_call call = {REGS_CALL_SET_POINTER, {pointer}};
    struct regs regs;
    int64_t result;
    if (!site)
        return -ENOTSUP;
    int rc = thread_get_regs(tid, &regs);
    if (rc < 0)
        return rc;
    if (!thread_may_call(tid) || is_in_call(tid, &regs))
        return -EAGAIN;
    rc = thread_call(tid, site, &call, &result, NULL);
    return rc < 0 || result == 0 ? rc : -ENOTSUP;
}

/* It forgets nothing. */
void *thread_save_vectors(pid_t tid) {
    (void)tid;
    return NULL;
}

void thread_restore_vectors(pid_t tid, const void *vectors) {
    (void)tid;
    (void)vectors;
}

int thread_fill_vectors(pid_t tid, unsigned first, const regs_word_t *words, unsigned count) {
    enum { WORDS = 64 };
    struct {
        uint32_t words[WORDS], control;
    } all; /* linux/arch/arm/include/asm/user.h, struct user_vfp */
    struct iovec io = {&all, sizeof all};
    if (first + count > WORDS)
        return -EINVAL;
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_VFP, &io) < 0)
        return -errno;
    memcpy(all.words + first, words, count * sizeof *words);
    return ptrace(PTRACE_SETREGSET, tid, (void *)NT_ARM_VFP, &io) < 0 ? -errno : 0;
}

static sigjmp_buf without_counter;

static void leave(int sig) {
    (void)sig;
    siglongjmp(without_counter, 1);
}

/* Nothing but to read it tells for certain: a processor may have none, a kernel may forbid it, or
 * answer in its place. */
static bool has_counter(void) {
    struct sigaction before, ours = {.sa_handler = leave};
    sigset_t ill, mask;
    volatile bool has = false;
    sigemptyset(&ill);
    sigaddset(&ill, SIGILL);
    sigaction(SIGILL, &ours, &before);
    pthread_sigmask(SIG_UNBLOCK, &ill, &mask);
    if (sigsetjmp(without_counter, 1) == 0) {
        clock_ticks();
        has = true;
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGILL, &before, NULL);
    return has;
}

/* Where firmware has not given all processors the same counter (cntvct_functional()), the kernel
 * takes the names of its clocks out of the vDSO. Without a vDSO nothing tells. */
static bool shares_counter(void) {
    void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    bool shares = !vdso || dlsym(vdso, "__vdso_clock_gettime");
    if (vdso)
        dlclose(vdso);
    return shares;
}

int cpu_check(struct err *err) {
    const struct arm_machine machine = {
        .platform = (const char *)getauxval(AT_PLATFORM), // NOLINT(performance-no-int-to-ptr)
        .has_counter = has_counter(),
        .shares_counter = shares_counter()};
    const char *lacks = arm_lacks(&machine);
    return lacks ? err_set(err, ENOTSUP, "machine", "this machine cannot record: %s", lacks) : 0;
}

bool cpu_tags_memory(void) { return false; }
