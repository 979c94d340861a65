/*
 * What is known of one stack frame at one instruction: which registers, and which words in memory,
 * hold an address of the frame. Addresses are told as places: a base plus a constant. The base is
 * the frame's CFA, or the sp that an instruction made by rounding it.
 *
 * It is taken for granted, as unwinders do, that a saved word keeps its value until it is
 * overwritten through a place that is known, and that callees keep what the ABI says.
 *
 * Private to src/plan.
 */
#pragma once

#include "arch/arch.h"

struct place {
    uint32_t base; /* BASE_*, or the number that the caller gave to a rounding instruction */
    int32_t offset;
};
enum { BASE_UNKNOWN, BASE_CFA, BASE_ROUNDED };

enum { FRAME_SAVED = 12 };
struct frame {
    struct place regs[STACK_REGISTERS];
    struct {
        struct place at, value;
    } saved[FRAME_SAVED];
    uint8_t saved_count, word; /* word: its bytes */
};

/* As at a function's first instruction. */
void frame_enter(struct frame *frame, const struct arch *arch);
/* Runs one instruction. ROUNDED: the base of a place that it rounds, ≥ BASE_ROUNDED. */
void frame_step(struct frame *frame, const struct arch *arch, const struct stack_effect *effect,
                uint32_t rounded);
/* Keeps of FRAME what OTHER knows as well. False when that changes nothing. */
bool frame_merge(struct frame *frame, const struct frame *other);

static inline bool place_same(struct place a, struct place b) {
    return a.base == b.base && (a.base == BASE_UNKNOWN || a.offset == b.offset);
}
