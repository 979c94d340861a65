/* x86-64 as a host: through arch/host.h only. */
#pragma once

#include <elf.h>
#include <linux/audit.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "wire/ring.h"

struct regs {
    struct user_regs_struct raw; /* as PTRACE_GETREGS gives them */
};

typedef uint64_t regs_word_t; /* of its memory: what is pushed and popped */

#define REGS_PROGRAMS "64-bit x86" /* what it runs, for messages */
enum {
    REGS_ELF_MACHINE = EM_X86_64,
    REGS_ELF_CLASS = ELFCLASS64,
    REGS_WORD_BYTES = 8,
    /* As call-frame information numbers registers; in place of the return address, the pc. */
    REGS_DWARF_FP = 6,
    REGS_DWARF_SP = 7,
    REGS_DWARF_PC = 16,
    REGS_DWARF_COUNT = 17,
    REGS_FRAME_BYTES = 16, /* from a frame pointer to the frame's CFA; 0: that is not always so */
    REGS_SIGNAL_RETURN_BYTES = 9,
    REGS_SIGNAL_STATE = REGS_DWARF_PC, /* there is but one */
    REGS_CODE_TELLS = 0, /* callers, by unwind tables of its own or by what code does */
    REGS_CONTEXT_WORDS = 4,
    REGS_CONTEXT_STACK = 18,            /* so many words before them is the struct sigaltstack */
    REGS_EXTENDED_NOTE = NT_X86_XSTATE, /* how ptrace names the state besides general registers */
    REGS_FRAME_SP = 8,                  /* from a signal frame's start to what its return takes */
    REGS_STEPS = 1,                     /* PTRACE_SINGLESTEP works */
    /* PTRACE_GETREGSET gives those of a thread in 32-bit code as a 32-bit program's. */
    REGS_GET = PTRACE_GETREGS,
    REGS_SET = PTRACE_SETREGS,
    REGS_TRAP_BYTES = 1,   /* how far behind a breakpoint the pc stands */
    REGS_TRAP_CODE = 0x80, /* its siginfo's: SI_KERNEL */
    REGS_TELLS_ENDS = 1,   /* the kernel reports the end also of calls whose begin it did not */
    REGS_TELL_CALLS = 1,   /* what call a thread comes back from, with what the kernel has */
    REGS_CALL_VFORK = SYS_vfork,
    REGS_CALL_MMAP = SYS_mmap, /* with offset 0 only: some count pages there */
    REGS_CALL_SET_POINTER = -1 /* no lane hangs off it */
};
static const uint32_t REGS_CALLS = AUDIT_ARCH_X86_64; /* whose calls are numbered so, for filters */

/* How many registers are in slices: rbx, rbp, r12 … r15, in this order. */
enum { SLICE_REGISTERS = 6 };

enum {
    BRIDGE_WORDS = 7,
    BRIDGE_WRITTEN = BRIDGE_BYTES + 2 + 8 /* movabs %rax, saved */
};

/* For calls that the kernel does not restart after a mere stop (epoll_wait and others that return
 * EINTR): makes it do so, unless a handler runs first. Returns whether it is such a one. Only for
 * threads that stand where the kernel looks for that (regs_seem_to_restart()). */
bool regs_restart_interrupted(struct regs *regs);
/* The same for a call that has its number, and its arguments' registers, from 32-bit x86: 64-bit
 * programs make such by "int $0x80". */
bool regs_restart_interrupted_32(struct regs *regs);

/* Where programs have memory. */
static inline uint64_t host_highest(void) { return 0x7ffff0000000; }
