/*
 * What is sure of Rust's own convention on x86-64, which no document fixes: for code that is not
 * optimised. (Test: Rust values of record -a as gdb has them.)
 *
 * Arguments: scalars, and pointers with a length or a table beside them, are passed as in C. (One
 * that is wide may be split between the last register and the stack: then its place counts as
 * unknown.) An argument behind another object has no place that is known so, and none has if the
 * result's place is not known.
 * Results: see rust_layout.c. One that is longer than two words is written where the caller wants
 * it; its address comes first, and back in rax.
 */
#include <string.h>

#include "values/abi_state.h"
#include "values/rust_layout.h"
#include "values/shape.h"

enum { MOST_INTEGERS = 6 };

static bool is_scalar(struct types *types, type_id type) {
    const struct type *t = shape_get(types, type);
    if (!t || !t->bytes || t->bytes > 8)
        return false;
    return t->kind == TYPE_INTEGER || t->kind == TYPE_FLOAT || t->kind == TYPE_ENUM ||
           t->kind == TYPE_POINTER;
}

/* &str, &[T], &dyn T */
static bool is_wide_pointer(struct types *types, type_id type) {
    const struct type *t = shape_get(types, type);
    return t && t->kind == TYPE_STRUCT && t->bytes == 16 && t->count == 2 &&
           (t->name[0] == '&' || strncmp(t->name, "*const ", 7) == 0 ||
            strncmp(t->name, "*mut ", 5) == 0) &&
           is_scalar(types, t->members[0].type) && is_scalar(types, t->members[1].type);
}

static bool is_in_memory(struct types *types, type_id type) {
    const struct type *t = shape_get(types, type);
    return t && t->kind == TYPE_STRUCT && t->bytes > 16;
}

/* ---- results ---- */

static bool see_float(void *ctx, const struct leaf *leaf) {
    (void)ctx;
    return leaf->type->kind != TYPE_FLOAT;
}

static void add_scalar(struct abi_state *s, struct rust_scalar part, struct abi_place *ret) {
    static const uint8_t integers[] = {0, 1}; /* rax, rdx */
    if (part.is_float) {
        abi_add_vector(ret, s->vectors++, 0, (uint32_t)part.at, (uint32_t)part.bytes);
        return;
    }
    for (uint64_t at = 0; at < part.bytes && s->integers < 2; at += 8)
        abi_add_register(ret, integers[s->integers++], (uint32_t)(part.at + at),
                         (uint32_t)(part.bytes - at < 8 ? part.bytes - at : 8));
}

/* Of a pair each number has its register. A small object that is none is in rax as it is in memory;
 * with floats in it, versions may differ, and so they do for one of two words. */
static bool place_result(const struct abi_call *call, struct abi_place *ret) {
    const struct rust_layout layout = rust_layout(call->types, call->result);
    struct abi_state s = {0};
    uint64_t words = 0;
    switch (layout.kind) {
    case RUST_UNKNOWN:
        break;
    case RUST_EMPTY:
        return true;
    case RUST_PAIR:
    case RUST_SCALAR:
        for (unsigned i = 0; i <= (layout.kind == RUST_PAIR); i++) {
            words += layout.part[i].is_float ? 0 : (layout.part[i].bytes + 7) / 8;
            add_scalar(&s, layout.part[i], ret);
        }
        return words <= 2;
    case RUST_MEMORY:
        ret->indirect = layout.bytes > 16;
        abi_add_register(ret, 0, 0, layout.bytes > 8 ? 8 : (uint32_t)layout.bytes);
        return layout.bytes > 16 ||
               (layout.bytes <= 8 && shape_leaves(call->types, call->result, see_float, NULL));
    }
    if (!is_in_memory(call->types, call->result))
        return false;
    ret->indirect = true;
    abi_add_register(ret, 0, 0, 8);
    return true;
}

bool abi_rust_result(const struct abi_call *call, struct abi_place *ret) {
    *ret = (struct abi_place){0};
    if (!call->result || place_result(call, ret))
        return true;
    *ret = (struct abi_place){.missing = VALUE_UNTYPED};
    return false;
}

size_t abi_rust_known_arguments(const struct abi_call *call) {
    unsigned integers = is_in_memory(call->types, call->result);
    struct abi_place result;
    size_t i = 0;
    if (!abi_rust_result(call, &result))
        return 0;
    for (; i < call->count; i++) {
        const struct type *t = shape_get(call->types, call->arguments[i]);
        if (is_wide_pointer(call->types, call->arguments[i]) && integers + 2 <= MOST_INTEGERS)
            integers += 2;
        else if (!is_scalar(call->types, call->arguments[i]))
            break;
        else
            integers += t->kind != TYPE_FLOAT;
    }
    return i;
}
