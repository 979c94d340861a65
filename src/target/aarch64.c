/*
 * What only AArch64's threads have: the thread pointer, which lanes hang off; the number of the
 * call that they are in, apart from the registers; vectors that calls cut short. Facts: Linux
 * arch/arm64/kernel/ptrace.c, signal.c, and syscall.c.
 */
#include <asm/hwcap.h>
#include <asm/ptrace.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "base/mem.h"
#include "target/cpu.h"
#include "target/memory.h"
#include "target/status.h"
#include "target/thread.h"

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
int thread_set_pointer(pid_t tid, uint64_t pointer) {
    return set(tid, NT_ARM_TLS, &pointer, sizeof pointer);
}

/* Return addresses are not guarded by a second stack (GCS is none that Linux 6.1 knows). */
bool thread_guards_returns(pid_t tid) {
    (void)tid;
    return false;
}

int thread_forget_call(pid_t tid) { return set(tid, NT_ARM_SYSTEM_CALL, &NO_CALL, sizeof NO_CALL); }

/* One that is interrupted again before it has stopped may be on its way out already. */
void thread_note_wait(pid_t tid, struct status_wait *ret) {
    struct status_wait now;
    status_wait_of(tid, &now);
    if (now.number >= 0)
        *ret = now;
}

/* Whether that is the call behind which REGS stand: all but the first argument is still to be seen.
 */
static bool is_wait_of(const struct status_wait *w, const struct regs *regs) {
    const struct user_regs_struct *r = &regs->raw;
    return w->number >= 0 && (uint64_t)w->number == r->regs[8] && w->sp == r->sp &&
           w->pc == r->pc && memcmp(&w->args[1], &r->regs[1], 5 * sizeof *w->args) == 0;
}

/*
 * The result has taken the place of the first argument, which the kernel has still (orig_x0). What
 * waited when it was interrupted has been looked at before. Else /proc/TID/syscall may tell, which
 * shows arguments of a thread that is in a call. The kernel has forgotten that this one is: so that
 * is said to it for a moment. While the thread stands nothing else asks. Kernels that show the
 * register itself (6.1.192 does) show the result.
 */
static bool first_argument(pid_t tid, const struct regs *regs, uint64_t *ret) {
    enum { NUMBER = 8 };
    int number = (int)regs->raw.regs[NUMBER];
    long seen;
    if (set(tid, NT_ARM_SYSTEM_CALL, &number, sizeof number) < 0)
        return false;
    bool known = status_call_of(tid, &seen, ret) && seen == number;
    return thread_forget_call(tid) == 0 && known && *ret != regs->raw.regs[0];
}

/* Whether the instruction before the pc of REGS is `svc #0`. */
static bool is_behind_call(pid_t tid, const struct regs *regs) {
    errno = 0;
    long word = ptrace(PTRACE_PEEKTEXT, tid, (void *)((regs_pc(regs) - 4) & ~(taddr_t)7), NULL);
    return !errno && (uint32_t)((uint64_t)word >> (regs_pc(regs) & 4 ? 0 : 32)) == 0xd4000001;
}

/* A thread that has come back with EINTR for a good reason, and was stopped before its next
 * instruction, looks like that, too: then a handler has run, and nothing waits to be delivered. It
 * would have to be stopped within one instruction of it. */
bool thread_restart_interrupted(pid_t tid, const struct status_wait *wait, struct regs *regs) {
    uint64_t argument = wait->args[0];
    if (!regs_is_interrupted(regs) || !is_behind_call(tid, regs) ||
        !(is_wait_of(wait, regs) || first_argument(tid, regs, &argument)))
        return false;
    regs_call_again(regs, argument);
    return true;
}

/* As of SVE's registers a call keeps only what they share with the other vectors. */
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

/* All have the counter, which the kernel reads for programs where they cannot. */
int cpu_check(struct err *err) {
    (void)err;
    return 0;
}

bool cpu_tags_memory(void) { return getauxval(AT_HWCAP2) & HWCAP2_MTE; }
