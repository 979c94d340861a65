/* Paths to objects: from an argument's place through members and pointers. Private to compile.c
 * and its neighbours. */
#pragma once

#include "values/abi.h"

enum access_kind {
    ACCESS_MISSING,
    ACCESS_PIECES, /* `size` bytes from byte `at` of `place` */
    ACCESS_MEMORY  /* at base's address + offset */
};
struct access {
    enum access_kind kind;
    type_id type;
    enum capture_missing missing;
    struct abi_place place;
    uint64_t at;
    struct capture_value base;
    int64_t offset;
    uint64_t bit_at, bits; /* of a bit field: bit_at bits behind the address; bits 0: none */
    bool pointee, address; /* a reference was followed; the address of the object is meant */
};
struct access_context {
    struct types *types;
    unsigned word; /* bytes of a pointer */
};

/* An object at PLACE. */
struct access access_begin(const struct access_context *c, const struct abi_place *place,
                           type_id type);
/* What the pointer or reference A refers to. False: the path is too long, or A has no place. */
bool access_follow(const struct access_context *c, struct access *a, type_id to);
/* The part of TYPE that is AT bytes inside A. */
void access_enter(struct access *a, int64_t at, type_id type);
/* SIZE bytes of A from byte AT on, which are the image's bytes from IMAGE_AT on: the values that
 * record them are appended to RET[*count], of MOST. False: they are not to be had. */
struct access_slice {
    uint64_t at, size;
    uint32_t image_at;
};
struct access_values {
    struct capture_value *at;
    size_t count, most;
};
bool access_values(const struct access_context *c, const struct access *a,
                   const struct access_slice *slice, struct access_values *ret);
/* The program that ends at the address of A: for texts and "&". False: A has no address. */
bool access_address(const struct access *a, struct capture_value *ret);
