/*
 * Go's ABIInternal on x86-64. A value has registers for all of its scalars, in their order, or it
 * is on the stack as a whole. Arrays of more than one element are always on the stack. Results are
 * placed like arguments, from the first registers on; those on the stack are behind the arguments,
 * of which debugging information leaves out some (named _).
 */
#include "values/abi_state.h"

/* rax rbx rcx rdi rsi r8 r9 r10 r11, and xmm0 to xmm14 */
static const uint8_t integer_registers[] = {0, 3, 2, 5, 4, 8, 9, 10, 11};
enum { INTEGERS = sizeof integer_registers, VECTORS = 15 };

struct assigned {
    struct abi_state *state;
    struct abi_place *place;
};

static bool assign(void *ctx, const struct leaf *leaf) {
    struct assigned *a = ctx;
    bool complex = leaf->type->kind == TYPE_FLOAT && (leaf->type->flags & TYPE_COMPLEX);
    uint32_t bytes = (uint32_t)(complex ? leaf->bytes / 2 : leaf->bytes), at = (uint32_t)leaf->at;
    if (leaf->bits || bytes > 8 || a->place->count == ABI_MOST_PIECES)
        return false;
    if (leaf->type->kind != TYPE_FLOAT) {
        if (a->state->integers == INTEGERS)
            return false;
        abi_add_register(a->place, integer_registers[a->state->integers++], at, bytes);
        return true;
    }
    for (unsigned i = 0; i < 1 + (unsigned)complex; i++) {
        if (a->state->vectors == VECTORS)
            return false;
        abi_add_vector(a->place, a->state->vectors++, 0, at + i * bytes, bytes);
    }
    return true;
}

/* True if an array of two or more elements is inside. */
static bool has_array(struct types *types, type_id id, unsigned depth) {
    const struct type *t = shape_get(types, id);
    if (!t || depth > 16)
        return true;
    if (t->kind == TYPE_ARRAY)
        return t->elements > 1 || has_array(types, t->of, depth + 1);
    const struct type_member *members = t->members;
    for (uint32_t i = 0; t->kind == TYPE_STRUCT && i < t->count; i++)
        if (has_array(types, members[i].type, depth + 1))
            return true;
    return false;
}

void abi_go_argument(struct abi_state *s, const struct abi_call *call, type_id type,
                     struct abi_place *ret) {
    const struct type *t = shape_get(call->types, type);
    uint32_t align = shape_alignment(call->types, type);
    uint32_t bytes = (uint32_t)shape_bytes(call->types, type);
    if (!t || !align || t->kind == TYPE_FORWARD || t->kind == TYPE_STRING) {
        s->unsure = true;
        return;
    }
    if (!bytes)
        return;
    struct abi_state trial = *s;
    struct abi_place place = {0};
    struct assigned a = {&trial, &place};
    if (!has_array(call->types, type, 0) && shape_leaves(call->types, type, assign, &a)) {
        *s = trial;
        *ret = place;
        return;
    }
    abi_add_stack(s, ret, 1, align, bytes);
}

void abi_go_results(const struct abi_call *call, struct abi_place *ret) {
    struct abi_state s = {0};
    for (size_t i = 0; i < call->count; i++) {
        uint32_t before = s.stack;
        ret[i] = (struct abi_place){0};
        if (!s.unsure)
            abi_go_argument(&s, call, call->arguments[i], &ret[i]);
        if (s.unsure || s.stack != before)
            ret[i] = (struct abi_place){.missing = VALUE_UNTYPED};
    }
}
