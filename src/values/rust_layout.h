/* How rustc sees an object that it passes or returns. Private to values/abi*.c. */
#pragma once

#include "types/types.h"

enum rust_kind {
    RUST_UNKNOWN,
    RUST_EMPTY,
    RUST_SCALAR, /* a number or a pointer, also within structs and enums that have nothing else */
    RUST_PAIR,   /* two of them */
    RUST_MEMORY  /* any other object */
};
struct rust_scalar {
    uint64_t at, bytes;
    bool is_float, is_pointer, is_signed;
};
struct rust_layout {
    enum rust_kind kind;
    uint64_t bytes;
    struct rust_scalar part[2];
};
struct rust_layout rust_layout(struct types *types, type_id type);
