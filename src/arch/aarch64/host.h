/* AArch64 as a host: through arch/host.h only. */
#pragma once

#include <elf.h>
#include <linux/audit.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "wire/ring.h"

struct regs {
    struct user_regs_struct raw; /* as PTRACE_GETREGSET NT_PRSTATUS gives them */
};

typedef uint64_t regs_word_t; /* of its memory: what is pushed and popped */

#define REGS_PROGRAMS "AArch64" /* what it runs, for messages */
enum {
    REGS_ELF_MACHINE = EM_AARCH64,
    REGS_ELF_CLASS = ELFCLASS64,
    REGS_WORD_BYTES = 8,
    /* As call-frame information numbers registers (AADWARF64, 4.1), and behind them the pc. */
    REGS_DWARF_FP = 29,
    REGS_DWARF_SP = 31,
    REGS_DWARF_PC = 32,
    REGS_DWARF_COUNT = 33,
    REGS_FRAME_BYTES =
        0, /* GCC's frames have the pointer's word at their far end (AAPCS64, 6.4.6) */
    REGS_SIGNAL_RETURN_BYTES = 8,
    REGS_SIGNAL_STATE = REGS_DWARF_PC, /* there is but one */
    REGS_CODE_TELLS = 0, /* callers, by unwind tables of its own or by what code does */
    REGS_CONTEXT_WORDS = 5,
    REGS_CONTEXT_STACK = 52,         /* so many words before them is the struct sigaltstack */
    REGS_EXTENDED_NOTE = NT_PRFPREG, /* how ptrace names the state besides general registers */
    REGS_FRAME_SP = 0,               /* from a signal frame's start to what its return takes */
    REGS_STEPS = 1,                  /* PTRACE_SINGLESTEP works */
    REGS_GET = PTRACE_GETREGSET,     /* the request to ptrace */
    REGS_SET = PTRACE_SETREGSET,
    REGS_TRAP_BYTES = 0,         /* how far behind a breakpoint the pc stands */
    REGS_TRAP_CODE = TRAP_BRKPT, /* its siginfo's */
    REGS_TELLS_ENDS = 1,       /* the kernel reports the end also of calls whose begin it did not */
    REGS_TELL_CALLS = 0,       /* what call a thread comes back from, with what the kernel has */
    REGS_CALL_VFORK = -1,      /* there is none: clone does it */
    REGS_CALL_MMAP = SYS_mmap, /* with offset 0 only: some count pages there */
    REGS_CALL_SET_POINTER = -1 /* there is none: it is a register of programs */
};
static const uint32_t REGS_CALLS = AUDIT_ARCH_AARCH64; /* whose calls are numbered so, for filters
                                                        */
static const uint64_t REGS_ASSIGNED_POINTER = UINT64_C(0x7370) << 48; /* no address of a program */

/* How many registers are in slices: x19 to x30, in this order. */
enum { SLICE_REGISTERS = 12 };

enum {
    BRIDGE_WORDS = 5,
    BRIDGE_WRITTEN = BRIDGE_BYTES + BRIDGE_GATE_BYTES /* all up to the jump back */
};

/* Whether the thread comes from a call that the kernel does not restart after a mere stop and that
 * has returned EINTR; and to make it again, with its first ARGUMENT, which the result has replaced.
 */
bool regs_is_interrupted(const struct regs *regs);
void regs_call_again(struct regs *regs, uint64_t argument);

/* Where programs have memory. */
static inline uint64_t host_highest(void) { return 0xfffff0000000; }
