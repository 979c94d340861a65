/* Reads arch.stack() for the effect of one instruction on the stack pointer. */
#include "plan/code/stack.h"

bool stack_is_kept(const struct arch *arch, const uint8_t *bytes, size_t size) {
    struct stack_effect effects[STACK_MAX_EFFECTS];
    size_t count = arch->stack(bytes, size, effects);
    for (size_t i = 0; i < count; i++) {
        const struct stack_effect *e = &effects[i];
        bool other = e->op == STACK_SET || e->op == STACK_ALIGN || e->op == STACK_LOAD;
        if (e->changed >> arch->sp_register & 1 || (other && e->reg == arch->sp_register) ||
            !(other || e->op == STACK_NONE || e->op == STACK_STORE))
            return false;
    }
    return true;
}
