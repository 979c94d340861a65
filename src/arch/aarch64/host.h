/* AArch64 as a host. Included by arch/host.h only. */
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
    struct user_regs_struct raw; /* as from PTRACE_GETREGSET NT_PRSTATUS */
};

typedef uint64_t regs_word_t; /* the size of a push or pop */

#define REGS_PROGRAMS "AArch64" /* programs that it runs, for messages */
enum {
    REGS_ELF_MACHINE = EM_AARCH64,
    REGS_ELF_CLASS = ELFCLASS64,
    REGS_WORD_BYTES = 8,
    /* DWARF numbers of registers (AADWARF64, 4.1), then the pc. */
    REGS_DWARF_FP = 29,
    REGS_DWARF_SP = 31,
    REGS_DWARF_PC = 32,
    REGS_DWARF_COUNT = 33,
    REGS_FRAME_BYTES = 0, /* varies: GCC's frame record is at a frame's low end (AAPCS64, 6.4.6) */
    REGS_SIGNAL_RETURN_BYTES = 8,
    REGS_SIGNAL_STATE = REGS_DWARF_PC, /* the machine has one state */
    REGS_CALLERS_BY_CODE =
        0, /* callers: 0: by DWARF rows; 1: by other tables, or by what code does */
    REGS_CONTEXT_WORDS = 5,
    REGS_CONTEXT_STACK = 52,         /* words from struct sigaltstack to the context words */
    REGS_EXTENDED_NOTE = NT_PRFPREG, /* ptrace's name of the state besides general registers */
    REGS_FRAME_SP = 0, /* from a signal frame's start to the stack pointer of rt_sigreturn */
    REGS_CAN_STEP = 1, /* PTRACE_SINGLESTEP works */
    REGS_GET = PTRACE_GETREGSET,
    REGS_SET = PTRACE_SETREGSET,
    REGS_TRAP_BYTES = 0,         /* how far behind a breakpoint the pc stands */
    REGS_TRAP_CODE = TRAP_BRKPT, /* si_code of a breakpoint */
    REGS_REPORTS_LONE_CALL_ENDS =
        1, /* the kernel also reports ends of calls whose begin it did not report */
    REGS_SHOW_PAST_CALLS = 0,  /* registers and kernel show from which call a thread returns */
    REGS_CALL_VFORK = -1,      /* none: clone does it */
    REGS_CALL_MMAP = SYS_mmap, /* used with offset 0 only: its unit differs between machines */
    REGS_CALL_SET_POINTER = -1 /* none: programs write the register themselves */
};
static const uint32_t REGS_AUDIT_ARCH =
    AUDIT_ARCH_AARCH64; /* these numbers' architecture in seccomp */
static const uint64_t REGS_ASSIGNED_POINTER = UINT64_C(0x7370) << 48; /* no address of a program */

/* Number of registers in slices: x19 to x30, in this order. */
enum { SLICE_REGISTERS = 12 };

enum {
    BRIDGE_WORDS = 5,
    BRIDGE_WRITTEN = BRIDGE_BYTES + BRIDGE_GATE_BYTES /* all up to the jump back */
};

/* Whether the thread returns with EINTR from a call that the kernel does not restart after a stop
 * without a handler. The second function repeats the call; ARGUMENT is its first argument, which
 * the result has replaced. */
bool regs_is_interrupted(const struct regs *regs);
void regs_call_again(struct regs *regs, uint64_t argument);

/* The end of the addresses at which programs have memory. */
static inline uint64_t host_highest(void) { return 0xfffff0000000; }
