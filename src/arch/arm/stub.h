/*
 * Event stubs for 32-bit Arm: the code that a patched site runs. A32 and T32 are two encodings of
 * one program. doc/ARM.md gives the reasons.
 *
 * A stub may stand anywhere: the stack below sp is always dead (AAPCS32, 6.2.1.2). Comparisons set
 * flags, so the stub always keeps the flags in r7. STUB_SAVE_FLAGS and STUB_SKIP_RED_ZONE have no
 * effect. The planner does not ask for STUB_GO_*, as Go passes nothing in registers on this
 * machine.
 *
 *     push  {r0-r7}; mrs r7, apsr
 *     movw  r0, #32+pops-4-behind; mov r0, lr | ldr r0, [sp, r0]   STUB_CALLER: the return address
 *     movw, movt r1, #start; sub r0, r0, r1
 *     movw, movt r1, #size; cmp r0, r1; bhs done
 *  retry:
 *     movw, movt r5, #distance; add r5, pc, r5              the table of lanes
 *     (T32: adr r4, here; add r5, r4, r5)
 *     mrc   r1, tpidruro; ubfx r2, r1, #LANES_SHIFT, #LANES_BITS
 *     add   r2, r5, r2, lsl #4; ldr r3, [r2]; ldr r6, [r2, #8]; cmp r3, r1; beq found
 *     (to the agent: r0 = found, agent_seek)
 *  found:
 *     ldrd  r2, r3, [r6]                                    head
 *     add   r4, r6, #LIMIT; ldrexd r0, r1, [r4]             limit, all 64 bits of one moment
 *     cmp   r2, r0; sbcs r0, r3, r1; blo go
 *     (to the agent: r0 = retry|done, agent_wait|agent_drop)
 *  go:
 *     [dmb  ishst]                                          OVERFLOW_OVERWRITE
 *     ubfx  r1, r2, #0, #ring; add r1, r6, r1; add r1, r1, #RING
 *     mrrc  r2, r3, cntvct
 *     lsl   r3, r3, #16; orr r3, r3, r2, lsr #16; lsl r2, r2, #16
 *     movw, movt r4, #site
 *     movw  r5, #32+pops; add r5, sp, r5                    sp as it was at the function's entry
 *     stm   r1, {r2-r5}
 *     dmb   ishst
 *  again:
 *     ldrexd r2, r3, [r6]; adds r2, r2, #16; adc r3, r3, #0; strexd r0, r2, r3, [r6]
 *     cmp   r0, #0; bne again                               commit
 *  done:
 *     msr   apsr_nzcvq, r7; pop {r0-r7}
 *
 * To the agent:
 *
 *     movw, movt r0, #distance; add r0, r0, r5              with the state's bit
 *     movw  r1, #LANES_BYTES+entry; add r1, r1, r5; bx r1
 *
 * A STUB_SLICE stub precedes that of an entry. It pushes r0 to r12. Behind `found` it has
 *
 *     movw  r4, #wait                                       (to the agent: r0 = done, agent_slice)
 *
 * A STUB_HOOK stub has between `mrs` and `done` the table's address and the way to agent_hook, with
 * r0 = done. With STUB_GUARD the way leads to agent_guard.
 *
 * A STUB_CAPTURE stub makes room for lengths of texts, and pushes r0 to r12. Behind `found` it has
 *
 *     [dmb  ishst]                                          OVERFLOW_OVERWRITE
 *     mrrc  r2, r3, cntvct
 *     lsl   r10, r3, #16; orr r10, r10, r2, lsr #16; lsl r9, r2, #16
 *     the capture's code (capture.h)                        r8: where the next slot stands
 *  event:
 *     ubfx  r1, r8, #0, #ring; add r1, r6, r1; add r1, r1, #RING
 *     movw, movt r11, #site
 *     movw  r12, #88+pops; add r12, sp, r12; stm r1, {r9-r12}
 *     ldr   r2, [r6]; sub r4, r8, r2
 *     [number of slots before the event added to SLICE_SLOTS]      OVERFLOW_OVERWRITE
 *     add   r4, r4, #16; dmb ishst
 *  again:
 *     ldrexd r2, r3, [r6]; adds r2, r2, r4; adc r3, r3, #0; strexd r0, r2, r3, [r6]
 *     cmp   r0, #0; bne again                               commit
 *
 * A STUB_JUDGE stub has behind `found` the code of judge.h, which ends with
 *
 *     msr   apsr_nzcvq, r7; pop {r0-r7}; b behind           the event is not recorded
 *  go:
 *
 * The slot is written before it is reserved. Only the thread itself writes to its ring. A thread
 * that is stopped in between is rolled back to its site, with nothing to undo. Reserving the
 * slot commits it. So all slots below the head are whole, though stores of 16 bytes (and, on some
 * processors, of 8) are not atomic. Readers see the head move after the slot's stores (`dmb` before
 * `again`). With OVERFLOW_OVERWRITE they see the next slot's stores after the head's move (`dmb` at
 * `go`).
 *
 * The agent is A32 code and returns by `bx r0`. At its entries r5 is the table's address; in
 * agent_wait, agent_drop, agent_slice and the entries of captures r6 is the lane. It may use r0 to
 * r6, in agent_slice and for captures also r8 to r12.
 */
#pragma once

#include "arch/arm/frame.h"

/* Writes the stub to OUT (room for STUB_MAX_BYTES) and returns its size in bytes, which depends on
 * variant and overflow only. It must run at the distance spec->agent from the agent, which begins a
 * page. The site's code follows its last instruction. */
size_t a32_stub_emit(uint8_t *out, const struct stub_spec *spec);
size_t t32_stub_emit(uint8_t *out, const struct stub_spec *spec);

/* As in struct arch. One instruction pushes r0 to r7 (ARM_STUB_FRAME bytes), in slices and captures
 * r0 to r12 (ARM_SLICE_FRAME bytes). Skipped: room for lengths is above them. Displaced: r7 has the
 * flags. Unsure, and ahead: the slot is reserved if r0 is 0. */
bool a32_stub_state(uint8_t variant, enum overflow overflow, uint32_t offset,
                    struct stub_state *ret);
bool t32_stub_state(uint8_t variant, enum overflow overflow, uint32_t offset,
                    struct stub_state *ret);
uint32_t a32_stub_size(uint8_t variant, enum overflow overflow);
uint32_t t32_stub_size(uint8_t variant, enum overflow overflow);
uint32_t a32_stub_retry(uint8_t variant);
uint32_t t32_stub_retry(uint8_t variant);
uint32_t a32_stub_site(const uint8_t *stub, uint8_t variant, enum overflow overflow);
uint32_t t32_stub_site(const uint8_t *stub, uint8_t variant, enum overflow overflow);
uint32_t a32_stub_capture_at(uint8_t variant, enum overflow overflow);
uint32_t t32_stub_capture_at(uint8_t variant, enum overflow overflow);
uint32_t a32_stub_capture_bytes(const struct capture *c);
uint32_t t32_stub_capture_bytes(const struct capture *c);
uint32_t a32_stub_judge_bytes(enum judged judged, const struct predicate *predicate);
uint32_t t32_stub_judge_bytes(enum judged judged, const struct predicate *predicate);
uint32_t a32_stub_read_switch(const uint8_t *stub, uint32_t at, uint8_t *ret_byte);
uint32_t t32_stub_read_switch(const uint8_t *stub, uint32_t at, uint8_t *ret_byte);

/* As in regs.h. Only stubs have exclusive accesses, and in A32 `add r5, pc, r5` and `add r0, pc,
 * r0`, in T32 `adr` of r0 and r4. */
bool arm_is_stub_code(bool t32, const uint8_t *code, size_t size);
bool arm_find_stub_end(bool t32, const uint8_t *code, size_t size, size_t *ret);
