/*
 * The code of a stub of A32 or T32 that judges calls (stub.h, STUB_JUDGE). r6 is the lane, r7 has
 * the flags. r1 and r4 are a word, r2 an address; or r1 is the call, r2 the place; r0, r3 and r5
 * are free, r0 also where a read that faults goes on.
 *
 *   a test of an entry's predicate:
 *     …     r2
 *     ldr   r3, [r6, #CONTROL]; ldr r3, [r3]; tst r3, #DIED                  nobody would see a
 * fault bne   on_false                      T32: beq read; bpl on_false (always); read: add   r2,
 * r2, #offset sub   r3, r2, #0x1000; cmn r3, #0x11000; bhs on_false    the first page; the last 64
 * KiB adr   r0, on_false                                       with the state's bit ldr   r1, [r2];
 * ldr r4, [r2, #4]                         may fault: the tool sets pc to r0 … ubfx|sbfx r1, r1,
 * #shift, #bits movw, movt r3, #constant; cmp r1, r3; b<c> on_true|on_false         up to 32 bits
 *     movw, movt r3, r5, #constant; cmp r1, r3; sbcs r0, r4, r5; b<c> …   order, of more bits
 *     eor   r1, r1, r3; eor r4, r4, r5; orrs r1, r1, r4; beq|bne …        equality
 *   behind the tests of an entry, or an exit:
 *     movw, movt r3, #RING+ring; add r6, r6, r3                           kept_calls
 *     ldr   r0, [r6, #COUNT]; cmp r0, #0; beq pass                        nothing is kept
 *     movw, movt r1, #32+pops; add r1, sp, r1                             the call
 *     ldr   r0, [r6, #FROM]; mvn r2, r1; cmp r2, r0; bls keep|go
 *     ldr   r0, [r6, #NEWEST]; mvn r2, r1; cmp r2, r0; blo keep           only of an entry
 *     ldr   r0, [r6, #FULL]; cmp r0, #0; bne go
 *     eor   r2, r1, r1, lsr #6; ubfx r2, r2, #4, #6; add r2, r6, r2, lsl #5      its set
 *     ldr   r0, [r2, #SETS]; cmp r0, r1; beq go; add r2, r2, #8 …
 *
 * Of the numbers in kept_calls only the lower halves are used; the upper ones stay 0, but for that
 * of `from`, which tells nothing more. (The count is not increased once all calls are recorded, so
 * it does not become 0 by that.)
 */
#pragma once

#include "arch/arm/writer.h"

/* Writes the code and returns its size, at most STUB_CAPTURE_BYTES. 0: it has no room for that.
 * GO: from the end of the code to where the stub goes on to the event. */
size_t arm_judge_emit(struct writer *w, const struct stub_spec *stub, uint32_t go);
