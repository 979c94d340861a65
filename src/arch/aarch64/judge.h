/*
 * The code of an AArch64 stub that judges calls (stub.h, STUB_JUDGE). x3 is the lane; x1 is a word
 * or an address, or the call, x2 the place, or free, x0 free, or where a read that faults goes on.
 *
 *   a test of an entry's predicate:
 *     …     x1
 *     ldr   x2, [x3, #CONTROL]; ldr w2, [x2]; tbnz w2, #DIED, on_false  nobody would see a fault
 *     b     read; b on_false
 *   read:
 *     mov   x2, #offset; add x1, x1, x2
 *     ubfx  x2, x1, #52, #4; cbnz x2, on_false                          no user's address
 *     ubfx  x2, x1, #12, #44; cbz x2, on_false                          the first page
 *     adr   x0, on_false
 *     ldur  x1, [x1]                            may fault: the tool sets pc to x0
 *     …
 *     ubfx|sbfx x1, x1, #shift, #bits
 *     mov   x2, #constant
 *     sub   x1, x1, x2; cbz|cbnz x1, on_true|on_false                   equality
 *     sub   x0, x1, x2; tbz|tbnz x0, #63, on_true|on_false              order, of less than 64 bits
 *   behind the tests of an entry, or an exit:
 *     mov   x2, #ring; add x3, x3, x2                                   of kept_calls, less #RING
 *     ldr   x0, [x3, #COUNT]; cbz x0, pass                              nothing is kept
 *     add   x1, sp, #32+pops                                            the call
 *     ldr   x0, [x3, #FROM]; lsr x0, x0, #1; mvn x2, x1
 *     sub   x0, x0, x2, lsr #1; tbz x0, #63, keep|go
 *     ldr   x0, [x3, #NEWEST]; mvn x2, x1; lsr x2, x2, #1
 *     sub   x0, x2, x0, lsr #1; tbnz x0, #63, keep                      only of an entry
 *     ldr   x0, [x3, #FULL]; cbnz x0, go
 *     eor   x2, x1, x1, lsr #6; ubfx x2, x2, #4, #6; add x2, x3, x2, lsl #5        its set
 *     ldr   x0, [x2, #SETS]; sub x0, x0, x1; cbz x0, go; add x2, x2, #8 …
 *
 * Numbers of 64 bits are compared by the borrow of their difference. Stack pointers are even, so
 * without their lowest bits they have the same order. No flag is changed.
 */
#pragma once

#include "arch/aarch64/writer.h"

/* Writes the code and returns its size, at most STUB_CAPTURE_BYTES. 0: it has no room for that.
 * GO: from the end of the code to where the stub goes on to the event. */
size_t a64_judge_emit(struct writer *w, const struct stub_spec *stub, uint32_t go);
