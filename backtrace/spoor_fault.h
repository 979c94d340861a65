/*
 * spoor_fault: what happened, and where, when a Cortex-M (Armv6-M to Armv8.1-M) faults.
 *
 * Compile spoor_fault.c and spoor_backtrace.c into the program and put spoor_fault_handler into the
 * vector table, for HardFault and, where there are such, MemManage, BusFault, UsageFault,
 * SecureFault. Give it a function that prints:
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
 * Needs some 1.1 KB of main stack.
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

/* For vector tables only. Calls spoor_fault() with pc, as lr, the EXC_RETURN, and sp as at entry.
 */
void spoor_fault_handler(void);

/* Prints, and does not return; a program may have its own instead. If that returns, so does the
   exception, with what is in the stacked registers then. */
void spoor_fault(const struct spoor_regs *regs);

/* Prints all that is told above, by PUT. */
void spoor_fault_print(const struct spoor_image *image, const struct spoor_regs *regs,
                       void (*put)(char c));

#ifdef __cplusplus
}
#endif

#endif
