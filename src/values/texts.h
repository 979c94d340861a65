/* Types that are texts: which members hold the address and the length. Data, not code: each
 * language's and library's own. */
#pragma once

#include "types/types.h"

struct text_type {
    const char *name;    /* a pattern of fnmatch(3) */
    const char *address; /* members, with "." between them */
    const char *length;  /* the same; NULL: the text ends with a zero */
};
/* How a text of TYPE is found, or NULL; *ret_unit: bytes of a character. */
const struct text_type *text_type_of(struct types *types, type_id type, unsigned *ret_unit);
/* A member by its path: its place in TYPE. */
bool text_member(struct types *types, type_id type, const char *path, struct type_member *ret);
/* The bytes of a character, if POINTER points to text; else 0. */
unsigned text_unit(struct types *types, type_id pointer);
