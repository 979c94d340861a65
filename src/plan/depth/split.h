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

struct fork {
    uint8_t condition; /* as from arch.condition(); 0: there is one frame only */
    struct frame held; /* the frame where the condition holds; the caller keeps the other one */
};

/* An instruction that continues to the next one, and its effects from arch.stack(). */
struct fork_insn {
    struct code_bytes code;
    const struct stack_effect *effects;
    size_t count;
    uint32_t rounded; /* as for frame_step() */
};
/* Runs INSN on FRAME and on the frame that FORK holds. */
void fork_step(struct fork *fork, struct frame *frame, const struct arch *arch,
               const struct fork_insn *insn);
/* Ends FORK: FRAME keeps what both frames agree on. */
void fork_end(struct fork *fork, struct frame *frame);
/* True if the instruction CODE has the condition of FORK. */
bool fork_is_decided_by(const struct fork *fork, const struct arch *arch, struct code_bytes code);
