/* AAPCS64: 8 general and 8 vector registers for arguments, the same for results. */
#include "values/abi_state.h"

enum { INTEGERS = 8, VECTORS = 8, MOST_IN_REGISTERS = 16 };

/* Floats, short vectors, and composites of 1 to 4 equal ones of them: a register for each. */
static bool in_vectors(struct types *types, type_id id, struct shape_homogeneous *ret) {
    const struct type *t = shape_get(types, id);
    if (shape_homogeneous(types, id, ret))
        return true;
    bool vector = t->kind == TYPE_ARRAY && (t->flags & TYPE_VECTOR);
    uint32_t bytes = (uint32_t)shape_bytes(types, id);
    if ((t->kind != TYPE_FLOAT && !vector) || bytes > 16)
        return false;
    *ret = (struct shape_homogeneous){.count = 1, .bytes = bytes};
    return true;
}

static void add_vectors(struct abi_place *ret, unsigned first,
                        const struct shape_homogeneous *parts) {
    for (unsigned i = 0; i < parts->count; i++)
        for (uint32_t at = 0; at < parts->bytes; at += 8)
            abi_add_vector(ret, first + i, at, i * parts->bytes + at,
                           parts->bytes - at < 8 ? parts->bytes - at : 8);
}

static void add_integers(struct abi_place *ret, unsigned first, uint32_t bytes) {
    for (uint32_t at = 0; at < bytes; at += 8)
        abi_add_register(ret, first++, at, bytes - at < 8 ? bytes - at : 8);
}

static uint32_t stack_alignment(uint32_t align) { return align > 8 ? 16 : 8; }

static void place_in_vectors(struct abi_state *s, uint32_t bytes, uint32_t align,
                             const struct shape_homogeneous *parts, struct abi_place *ret) {
    if (s->vectors + parts->count <= VECTORS) {
        add_vectors(ret, s->vectors, parts);
        s->vectors += parts->count;
        return;
    }
    s->vectors = VECTORS;
    abi_add_stack(s, ret, 8, stack_alignment(align), bytes);
}

static void place_in_integers(struct abi_state *s, uint32_t bytes, uint32_t align,
                              struct abi_place *ret) {
    unsigned words = (bytes + 7) / 8;
    if (align > 8)
        s->integers = abi_round(s->integers, 2);
    if (s->integers + words <= INTEGERS) {
        add_integers(ret, s->integers, bytes);
        s->integers += words;
        return;
    }
    s->integers = INTEGERS;
    abi_add_stack(s, ret, 8, stack_alignment(align), bytes);
}

static bool is_known(const struct type *t, uint32_t align, uint32_t bytes) {
    return t && align && t->kind != TYPE_FORWARD && t->kind != TYPE_STRING &&
           !(t->kind == TYPE_ARRAY && (t->flags & TYPE_VECTOR) && bytes != 8 && bytes != 16);
}

void abi_aarch64_argument(struct abi_state *s, const struct abi_call *call, type_id type,
                          struct abi_place *ret) {
    const struct type *t = shape_get(call->types, type);
    uint32_t align = shape_alignment(call->types, type);
    uint32_t bytes = (uint32_t)shape_bytes(call->types, type);
    struct shape_homogeneous parts;
    bool known = is_known(t, align, bytes), by_reference = known && t->flags & TYPE_BY_REFERENCE;
    bool vectors = known && !by_reference && in_vectors(call->types, type, &parts);
    if (!known) {
        s->unsure = true;
    } else if (by_reference || (!vectors && bytes > MOST_IN_REGISTERS)) {
        ret->indirect = true;
        place_in_integers(s, 8, 8, ret);
    } else if (vectors) {
        place_in_vectors(s, bytes, align, &parts, ret);
    } else if (bytes) {
        place_in_integers(s, bytes, align, ret);
    }
}

/* A result in memory is at the address that x8 had at the call; nothing keeps that. */
void abi_aarch64_result(const struct abi_call *call, struct abi_place *ret) {
    const struct type *t = shape_get(call->types, call->result);
    uint32_t align = shape_alignment(call->types, call->result);
    uint32_t bytes = (uint32_t)shape_bytes(call->types, call->result);
    struct shape_homogeneous parts;
    bool known = is_known(t, align, bytes), by_reference = known && t->flags & TYPE_BY_REFERENCE;
    bool vectors = known && !by_reference && in_vectors(call->types, call->result, &parts);
    if (!known)
        ret->missing = VALUE_UNTYPED;
    else if (by_reference || (!vectors && bytes > MOST_IN_REGISTERS))
        ret->missing = VALUE_OPTIMIZED_OUT;
    else if (vectors)
        add_vectors(ret, 0, &parts);
    else
        add_integers(ret, 0, bytes);
}
