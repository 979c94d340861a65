/* Runs instructions on the two frames of a split: see the drawing in split.h. */
#include "plan/depth/split.h"

static void run(struct frame *frame, const struct arch *arch, const struct split_insn *insn) {
    for (size_t i = 0; i < insn->count; i++)
        frame_step(frame, arch, &insn->effects[i], insn->rounded);
}

/* True if INSN may change the stack pointer. */
static bool moves_stack(const struct arch *arch, const struct split_insn *insn) {
    for (size_t i = 0; i < insn->count; i++) {
        if (insn->effects[i].changed >> arch->sp_register & 1)
            return true;
    }
    return false;
}

static uint8_t condition_of(const struct arch *arch, struct code_bytes code) {
    return arch->condition ? arch->condition(code.at, code.size) : 0;
}

bool split_has_condition(const struct split *split, const struct arch *arch,
                         struct code_bytes code) {
    return split->condition && condition_of(arch, code) == split->condition;
}

/* Runs INSN on FRAME where its condition holds. */
static void run_held(struct frame *frame, const struct arch *arch, const struct split_insn *insn) {
    struct stack_effect effects[STACK_MAX_EFFECTS];
    struct split_insn held = *insn;
    held.count = arch->stack_if(insn->code.at, insn->code.size, effects);
    held.effects = effects;
    run(frame, arch, &held);
}

void split_step(struct split *split, struct frame *frame, const struct arch *arch,
                const struct split_insn *insn) {
    const uint8_t condition = condition_of(arch, insn->code);
    if (condition && !split->condition && moves_stack(arch, insn))
        *split = (struct split){condition, *frame};
    if (condition && condition == split->condition) {
        run_held(&split->held, arch, insn);
    } else if (condition && split->condition && condition == (split->condition ^ 1)) {
        run_held(frame, arch, insn);
    } else {
        run(frame, arch, insn);
        if (split->condition)
            run(&split->held, arch, insn);
    }
}

void split_end(struct split *split, struct frame *frame) {
    if (split->condition)
        frame_merge(frame, &split->held);
    split->condition = 0;
}
