/*
 * What is special about threads of 32-bit Arm: lanes are found by the thread pointer; the kernel's
 * number of the current call is apart from the registers. Also what such machines may lack. Facts:
 * Linux arch/arm/kernel/ptrace.c and entry-common.S, arch/arm/include/asm/syscall.h; for the
 * counter arch/arm/kernel/vdso.c and drivers/clocksource/arm_arch_timer.c.
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

/* Under a 64-bit kernel programs have addresses that a 32-bit kernel reserves for itself. */
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

/* 32-bit Arm has no shadow stacks. */
bool thread_guards_returns(pid_t tid) {
    (void)tid;
    return false;
}

/* Kernels from 5.15 until the repair in 6.6 took −1 for a number that is too large, and killed the
 * thread. So the thread makes another call, which changes only r0. */
int thread_cancel_syscall(pid_t tid) {
    const uintptr_t other = SYS_getpid;
    return ptrace(PTRACE_SET_SYSCALL, tid, NULL, (void *)other) < 0 ? -errno : 0;
}

/* Restores r0, which the other call has changed. (r12 is the kernel's own.) */
int thread_end_cancelled_syscall(pid_t tid, const struct regs *before) {
    struct regs regs;
    int rc = thread_get_regs(tid, &regs);
    if (rc < 0)
        return rc;
    regs.raw.uregs[0] = before->raw.uregs[0];
    return thread_set_regs(tid, &regs);
}

/* Keeps an older wait: a thread that is interrupted twice may already have left the call. */
void thread_note_wait(pid_t tid, struct thread_past *past) {
    struct status_wait now;
    status_blocking_syscall(tid, &now);
    if (now.number >= 0)
        past->wait = now;
}

/* True if W is the call behind which REGS are. */
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
 * True if the thread has returned from the call that REGS' number register names. The register
 * alone does not tell, since a handler's return may have restored it: then the kernel's number is
 * that of the return. Kernels before 5.15 know the number only for traced calls; 64-bit kernels
 * forget it when a stop has ended a call (do_signal() in Linux' arch/arm64/kernel/signal.c). Then
 * the places where handlers have run decide, as on AArch64.
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

/* True if the instruction at AT, in REGS' state, is `svc`, in A32 with 0. */
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

/* The kernel has set the pc back to the call (do_signal() in Linux' arch/arm/kernel/signal.c). */
bool thread_repeats_call(pid_t tid, const struct regs *regs) {
    return is_call(tid, regs, (uintptr_t)regs_pc(regs));
}

/* True for futex waits without timeout, in which most idle threads of Go are. */
static bool is_endless_wait(const struct regs *regs) {
    enum { NUMBER = 7, TIMEOUT = 3 };
    unsigned long number = regs->raw.uregs[NUMBER];
    return (number == SYS_futex || number == SYS_futex_time64) && !regs->raw.uregs[TIMEOUT];
}

/* True if the thread is about to make a call, or will make one again: the kernel has set the pc
 * back, or spoor will, since a mere stop has ended the call. A remote call in between would begin
 * the wait anew. */
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

/* Calls drop no vector state. */
void *thread_save_vectors(pid_t tid) {
    (void)tid;
    return NULL;
}

void thread_restore_vectors(pid_t tid, const void *vectors) {
    (void)tid;
    (void)vectors;
}

/* linux/arch/arm/include/asm/user.h, struct user_vfp */
enum { VECTOR_WORDS = 64, VECTOR_BYTES = 8 };
struct vectors {
    uint32_t words[VECTOR_WORDS], control;
};

int thread_read_vector(pid_t tid, unsigned number, unsigned part, void *ret, size_t size) {
    struct vectors all;
    struct iovec io = {&all, sizeof all};
    const size_t at = number * (size_t)VECTOR_BYTES + part;
    if (at + size > sizeof all.words)
        return -EINVAL;
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_VFP, &io) < 0)
        return -errno;
    memcpy(ret, (const uint8_t *)all.words + at, size);
    return 0;
}

int thread_read_x87(pid_t tid, unsigned number, void *ret, size_t size) {
    (void)tid;
    (void)number;
    (void)ret;
    (void)size;
    return -ENOTSUP;
}

int thread_fill_vectors(pid_t tid, unsigned first, const regs_word_t *words, unsigned count) {
    struct vectors all;
    struct iovec io = {&all, sizeof all};
    if (first + count > VECTOR_WORDS)
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

/* Reads the counter: a processor may have none, and a kernel may forbid or emulate it. */
static bool has_counter(void) {
    struct sigaction before, action = {.sa_handler = leave};
    sigset_t ill, mask;
    volatile bool has = false;
    sigemptyset(&ill);
    sigaddset(&ill, SIGILL);
    sigaction(SIGILL, &action, &before);
    pthread_sigmask(SIG_UNBLOCK, &ill, &mask);
    if (sigsetjmp(without_counter, 1) == 0) {
        clock_ticks();
        has = true;
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGILL, &before, NULL);
    return has;
}

/* If firmware has not given all processors the same counter (cntvct_functional()), the kernel hides
 * its clocks' names in the vDSO. Without a vDSO this cannot be found out: true. */
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
