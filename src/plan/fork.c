#include "plan/fork.h"

struct effects {
    struct stack_effect at[STACK_MAX_EFFECTS];
    size_t count;
};

static void run(struct frame *frame, const struct arch *arch, const struct effects *effects,
                uint32_t rounded) {
    for (size_t i = 0; i < effects->count; i++)
        frame_step(frame, arch, &effects->at[i], rounded);
}

/* May they change the stack pointer? */
static bool move_stack(const struct arch *arch, const struct effects *effects) {
    for (size_t i = 0; i < effects->count; i++) {
        if (effects->at[i].changed >> arch->sp_register & 1)
            return true;
    }
    return false;
}

static uint8_t condition_of(const struct arch *arch, struct code_bytes code) {
    return arch->condition ? arch->condition(code.at, code.size) : 0;
}

bool fork_is_told_by(const struct fork *fork, const struct arch *arch, struct code_bytes code) {
    return fork->condition && condition_of(arch, code) == fork->condition;
}

void fork_step(struct fork *fork, struct frame *frame, const struct arch *arch,
               struct code_bytes code, uint32_t rounded) {
    struct effects all, held;
    const uint8_t condition = condition_of(arch, code);
    all.count = arch->stack(code.at, code.size, all.at);
    if (condition && !fork->condition && move_stack(arch, &all))
        *fork = (struct fork){condition, *frame};
    if (condition && fork->condition) {
        held.count = arch->stack_if(code.at, code.size, held.at);
        if (condition == fork->condition) {
            run(&fork->held, arch, &held, rounded);
            return;
        }
        if (condition == (fork->condition ^ 1)) {
            run(frame, arch, &held, rounded);
            return;
        }
    }
    run(frame, arch, &all, rounded);
    if (fork->condition)
        run(&fork->held, arch, &all, rounded);
}

void fork_end(struct fork *fork, struct frame *frame) {
    if (fork->condition)
        frame_merge(frame, &fork->held);
    fork->condition = 0;
}
