/* What is special about threads of AArch64: lanes are found by the thread pointer; the current
 * call's number is apart from the registers; calls drop vectors. Facts: Linux
 * arch/arm64/kernel/ptrace.c, signal.c, and syscall.c. */
#include <asm/hwcap.h>
#include <asm/ptrace.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "base/mem.h"
#include "target/cpu.h"
#include "target/memory.h"
#include "target/thread.h"

enum { CALL_BYTES = 4 }; /* of `svc` */
static const int NO_CALL = -1;

static int get(pid_t tid, uintptr_t note, void *out, size_t size) {
    struct iovec io = {out, size};
    return ptrace(PTRACE_GETREGSET, tid, (void *)note, &io) < 0 ? -errno : 0;
}

static int set(pid_t tid, uintptr_t note, const void *bytes, size_t size) {
    struct iovec io = {(void *)bytes, size};
    return ptrace(PTRACE_SETREGSET, tid, (void *)note, &io) < 0 ? -errno : 0;
}

int thread_get_pointer(pid_t tid, uint64_t *ret) { return get(tid, NT_ARM_TLS, ret, sizeof *ret); }
int thread_set_pointer(pid_t tid, uint64_t pointer, const struct remote_site *site) {
    (void)site;
    return set(tid, NT_ARM_TLS, &pointer, sizeof pointer);
}

bool thread_guards_returns(pid_t tid) {
    enum { NT_GUARDED_STACK = 0x410, ENABLED = 1 }; /* linux/elf.h, NT_ARM_GCS, since Linux 6.13 */
    struct {
        uint64_t features, locked, pointer;
    } guard;
    return get(tid, NT_GUARDED_STACK, &guard, sizeof guard) == 0 && guard.features & ENABLED;
}

int thread_cancel_syscall(pid_t tid) {
    return set(tid, NT_ARM_SYSTEM_CALL, &NO_CALL, sizeof NO_CALL);
}

int thread_end_cancelled_syscall(pid_t tid, const struct regs *before) {
    (void)tid;
    (void)before;
    return 0;
}

/* Nothing to note: the kernel reports the call afterwards. */
void thread_note_wait(pid_t tid, struct thread_past *past) {
    (void)tid;
    (void)past;
}

/*
 * Reads a call's first argument, whose register holds the result by now; the kernel still has it
 * (orig_x0). PTRACE_GET_SYSCALL_INFO (since Linux 5.3) reports it at a stop by a seccomp filter,
 * which it recognizes by the code in the stop's siginfo. The tracer may change that code. At
 * spoor's stops, and before signals that do nothing, nothing else sees it. (The number is not
 * reported: the kernel has forgotten by then that the thread was in a call. NT_ARM_SYSTEM_CALL
 * would remind it, but some kernels overwrite the argument then: 6.1.192.)
 */
static bool first_argument(pid_t tid, uint64_t *ret) {
    struct __ptrace_syscall_info call = {.op = PTRACE_SYSCALL_INFO_NONE};
    siginfo_t stop;
    if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &stop) < 0)
        return false;
    siginfo_t filtered = stop;
    filtered.si_signo = SIGTRAP;
    filtered.si_code = SIGTRAP | PTRACE_EVENT_SECCOMP << 8;
    if (ptrace(PTRACE_SETSIGINFO, tid, NULL, &filtered) < 0)
        return false;
    ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof call, &call);
    ptrace(PTRACE_SETSIGINFO, tid, NULL, &stop);
    *ret = call.seccomp.args[0];
    return call.op == PTRACE_SYSCALL_INFO_SECCOMP;
}

/* True if the instruction at AT is `svc #0`. */
static bool is_call(pid_t tid, taddr_t at) {
    errno = 0;
    long word = ptrace(PTRACE_PEEKTEXT, tid, (void *)(at & ~(taddr_t)7), NULL);
    return !errno && (uint32_t)((uint64_t)word >> (at & 4 ? 32 : 0)) == 0xd4000001;
}

static bool is_behind_call(pid_t tid, const struct regs *regs) {
    return is_call(tid, regs_pc(regs) - 4);
}

/* The kernel has set the pc back to the call (do_signal() in Linux' arch/arm64/kernel/signal.c). */
bool thread_repeats_call(pid_t tid, const struct regs *regs) { return is_call(tid, regs_pc(regs)); }

/*
 * Behind a handler's return the registers are those of the call that the handler interrupted, but
 * the kernel's first argument belongs to the return. Such a thread looks like one that spoor
 * interrupted in a call if it is stopped before its next instruction. So it is compared with the
 * places where handlers have begun since spoor is attached.
 */
bool thread_returned_from_syscall(pid_t tid, const struct thread_past *past,
                                  const struct regs *regs, uint64_t *ret_argument) {
    return is_behind_call(tid, regs) && !thread_was_handled(past, regs, CALL_BYTES) &&
           first_argument(tid, ret_argument);
}

bool thread_restart_interrupted(pid_t tid, const struct thread_past *past, struct regs *regs) {
    uint64_t argument;
    if (!regs_is_interrupted(regs) || !thread_returned_from_syscall(tid, past, regs, &argument))
        return false;
    regs_call_again(regs, argument);
    return true;
}

/* Calls drop the part of SVE's registers that other vector registers do not share. */
void *thread_save_vectors(pid_t tid) {
    struct user_sve_header head;
    if (get(tid, NT_ARM_SVE, &head, sizeof head) < 0 ||
        (head.flags & SVE_PT_REGS_MASK) != SVE_PT_REGS_SVE)
        return NULL;
    AUTO_FREE struct user_sve_header *all = mem_alloc(head.size);
    return get(tid, NT_ARM_SVE, all, head.size) < 0 ? NULL : steal(all);
}

void thread_restore_vectors(pid_t tid, const void *vectors) {
    const struct user_sve_header *head = vectors;
    if (head)
        set(tid, NT_ARM_SVE, vectors, head->size);
}

int thread_read_vector(pid_t tid, unsigned number, unsigned part, void *ret, size_t size) {
    struct user_fpsimd_state all;
    const size_t at = number * sizeof *all.vregs + part;
    if (at + size > sizeof all.vregs)
        return -EINVAL;
    int rc = get(tid, NT_PRFPREG, &all, sizeof all);
    if (rc < 0)
        return rc;
    memcpy(ret, (const uint8_t *)all.vregs + at, size);
    return 0;
}

int thread_read_x87(pid_t tid, unsigned number, void *ret, size_t size) {
    (void)tid;
    (void)number;
    (void)ret;
    (void)size;
    return -ENOTSUP;
}

/* All processors have the counter. The kernel reads it for programs that cannot. */
int cpu_check(struct err *err) {
    (void)err;
    return 0;
}

bool cpu_tags_memory(void) { return getauxval(AT_HWCAP2) & HWCAP2_MTE; }
