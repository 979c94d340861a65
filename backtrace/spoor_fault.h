/*
 * spoor_fault: what happened, and where, when a program without an operating system faults: on a
 * Cortex-M (Armv6-M to Armv8.1-M), in A32 and T32 on other processors, on AArch64.
 *
 * Compile spoor_fault.c and spoor_backtrace.c into the program and put the handlers into the
 * vector table: of a Cortex-M for HardFault and, where there are such, MemManage, BusFault,
 * UsageFault, SecureFault. Give it a function that prints:
 *
 *     void spoor_putchar(char c) { uart_send(c); }
 *
 * It prints the exception, what the status registers say, the registers and the backtrace:
 *
 *     spoor: HardFault: FORCED UNDEFINSTR
 *     r0 00000001  r1 ...
 *     #0 0x000001c5
 *     #1 0x0000021f
 *     end
 *
 * and stays there, so that a debugger or a watchdog finds it. The addresses lie within the
 * instructions that have faulted or called, with Thumb's bit, for `spoor symbolize` and addr2line.
 * Needs some 1.1 KB (AArch64: 1.9 KB) of the stack that the processor goes on with: on a Cortex-M
 * the main stack; in A32 and T32 those of Abort and Undefined mode, which have to be set up; on
 * AArch64 SP_ELn of the level that takes the exception.
 *
 * While the MMU is off, memory must be accessed as it is aligned, and floating point may not be
 * on: compile with -mno-unaligned-access (A32, T32) or -mstrict-align -mgeneral-regs-only
 * (AArch64).
 */
#ifndef SPOOR_FAULT_H
#define SPOOR_FAULT_H

#include "spoor_backtrace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The program's: prints one character. May be called before anything has been set up. */
void spoor_putchar(char c);

/* The program's, if it likes: what is known of it. Else that is what spoor_image_find() finds. */
void spoor_fault_image(struct spoor_image *ret_image);

/* For vector tables only: they call spoor_fault(). */
#if defined(__aarch64__)
/* Of synchronous exceptions and SError, from the same level or a lower one, at EL1, EL2 or EL3. */
void spoor_fault_handler(void);
#elif __ARM_ARCH_PROFILE == 'M'
/* With pc, as lr, the EXC_RETURN, and sp as at entry. */
void spoor_fault_handler(void);
#else
/* Entered in A32 state (SCTLR.TE is 0), not in Hyp mode. From Armv6 on. */
void spoor_undefined_handler(void);
void spoor_prefetch_abort_handler(void);
void spoor_data_abort_handler(void);
#endif

/* Prints, and does not return; a program may have its own instead. If that returns, so does the
   exception, with what is in the stacked registers then (on AArch64 and in A32 and T32: in REGS, sp
   and lr apart). */
void spoor_fault(const struct spoor_regs *regs);

/* Prints all that is told above, by PUT. */
void spoor_fault_print(const struct spoor_image *image, const struct spoor_regs *regs,
                       void (*put)(char c));

#ifdef __cplusplus
}
#endif

#endif
