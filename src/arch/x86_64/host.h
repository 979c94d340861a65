/* x86-64 as a host. Included by arch/host.h only. */
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
    struct user_regs_struct raw; /* as from PTRACE_GETREGS */
};

typedef uint64_t regs_word_t; /* the size of a push or pop */

#define REGS_PROGRAMS "64-bit x86" /* programs that it runs, for messages */
enum {
    REGS_ELF_MACHINE = EM_X86_64,
    REGS_ELF_CLASS = ELFCLASS64,
    REGS_WORD_BYTES = 8,
    /* DWARF numbers of registers; the return address's number is the pc's. */
    REGS_DWARF_FP = 6,
    REGS_DWARF_SP = 7,
    REGS_DWARF_PC = 16,
    REGS_DWARF_COUNT = 17,
    REGS_FRAME_BYTES = 16, /* from a frame pointer to the frame's CFA; 0: this varies */
    REGS_SIGNAL_RETURN_BYTES = 9,
    REGS_SIGNAL_STATE = REGS_DWARF_PC, /* the machine has one state */
    REGS_CALLERS_BY_CODE =
        0, /* callers: 0: by DWARF rows; 1: by other tables, or by what code does */
    REGS_CONTEXT_WORDS = 4,
    REGS_CONTEXT_STACK = 18,            /* words from struct sigaltstack to the context words */
    REGS_EXTENDED_NOTE = NT_X86_XSTATE, /* ptrace's name of the state besides general registers */
    REGS_FRAME_SP = 8, /* from a signal frame's start to the stack pointer of rt_sigreturn */
    REGS_CAN_STEP = 1, /* PTRACE_SINGLESTEP works */
    /* PTRACE_GETREGSET returns a thread in 32-bit code as one of a 32-bit program. */
    REGS_GET = PTRACE_GETREGS,
    REGS_SET = PTRACE_SETREGS,
    REGS_TRAP_BYTES = 1,   /* how far behind a breakpoint the pc stands */
    REGS_TRAP_CODE = 0x80, /* si_code of a breakpoint: SI_KERNEL */
    REGS_REPORTS_LONE_CALL_ENDS =
        1, /* the kernel also reports ends of calls whose begin it did not report */
    REGS_SHOW_PAST_CALLS = 1, /* registers and kernel show from which call a thread returns */
    REGS_CALL_VFORK = SYS_vfork,
    REGS_CALL_MMAP = SYS_mmap, /* used with offset 0 only: its unit differs between machines */
    REGS_CALL_SET_POINTER = -1 /* lanes do not hang off the thread pointer */
};
static const uint32_t REGS_AUDIT_ARCH =
    AUDIT_ARCH_X86_64; /* these numbers' architecture in seccomp */

/* Number of registers in slices: rbx, rbp, r12 … r15, in this order. */
enum { SLICE_REGISTERS = 6 };

enum {
    BRIDGE_WORDS = 7,
    BRIDGE_WRITTEN = BRIDGE_BYTES + 2 + 8 /* movabs %rax, saved */
};

/* For calls that fail with EINTR after a stop without a handler (epoll_wait and others): makes the
 * kernel restart the call, unless a handler runs first. Returns whether it is such a call. Only for
 * threads on their way back from a stop (regs_would_restart()). */
bool regs_restart_interrupted(struct regs *regs);
/* The same for a call with 32-bit x86's number and argument registers, which 64-bit programs make
 * by "int $0x80". */
bool regs_restart_interrupted_32(struct regs *regs);

/* The end of the addresses at which programs have memory. */
static inline uint64_t host_highest(void) { return 0x7ffff0000000; }
