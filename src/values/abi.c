/* Places by the calling convention: all arguments of a call, its result. */
#include "values/abi_state.h"

typedef void argument_place(struct abi_state *s, const struct abi_call *call, type_id type,
                            struct abi_place *ret);

/* Functions with variable arguments use Arm's base standard. */
static enum abi variant(enum abi abi, const struct abi_call *call) {
    return abi == ABI_ARM_HARD && call->varargs ? ABI_ARM_SOFT : abi;
}

static unsigned passed_results(enum abi abi, const struct abi_call *call) {
    if (abi == ABI_X86_64)
        return abi_x86_64_result_is_passed(call);
    if (abi == ABI_ARM_HARD || abi == ABI_ARM_SOFT)
        return abi_arm_result_is_passed(call, abi == ABI_ARM_HARD);
    return 0;
}

static argument_place *const argument_places[] = {[ABI_X86_64] = abi_x86_64_argument,
                                                  [ABI_AARCH64] = abi_aarch64_argument,
                                                  [ABI_ARM_HARD] = abi_arm_hard_argument,
                                                  [ABI_ARM_SOFT] = abi_arm_soft_argument,
                                                  [ABI_GO_X86_64] = abi_go_argument};

/* A result whose place in registers is not known may have taken the first of them. */
static bool is_unsure(const struct abi_call *call) {
    struct abi_place result = {0};
    if (!types_plain(call->types, call->result))
        return false;
    abi_x86_64_result(call, &result);
    return result.missing == VALUE_UNTYPED;
}

static void move_up(struct abi_place *place, unsigned bytes) {
    for (unsigned i = 0; i < place->count; i++)
        if (place->piece[i].from == FROM_STACK)
            place->piece[i].stack_offset += (int32_t)bytes;
}

static struct abi_state place_all(enum abi abi, const struct abi_call *call,
                                  struct abi_place *ret) {
    struct abi_state s = {.integers = passed_results(abi, call)};
    s.unsure = abi == ABI_X86_64 && is_unsure(call);
    for (size_t i = 0; i < call->count; i++) {
        ret[i] = (struct abi_place){0};
        if (!s.unsure)
            argument_places[abi](&s, call, call->arguments[i], &ret[i]);
        if (s.unsure)
            ret[i] = (struct abi_place){.missing = VALUE_UNTYPED};
        move_up(&ret[i], abi_stack_arguments(abi));
    }
    return s;
}

void abi_arguments(enum abi abi, const struct abi_call *call, struct abi_place *ret) {
    place_all(variant(abi, call), call, ret);
}

void abi_result(enum abi abi, const struct abi_call *call, struct abi_place *ret) {
    *ret = (struct abi_place){0};
    if (!call->result)
        return;
    switch (variant(abi, call)) {
    case ABI_X86_64:
        abi_x86_64_result(call, ret);
        break;
    case ABI_AARCH64:
        abi_aarch64_result(call, ret);
        break;
    case ABI_ARM_HARD:
        abi_arm_hard_result(call, ret);
        break;
    case ABI_ARM_SOFT:
        abi_arm_soft_result(call, ret);
        break;
    case ABI_GO_X86_64:
        abi_go_results(&(struct abi_call){call->types, &call->result, 1, 0, false, false}, ret);
        break;
    }
}
