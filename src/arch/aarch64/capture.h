/*
 * The code of a capture in an AArch64 stub (stub.h, STUB_CAPTURE). It writes the values' slots
 * above the lane's head, which it does not move. So nothing is to be undone: a thread that is
 * stopped here for a signal goes back to the site.
 *
 *     ldr   x5, [x3, #HEAD]; adr x0, retry|event; mov x2, #bytes|behind
 *     mov   x6, #bytes; add x6, x5, x6; ldr x7, [x3, #LIMIT]; sub x7, x7, x6
 *     tbz   x7, #63, go; b agent_room|agent_cramped
 *  go:
 *     slot CAPTURE_BEGIN
 *   a value:
 *     …     x6
 *     slots of its words
 *   a value in memory:
 *     …     x7
 *     ldr   x8, [x3, #CONTROL]; ldr w8, [x8]; tbnz w8, #DIED, next      nobody would see a fault
 *     b     read; b next
 *   read:
 *     add   x7, x7, #offset
 *     ubfx  x8, x7, #52, #4; cbnz x8, next                              no user's address
 *     ubfx  x8, x7, #12, #44; cbz x8, next                              the first page
 *     adr   x0, next
 *     ldr   x7|x6, [x7]                         may fault: the tool sets pc to x0
 *     …
 *   next:
 *
 * x3 is the lane, x4 the clock in an event's format, x5 where the next slot stands, x6 a word, x7
 * an address; x1, x2, x8 and x9 are free. A register that the stub has saved is read from the
 * stack. Processors ignore bits 56 to 63 of an address (TCR_EL1.TBI0, which Linux sets), so
 * pointers with tags there are good ones; words are recorded with them. Above the registers the
 * stub's frame has room for lengths of texts.
 */
#pragma once

#include "arch/aarch64/writer.h"

/* Writes the code and returns its size, at most STUB_CAPTURE_BYTES. 0: it has no room for that.
 * BEHIND: the bytes of what follows it. */
size_t a64_capture_emit(struct writer *w, const struct stub_spec *stub, uint32_t behind);
