#include "plan/depth/split.h"

static void run(struct frame *frame, const struct arch *arch, const struct fork_insn *insn) {
    for (size_t i = 0; i < insn->count; i++)
        frame_step(frame, arch, &insn->effects[i], insn->rounded);
}

/* May it change the stack pointer? */
static bool moves_stack(const struct arch *arch, const struct fork_insn *insn) {
    for (size_t i = 0; i < insn->count; i++) {
        if (insn->effects[i].changed >> arch->sp_register & 1)
            return true;
    }
    return false;
}

static uint8_t condition_of(const struct arch *arch, struct code_bytes code) {
    return arch->condition ? arch->condition(code.at, code.size) : 0;
}

bool fork_is_decided_by(const struct fork *fork, const struct arch *arch, struct code_bytes code) {
    return fork->condition && condition_of(arch, code) == fork->condition;
}

/* The same where its condition holds. */
static void run_held(struct frame *frame, const struct arch *arch, const struct fork_insn *insn) {
    struct stack_effect effects[STACK_MAX_EFFECTS];
    struct fork_insn held = *insn;
    held.count = arch->stack_if(insn->code.at, insn->code.size, effects);
    held.effects = effects;
    run(frame, arch, &held);
}

void fork_step(struct fork *fork, struct frame *frame, const struct arch *arch,
               const struct fork_insn *insn) {
    const uint8_t condition = condition_of(arch, insn->code);
    if (condition && !fork->condition && moves_stack(arch, insn))
        *fork = (struct fork){condition, *frame};
    if (condition && condition == fork->condition) {
        run_held(&fork->held, arch, insn);
    } else if (condition && fork->condition && condition == (fork->condition ^ 1)) {
        run_held(frame, arch, insn);
    } else {
        run(frame, arch, insn);
        if (fork->condition)
            run(&fork->held, arch, insn);
    }
}

void fork_end(struct fork *fork, struct frame *frame) {
    if (fork->condition)
        frame_merge(frame, &fork->held);
    fork->condition = 0;
}
