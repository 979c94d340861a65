/*
 * Conditional instructions that move the stack pointer. Mostly they are an epilogue whose return
 * has the same condition.
 *
 *     cmp   r0, #0          24 │ depth
 *     addeq sp, sp, #8      24 │ 16 where the condition holds
 *     popeq {r4-r6, pc}     24 │  0
 *     ldr   r0, [sp, #4]    24 │ where it did not hold
 *
 * From the first such instruction on, two frames are kept. They end where flags are written, where
 * paths meet, or at a branch on that condition, which separates them.
 *
 * Private to src/plan.
 */
#pragma once

#include "plan/depth/frame.h"

struct split {
    uint8_t condition; /* as from arch.condition(); 0: there is one frame only */
    struct frame held; /* the frame where the condition holds; the caller keeps the other one */
};

/* An instruction that continues to the next one, and its effects from arch.stack(). */
struct split_insn {
    struct code_bytes code;
    const struct stack_effect *effects;
    size_t count;
    uint32_t rounded; /* as for frame_step() */
};
/* Runs INSN on FRAME and on the frame that SPLIT holds. */
void split_step(struct split *split, struct frame *frame, const struct arch *arch,
                const struct split_insn *insn);
/* Ends SPLIT: FRAME keeps what both frames agree on. */
void split_end(struct split *split, struct frame *frame);
/* True if the instruction CODE has the condition of SPLIT. */
bool split_has_condition(const struct split *split, const struct arch *arch,
                         struct code_bytes code);
