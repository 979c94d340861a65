/*
 * Instructions on a condition that move the stack pointer: mostly of an epilogue whose return has
 * the same condition.
 *
 *     cmp   r0, #0          24 │ depth
 *     addeq sp, sp, #8      24 │ 16 where the condition holds
 *     popeq {r4-r6, pc}     24 │  0
 *     ldr   r0, [sp, #4]    24 │ where it did not hold
 *
 * From the first of them on two frames are known, up to where flags are written, where ways meet,
 * or up to a branch on that condition, which tells them apart.
 *
 * Private to src/plan.
 */
#pragma once

#include "plan/depth/frame.h"

struct fork {
    uint8_t condition; /* as arch.condition() tells it; 0: there is one frame only */
    struct frame held; /* where that holds; beside it there is that where it does not */
};

/* An instruction that leads nowhere else, and what it does, as arch.stack() tells it. */
struct fork_insn {
    struct code_bytes code;
    const struct stack_effect *effects;
    size_t count;
    uint32_t rounded; /* as for frame_step() */
};
/* Runs INSN on FRAME and what was parted from it. */
void fork_step(struct fork *fork, struct frame *frame, const struct arch *arch,
               const struct fork_insn *insn);
/* FRAME keeps what is the same in both. */
void fork_end(struct fork *fork, struct frame *frame);
/* Does the instruction CODE do something where FORK's condition holds, and only there? */
bool fork_is_decided_by(const struct fork *fork, const struct arch *arch, struct code_bytes code);
