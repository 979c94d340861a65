/*
 * What is known of one stack frame at one instruction: which registers and words in memory hold an
 * address of the frame. An address is a frame place: a base plus a constant. The base is the
 * frame's CFA, or an sp that an instruction made by rounding.
 *
 * Two assumptions, as unwinders make them: a saved word keeps its value until a store to a known
 * place overwrites it, and callees keep what the ABI says.
 *
 * Private to src/plan.
 */
#pragma once

#include "arch/arch.h"

struct frame_place {
    uint32_t base; /* BASE_*, or the caller's number for a rounding instruction */
    int32_t offset;
};
enum { BASE_UNKNOWN, BASE_CFA, BASE_ROUNDED };

enum { FRAME_SAVED = 12 };
struct frame {
    struct frame_place regs[STACK_REGISTERS];
    struct {
        struct frame_place at, value;
    } saved[FRAME_SAVED];
    uint8_t saved_count, word; /* word: bytes of a word */
};

/* FRAME becomes that of a function's first instruction. */
void frame_enter(struct frame *frame, const struct arch *arch);
/* Applies one effect of an instruction. ROUNDED: base of a place that it rounds, ≥ BASE_ROUNDED. */
void frame_step(struct frame *frame, const struct arch *arch, const struct stack_effect *effect,
                uint32_t rounded);
/* FRAME keeps only what OTHER knows, too. Returns true if FRAME changed. */
bool frame_merge(struct frame *frame, const struct frame *other);

static inline bool frame_place_same(struct frame_place a, struct frame_place b) {
    return a.base == b.base && (a.base == BASE_UNKNOWN || a.offset == b.offset);
}
