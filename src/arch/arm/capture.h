/*
 * The code of a capture in a stub of A32 or T32 (stub.h, STUB_CAPTURE). It writes the values' slots
 * above the lane's head, which it does not move. So nothing is to be undone: a thread that is
 * stopped here for a signal goes back to the site.
 *
 *     ldrd  r2, r3, [r6]; mov r8, r2; movw, movt r4, #bytes
 *     adds  r2, r2, r4; adc r3, r3, #0
 *     add   r12, r6, #LIMIT; ldrexd r0, r1, [r12]; cmp r0, r2; sbcs r0, r1, r3; bhs go
 *     movw, movt r4, #bytes|behind
 *     (to the agent: r0 = retry|event, agent_room|agent_cramped)
 *  go:
 *     slot CAPTURE_BEGIN
 *   a value:
 *     …     r12, of more than four bytes also r4
 *     slots of its words
 *   a value in memory:
 *     …     r2
 *     ldr   r3, [r6, #CONTROL]; ldr r3, [r3]; tst r3, #DIED             nobody would see a fault
 *     bne   next                                T32: beq read; bpl next (always); read:
 *     add   r2, r2, #offset
 *     sub   r3, r2, #0x1000; cmn r3, #0x11000; bhs next       the first page; the last 64 KiB
 *     adr   r0, next                                          with the state's bit
 *     ldr   r2|r12, [r2]                        may fault: the tool sets pc to r0
 *     …
 *   next:
 *
 * r5 is the table of lanes, r6 the lane, r7 has the flags; r8 is where the next slot stands, r9 and
 * r10 the clock in an event's format, r12 and r4 a word, r2 an address; r1, r3 and r11 are free. A
 * register that the stub has saved is read from the stack. A slot is stored at once: r9 to r12.
 *
 * How much memory is the kernel's differs between kernels; 64-bit ones leave nearly all to
 * programs. Reads of the kernel's memory fault, as those of memory that is not there. In the last
 * 64 KiB no program has data, and nothing read there may go beyond the last byte.
 */
#pragma once

#include "arch/arm/writer.h"

/* Writes the code and returns its size, at most STUB_CAPTURE_BYTES. 0: it has no room for that.
 * BEHIND: the bytes of what follows it. */
size_t arm_capture_emit(struct writer *w, const struct stub_spec *stub, uint32_t behind);
