/* What is special about threads of x86-64: the gs base points to the lane; shadow stacks. */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "target/cpu.h"
#include "target/thread.h"

int thread_set_lane(pid_t tid, taddr_t lane) {
    const uintptr_t gs_base = offsetof(struct user_regs_struct, gs_base);
    return ptrace(PTRACE_POKEUSER, tid, (void *)gs_base, (void *)lane) < 0 ? -errno : 0;
}

taddr_t thread_get_lane(pid_t tid) {
    struct regs regs;
    return thread_get_regs(tid, &regs) < 0 ? 0 : regs_lane(&regs);
}

int thread_get_pointer(pid_t tid, uint64_t *ret) {
    struct regs regs;
    int r = thread_get_regs(tid, &regs);
    *ret = r < 0 ? 0 : regs.raw.fs_base;
    return r;
}

bool thread_guards_returns(pid_t tid) {
    enum { NT_SHADOW_STACK = 0x204 }; /* linux/elf.h, NT_X86_SHSTK, since Linux 6.6 */
    uint64_t pointer;
    struct iovec io = {&pointer, sizeof pointer};
    return ptrace(PTRACE_GETREGSET, tid, (void *)NT_SHADOW_STACK, &io) == 0;
}

/* The registers are enough (regs_postpone_syscall()). */
int thread_cancel_syscall(pid_t tid) {
    (void)tid;
    return 0;
}

int thread_end_cancelled_syscall(pid_t tid, const struct regs *before) {
    (void)tid;
    (void)before;
    return 0;
}

/* Nothing to note: the registers tell the call. */
void thread_note_wait(pid_t tid, struct thread_past *past) {
    (void)tid;
    (void)past;
}

/*
 * True if the instruction before REGS' pc is `syscall`, `int $0x80` or `sysenter`. This excludes
 * calls that the kernel itself restarts: then rax is the call's number, the pc is on the
 * instruction, and orig_rax is unchanged (Linux arch/x86/kernel/signal.c). A thread that is stopped
 * there looks as if its call had returned its number.
 */
static bool is_behind_call(pid_t tid, const struct regs *regs) {
    errno = 0;
    long word = ptrace(PTRACE_PEEKTEXT, tid, (void *)(regs_pc(regs) - 2), NULL);
    uint16_t insn = (uint16_t)word;
    return !errno && (insn == 0x050f || insn == 0x80cd || insn == 0x340f);
}

bool thread_restart_interrupted(pid_t tid, const struct thread_past *past, struct regs *regs) {
    struct regs native = *regs, foreign = *regs;
    (void)past;
    bool if_native = regs_restart_interrupted(&native);
    bool if_foreign = regs_restart_interrupted_32(&foreign);
    if ((!if_native && !if_foreign) || !is_behind_call(tid, regs))
        return false;
    bool is_native = thread_syscall_is_native(tid);
    if (is_native ? if_native : if_foreign)
        *regs = is_native ? native : foreign;
    return is_native ? if_native : if_foreign;
}

bool thread_repeats_call(pid_t tid, const struct regs *regs) {
    (void)tid;
    return regs_would_restart(regs);
}

bool thread_returned_from_syscall(pid_t tid, const struct thread_past *past,
                                  const struct regs *regs, uint64_t *ret_argument) {
    long number;
    (void)past;
    return regs_call(regs, &number, ret_argument) && thread_syscall_is_native(tid) &&
           is_behind_call(tid, regs);
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

int thread_read_vector(pid_t tid, unsigned number, unsigned part, void *ret, size_t size) {
    struct user_fpregs_struct all;
    const size_t at = number * (size_t)16 + part;
    if (at + size > sizeof all.xmm_space)
        return -EINVAL;
    if (ptrace(PTRACE_GETFPREGS, tid, NULL, &all) < 0)
        return -errno;
    memcpy(ret, (const uint8_t *)all.xmm_space + at, size);
    return 0;
}

int thread_read_x87(pid_t tid, unsigned number, void *ret, size_t size) {
    struct user_fpregs_struct all;
    const size_t at = number * (size_t)16;
    if (at + size > sizeof all.st_space)
        return -EINVAL;
    if (ptrace(PTRACE_GETFPREGS, tid, NULL, &all) < 0)
        return -errno;
    memcpy(ret, (const uint8_t *)all.st_space + at, size);
    return 0;
}

/* All processors have the time-stamp counter. */
int cpu_check(struct err *err) {
    (void)err;
    return 0;
}

bool cpu_tags_memory(void) { return false; }
