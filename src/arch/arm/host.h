/* 32-bit Arm as a host: through arch/host.h only. */
#pragma once

#include <elf.h>
#include <linux/audit.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "wire/ring.h"

struct regs {
    struct user_regs raw; /* as PTRACE_GETREGSET NT_PRSTATUS gives them: r0 to r15, CPSR, and r0 as
                             it was when the kernel was called, else −1 */
};

typedef uint32_t regs_word_t; /* of its memory: what is pushed and popped */

#define REGS_PROGRAMS "32-bit Arm" /* what it runs, for messages */
enum {
    REGS_ELF_MACHINE = EM_ARM,
    REGS_ELF_CLASS = ELFCLASS32,
    REGS_WORD_BYTES = 4,
    /* As call-frame information numbers registers (AADWARF32, 4.1). */
    REGS_DWARF_FP = 11,
    REGS_DWARF_SP = 13,
    REGS_DWARF_PC = 15,
    REGS_DWARF_COUNT = 16,
    REGS_FRAME_BYTES = 0, /* GCC and Clang differ (AAPCS32, 6.2.1.4, says neither) */
    REGS_SIGNAL_RETURN_BYTES = 8,
    REGS_SIGNAL_STATE = 16, /* CPSR stands behind the pc */
    REGS_CODE_TELLS = 1,    /* callers, by unwind tables of its own or by what code does */
    REGS_CONTEXT_WORDS = 39,
    REGS_CONTEXT_STACK = 19,         /* so many words before them is the struct sigaltstack */
    REGS_EXTENDED_NOTE = NT_ARM_VFP, /* how ptrace names the state besides general registers */
    REGS_FRAME_SP = 0,               /* from a signal frame's start to what its return takes */
    REGS_STEPS = 0,                  /* PTRACE_SINGLESTEP works */
    REGS_GET = PTRACE_GETREGSET,     /* the request to ptrace */
    REGS_SET = PTRACE_SETREGSET,
    REGS_TRAP_BYTES = 0,         /* how far behind a breakpoint the pc stands */
    REGS_TRAP_CODE = TRAP_BRKPT, /* its siginfo's */
    REGS_TELLS_ENDS = 0, /* the kernel reports the end also of calls whose begin it did not */
    REGS_TELL_CALLS = 1, /* what call a thread comes back from, with what the kernel has */
    REGS_CALL_VFORK = SYS_vfork,
    REGS_CALL_MMAP = SYS_mmap2, /* with offset 0 only: some count pages there */
    REGS_CALL_SET_POINTER = __ARM_NR_set_tls
};
static const uint32_t REGS_CALLS = AUDIT_ARCH_ARM; /* whose calls are numbered so, for filters */
static const uint64_t REGS_ASSIGNED_POINTER = UINT32_C(0xffc00737); /* an odd one: no block's */

/* How many registers are in slices: r4 to r11 and lr, in this order. */
enum { SLICE_REGISTERS = 9 };

enum {
    BRIDGE_WORDS = 5,
    BRIDGE_WRITTEN = BRIDGE_BYTES + BRIDGE_GATE_BYTES /* all up to the way back */
};

/* Whether the thread comes from a call that the kernel does not restart after a mere stop and that
 * has returned EINTR, as far as registers tell; and to make it again. */
bool regs_is_interrupted(const struct regs *regs);
void regs_call_again(struct regs *regs);

/* Where programs have memory: kernels of 64 bits leave them nearly all that there is. Whatever the
 * kernel, what a program was executed by stands at the top, up to 8 MB lower by chance
 * (STACK_RND_MASK of Linux' arch/arm and arch/arm64). */
static inline uint64_t host_highest(void) {
    const uint64_t step = 0x1000000, vectors = 0xffff0000;
    uint64_t above = (getauxval(AT_EXECFN) | (step - 1)) + 1;
    return above < vectors ? above : vectors;
}
