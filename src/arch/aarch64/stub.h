/*
 * Event stubs for AArch64: the code that a patched site runs. doc/ARM.md says why it looks so.
 *
 * A stub may stand anywhere: what lies below sp is dead at any time (AAPCS64, 6.4.5.1), and no flag
 * is changed. So STUB_SAVE_FLAGS and STUB_SKIP_RED_ZONE mean nothing here.
 *
 *     stp   x0, x1, [sp, #-32]!; stp x2, x3, [sp, #16]
 *     mov   x1, x30; xpaclri; mov x2, x30; mov x30, x1     STUB_CALLER: the return address,
 * unsigned mov   x1, #low; sub x2, x2, x1; tbnz x2, #63, other mov   x1, #size; sub x2, x2, x1; tbz
 * x2, #63, other retry: mrs   x1, tpidr_el0               the lane is found by the thread pointer
 *     ubfx  x2, x1, #LANES_SHIFT, #LANES_BITS
 *     adrp  x3, lanes; add x3, x3, #low of lanes; add x3, x3, x2, lsl #4
 *     ldp   x2, x3, [x3]; sub x2, x2, x1; cbz x2, reserve
 *     adr   x0, retry; b agent_seek
 *  reserve:
 *     ldxr  x1, [x3]; add x2, x1, #16; stlxr w0, x2, [x3]; cbnz w0, reserve
 *     ldr   x2, [x3, #LIMIT]; sub x2, x1, x2; tbnz x2, #63, go
 *     adr   x0, retry|done; b agent_wait|agent_drop        full
 *  go:
 *     [dmb ishst]                                          rings that are overwritten
 *     mrs   x0, cntvct_el0
 *     and   x1, x1, #ring-1; add x3, x3, x1; add x3, x3, #RING
 *     add   x1, sp, #32                                    sp as it was at the site
 *     mov   w2, #site; stp w2, w1, [x3, #SITE]
 *     ubfx  x1, x1, #32, #16; orr x0, x1, x0, lsl #16
 *     stlr  x0, [x3]                                       commit
 *  done, other:
 *     ldp   x2, x3, [sp, #16]; ldp x0, x1, [sp], #32
 *
 * A STUB_HOOK stub replaces everything between the pushes and `done` by
 * `adr x0, done; b agent_hook`.
 *
 * A STUB_SLICE stub, before that of an entry, pushes x4 to x9, too, and goes on behind `reserve` by
 *
 *     mrs   x4, cntvct_el0; lsl x4, x4, #16
 *     add   x1, sp, #80; mov x2, #wait; adr x0, done; b agent_slice
 *
 * The head is stored by a release, so that who sees it sees all events before; and where nobody
 * waits for the reader, the slot is stored to only after that.
 *
 * At agent_wait and agent_drop the slot is reserved still, x3 is the lane and x1 the head before.
 *
 * The agent's code begins with a branch for each of its entries, AGENT_* bytes in. The table of
 * lanes (wire/lane_lookup.h) stands before it; what is not at the place that is looked at the agent
 * finds.
 */
#pragma once

#include "arch/stub.h"
#include "wire/lane_lookup.h"

enum {
    A64_AGENT_SEEK = 0,
    A64_AGENT_WAIT = 4,
    A64_AGENT_DROP = 8,
    A64_AGENT_SLICE = 12,
    A64_AGENT_HOOK = 16
};
/* What a stub takes of the stack. */
static inline uint32_t a64_stub_frame(uint8_t variant) { return variant & STUB_SLICE ? 80 : 32; }

/* Writes the stub to OUT (room for STUB_MAX_BYTES) and returns its size in bytes, which depends on
 * variant and overflow only. It must run at the distance spec->agent from the agent, which begins a
 * page; falling off its end continues the site. */
size_t a64_stub_emit(uint8_t *out, const struct stub_spec *spec);

/* As in struct arch. The words that are pushed are x0, x1, x2, x3 and of slices x4 to x9, in this
 * order; the first two take the room of all. Displaced: x1 holds what x30 shall. */
bool a64_stub_state(uint8_t variant, enum overflow overflow, uint32_t offset,
                    struct stub_state *ret);
uint32_t a64_stub_size(uint8_t variant, enum overflow overflow);
uint32_t a64_stub_retry(uint8_t variant);
uint32_t a64_stub_site(const uint8_t *stub, uint8_t variant, enum overflow overflow);
/* As in regs.h. No instruction of a program is an `adr` where it is moved to, or exclusive. */
bool a64_is_of_stub(const uint8_t *code, size_t size);
bool a64_find_stub_end(const uint8_t *code, size_t size, size_t *ret);
