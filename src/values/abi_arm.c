/*
 * AAPCS32. The base standard has four general registers; an object of doubled words begins at an
 * even one, and may go on on the stack. The VFP variant (not of functions with variable arguments)
 * has sixteen single registers besides, for floats, vectors and homogeneous composites. Objects
 * fill the gaps between those before them.
 */
#include "values/abi_state.h"

enum { INTEGERS = 4, SINGLES = 16 };

static void place_in_integers(struct abi_state *s, uint32_t bytes, uint32_t align,
                              struct abi_place *ret) {
    uint32_t at = 0;
    if (align > 4)
        s->integers = abi_round(s->integers, 2);
    bool fits = s->integers * 4 + bytes <= INTEGERS * 4;
    if (!fits && s->stack)
        s->integers = INTEGERS;
    for (; at < bytes && s->integers < INTEGERS; at += 4)
        abi_add_register(ret, s->integers++, at, bytes - at < 4 ? bytes - at : 4);
    if (at >= bytes)
        return;
    if (!at)
        s->stack = abi_round(s->stack, align > 4 ? 8 : 4);
    abi_add(ret, (struct abi_piece){.from = FROM_STACK,
                                    .stack_offset = (int32_t)s->stack,
                                    .at = at,
                                    .bytes = bytes - at});
    s->integers = INTEGERS;
    s->stack += abi_round(bytes - at, 4);
}

static bool is_known(const struct type *t, uint32_t align, uint32_t bytes) {
    return t && align && t->kind != TYPE_FORWARD && t->kind != TYPE_STRING &&
           !(t->kind == TYPE_ARRAY && (t->flags & TYPE_VECTOR) && bytes != 8 && bytes != 16);
}

void abi_arm_soft_argument(struct abi_state *s, const struct abi_call *call, type_id type,
                           struct abi_place *ret) {
    const struct type *t = shape_get(call->types, type);
    uint32_t align = shape_alignment(call->types, type);
    uint32_t bytes = (uint32_t)shape_bytes(call->types, type);
    if (!is_known(t, align, bytes)) {
        s->unsure = true;
    } else if (t->flags & TYPE_BY_REFERENCE) {
        ret->indirect = true;
        place_in_integers(s, 4, 4, ret);
    } else if (bytes) {
        place_in_integers(s, bytes, align, ret);
    }
}

/* Floats, vectors, and composites of 1 to 4 equal ones of them. */
static bool in_vectors(struct types *types, type_id id, struct shape_homogeneous *ret) {
    const struct type *t = shape_get(types, id);
    bool vector = t->kind == TYPE_ARRAY && (t->flags & TYPE_VECTOR);
    if (!shape_homogeneous(types, id, ret)) {
        if (t->kind != TYPE_FLOAT && !vector)
            return false;
        *ret = (struct shape_homogeneous){.count = 1, .bytes = (uint32_t)shape_bytes(types, id)};
    }
    return ret->bytes == 4 || ret->bytes == 8 || ret->bytes == 16;
}

static void add_singles(struct abi_place *ret, unsigned single,
                        const struct shape_homogeneous *parts) {
    for (uint32_t i = 0; i < parts->count; i++) {
        for (uint32_t at = 0; at < parts->bytes; at += 8) {
            uint32_t bytes = parts->bytes < 8 ? parts->bytes : 8;
            abi_add_vector(ret, single / 2, single % 2 * 4, i * parts->bytes + at, bytes);
            single += bytes / 4;
        }
    }
}

void abi_arm_hard_argument(struct abi_state *s, const struct abi_call *call, type_id type,
                           struct abi_place *ret) {
    const struct type *t = shape_get(call->types, type);
    uint32_t align = shape_alignment(call->types, type);
    uint32_t bytes = (uint32_t)shape_bytes(call->types, type);
    struct shape_homogeneous parts;
    if (!is_known(t, align, bytes) || (t->flags & TYPE_BY_REFERENCE) ||
        !in_vectors(call->types, type, &parts)) {
        abi_arm_soft_argument(s, call, type, ret);
        return;
    }
    unsigned each = parts.bytes / 4, wanted = parts.count * each;
    uint32_t mask = (UINT32_C(1) << wanted) - 1;
    for (unsigned first = 0; first + wanted <= SINGLES; first += each) {
        if (s->vector_singles & mask << first)
            continue;
        s->vector_singles |= mask << first;
        add_singles(ret, first, &parts);
        return;
    }
    s->vector_singles = (UINT32_C(1) << SINGLES) - 1;
    abi_add_stack(s, ret, 4, align > 4 ? 8 : 4, bytes);
}

/* ---- results ---- */

static bool in_memory(const struct type *t, uint32_t bytes) {
    if (t->flags & TYPE_BY_REFERENCE)
        return true;
    bool complex = t->kind == TYPE_FLOAT && (t->flags & TYPE_COMPLEX);
    return bytes > 4 && (shape_is_composite(t) || complex);
}

bool abi_arm_result_is_passed(const struct abi_call *call, bool hard) {
    const struct type *t = shape_get(call->types, call->result);
    struct shape_homogeneous parts;
    if (!t ||
        (hard && !(t->flags & TYPE_BY_REFERENCE) && in_vectors(call->types, call->result, &parts)))
        return false;
    return in_memory(t, (uint32_t)shape_bytes(call->types, call->result));
}

/* The address of a result in memory is not kept. */
void abi_arm_soft_result(const struct abi_call *call, struct abi_place *ret) {
    const struct type *t = shape_get(call->types, call->result);
    uint32_t bytes = (uint32_t)shape_bytes(call->types, call->result);
    if (!is_known(t, shape_alignment(call->types, call->result), bytes))
        ret->missing = VALUE_UNTYPED;
    else if (in_memory(t, bytes))
        ret->missing = VALUE_OPTIMIZED_OUT;
    else
        for (uint32_t at = 0; at < bytes; at += 4)
            abi_add_register(ret, at / 4, at, bytes - at < 4 ? bytes - at : 4);
}

void abi_arm_hard_result(const struct abi_call *call, struct abi_place *ret) {
    const struct type *t = shape_get(call->types, call->result);
    uint32_t bytes = (uint32_t)shape_bytes(call->types, call->result);
    struct shape_homogeneous parts;
    if (is_known(t, shape_alignment(call->types, call->result), bytes) &&
        !(t->flags & TYPE_BY_REFERENCE) && in_vectors(call->types, call->result, &parts))
        add_singles(ret, 0, &parts);
    else
        abi_arm_soft_result(call, ret);
}
