/*
 * What is sure of Rust's own convention on x86-64, which no document fixes: for code that is not
 * optimised. (Test: Rust values of record -a as gdb has them.)
 *
 * Scalars, and pointers with a length or a table beside them, are passed and returned as in C.
 * (One that is wide may be split between the last register and the stack: then its place counts as
 * unknown.) A result that is longer than two words is written where the caller wants it; its
 * address comes first, and back in rax. For all other objects versions of rustc differ. An argument
 * behind one of those has no known place, and none has if the result is one.
 */
#include <string.h>

#include "values/abi_state.h"
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

bool abi_rust_knows_result(const struct abi_call *call) {
    return !call->result || is_scalar(call->types, call->result) ||
           is_wide_pointer(call->types, call->result) || is_in_memory(call->types, call->result);
}

size_t abi_rust_known_arguments(const struct abi_call *call) {
    unsigned integers = is_in_memory(call->types, call->result);
    size_t i = 0;
    if (!abi_rust_knows_result(call))
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
