/*
 * Event stubs for AArch64: the code that a patched site runs. doc/ARM.md gives the reasons.
 *
 * A stub may stand anywhere: the stack below sp is always dead (AAPCS64, 6.4.5.1), and no flag is
 * changed. So STUB_SAVE_FLAGS and STUB_SKIP_RED_ZONE have no effect.
 *
 *     stp   x0, x1, [sp, #-32]!; stp x2, x3, [sp, #16]
 *     mov   x1, x30; xpaclri; mov x2, x30; mov x30, x1     STUB_CALLER: the plain return address
 *     mov   x1, #low; sub x2, x2, x1; tbnz x2, #63, other
 *     mov   x1, #size; sub x2, x2, x1; tbz x2, #63, other
 *  retry:
 *     mrs   x1, tpidr_el0                                  the thread pointer leads to the lane
 *     ubfx  x2, x1, #LANES_SHIFT, #LANES_BITS
 *     adrp  x3, lanes; add x3, x3, #low of lanes; add x3, x3, x2, lsl #4
 *     ldp   x2, x3, [x3]; sub x2, x2, x1; cbz x2, reserve
 *     adr   x0, retry; b agent_seek
 *  reserve:
 *     ldxr  x1, [x3]; add x2, x1, #16; stlxr w0, x2, [x3]; cbnz w0, reserve
 *     ldr   x2, [x3, #LIMIT]; sub x2, x1, x2; tbnz x2, #63, go
 *     adr   x0, retry|done; b agent_wait|agent_drop        full
 *  go:
 *     [dmb ishst]                                          OVERFLOW_OVERWRITE
 *     mrs   x0, cntvct_el0
 *     and   x1, x1, #ring-1; add x3, x3, x1; add x3, x3, #RING
 *     add   x1, sp, #32                                    sp as it was at the site
 *     mov   w2, #site; stp w2, w1, [x3, #SITE]
 *     ubfx  x1, x1, #32, #16; orr x0, x1, x0, lsl #16
 *     stlr  x0, [x3]                                       commit
 *  done, other:
 *     ldp   x2, x3, [sp, #16]; ldp x0, x1, [sp], #32
 *
 * A STUB_HOOK stub has `adr x0, done; b agent_hook` between the pushes and `done`; with
 * STUB_GUARD it branches to agent_guard.
 *
 * A STUB_SLICE stub precedes that of an entry. It also pushes x4 to x9. From `reserve` on it has
 *
 *     mrs   x4, cntvct_el0; lsl x4, x4, #16
 *     add   x1, sp, #80; mov x2, #wait; adr x0, done; b agent_slice
 *
 * A STUB_CAPTURE stub pushes x0 to x9, and has room above them. From `reserve` on it has
 *
 *     [dmb ishst]                                          OVERFLOW_OVERWRITE
 *     mrs   x4, cntvct_el0; lsl x4, x4, #16
 *     the capture's code (capture.h)                       x5: where the next slot stands
 *  event:
 *     and   x1, x5, #ring-1; add x1, x3, x1; add x1, x1, #RING
 *     add   x6, sp, #160
 *     mov   w2, #site; stp w2, w6, [x1, #SITE]
 *     ubfx  x6, x6, #32, #16; orr x6, x6, x4; str x6, [x1]
 *     [number of slots before the event added to SLICE_SLOTS]     OVERFLOW_OVERWRITE
 *     add   x5, x5, #16; stlr x5, [x3]                     reserve and commit
 *
 * A STUB_JUDGE stub has from `reserve` on the code of judge.h, which ends with
 *
 *     ldp   x2, x3, [sp, #16]; ldp x0, x1, [sp], #32; b behind     the event is not recorded
 *  go:
 *
 * The head is stored with release: a reader that sees it sees all earlier events. With
 * OVERFLOW_OVERWRITE the barrier makes the slot's stores follow the head's.
 *
 * At agent_wait and agent_drop the slot is still reserved, x3 is the lane and x1 the head before.
 *
 * The agent's code begins with a branch for each of its entries, at offsets AGENT_ENTRY_*. The
 * table of lanes (wire/lane_lookup.h) stands before it. The stub looks at one key of it; the agent
 * looks at all.
 */
#pragma once

#include "arch/aarch64/frame.h"

/* Writes the stub to OUT (room for STUB_MAX_BYTES) and returns its size in bytes, which depends on
 * variant and overflow only. It must run at the distance spec->agent from the agent, which begins a
 * page. The site's code follows its last instruction. */
size_t a64_stub_emit(uint8_t *out, const struct stub_spec *spec);

/* As in struct arch. The pushed words are x0, x1, x2, x3 and, in slices and captures, x4 to x9, in
 * this order; the first push takes the room of all. Displaced: x1 holds x30's value. */
bool a64_stub_state(uint8_t variant, enum overflow overflow, uint32_t offset,
                    struct stub_state *ret);
uint32_t a64_stub_size(uint8_t variant, enum overflow overflow);
uint32_t a64_stub_retry(uint8_t variant);
uint32_t a64_stub_site(const uint8_t *stub, uint8_t variant, enum overflow overflow);
uint32_t a64_stub_capture_at(uint8_t variant, enum overflow overflow);
uint32_t a64_stub_capture_bytes(const struct capture *c);
uint32_t a64_stub_judge_bytes(enum judged judged, const struct predicate *predicate);
/* As in regs.h. An `adr` or an exclusive access is stub code: relocated code has neither. */
bool a64_is_stub_code(const uint8_t *code, size_t size);
bool a64_find_stub_end(const uint8_t *code, size_t size, size_t *ret);
