/* 32-bit Arm as a host. Included by arch/host.h only. */
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
    struct user_regs raw; /* as from PTRACE_GETREGSET NT_PRSTATUS: r0 to r15, CPSR, and r0 before
                             the system call, or −1 outside of calls */
};

typedef uint32_t regs_word_t; /* the size of a push or pop */

#define REGS_PROGRAMS "32-bit Arm" /* programs that it runs, for messages */
enum {
    REGS_ELF_MACHINE = EM_ARM,
    REGS_ELF_CLASS = ELFCLASS32,
    REGS_WORD_BYTES = 4,
    /* DWARF numbers of registers (AADWARF32, 4.1). */
    REGS_DWARF_FP = 11,
    REGS_DWARF_SP = 13,
    REGS_DWARF_PC = 15,
    REGS_DWARF_COUNT = 16,
    REGS_FRAME_BYTES = 0, /* GCC and Clang differ (AAPCS32, 6.2.1.4, leaves it open) */
    REGS_SIGNAL_RETURN_BYTES = 8,
    REGS_SIGNAL_STATE = 16, /* CPSR stands behind the pc */
    REGS_CALLERS_BY_CODE =
        1, /* callers: 0: by DWARF rows; 1: by other tables, or by what code does */
    REGS_CONTEXT_WORDS = 39,
    REGS_CONTEXT_STACK = 19,         /* words from struct sigaltstack to the context words */
    REGS_EXTENDED_NOTE = NT_ARM_VFP, /* ptrace's name of the state besides general registers */
    REGS_FRAME_SP = 0, /* from a signal frame's start to the stack pointer of rt_sigreturn */
    REGS_CAN_STEP = 0, /* PTRACE_SINGLESTEP does not work */
    REGS_GET = PTRACE_GETREGSET,
    REGS_SET = PTRACE_SETREGSET,
    REGS_TRAP_BYTES = 0,         /* how far behind a breakpoint the pc stands */
    REGS_TRAP_CODE = TRAP_BRKPT, /* si_code of a breakpoint */
    REGS_REPORTS_LONE_CALL_ENDS =
        0, /* the kernel also reports ends of calls whose begin it did not report */
    REGS_SHOW_PAST_CALLS = 1, /* registers and kernel show from which call a thread returns */
    REGS_CALL_VFORK = SYS_vfork,
    REGS_CALL_MMAP = SYS_mmap2, /* used with offset 0 only: its unit differs between machines */
    REGS_CALL_SET_POINTER = __ARM_NR_set_tls
};
static const uint32_t REGS_AUDIT_ARCH = AUDIT_ARCH_ARM; /* these numbers' architecture in seccomp */
static const uint64_t REGS_ASSIGNED_POINTER = UINT32_C(0xffc00737); /* odd: no thread block's */

/* Number of registers in slices: r4 to r11 and lr, in this order. */
enum { SLICE_REGISTERS = 9 };

enum {
    BRIDGE_WORDS = 5,
    BRIDGE_WRITTEN = BRIDGE_BYTES + BRIDGE_GATE_BYTES /* all up to the address of the way back */
};

/* Whether the thread returns with EINTR from a call that the kernel does not restart after a stop
 * without a handler. (Registers do not show all.) The second function repeats the call. */
bool regs_is_interrupted(const struct regs *regs);
void regs_call_again(struct regs *regs);

/* The end of the addresses at which programs have memory. 64-bit kernels leave nearly all to them.
 * On all kernels the name of the executed file is near the end, at most 8 MB lower
 * (STACK_RND_MASK of Linux' arch/arm and arch/arm64). */
static inline uint64_t host_highest(void) {
    const uint64_t step = 0x1000000, vectors = 0xffff0000;
    uint64_t above = (getauxval(AT_EXECFN) | (step - 1)) + 1;
    return above < vectors ? above : vectors;
}
