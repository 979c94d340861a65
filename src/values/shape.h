/* What calling conventions and printers ask about types. Typedefs and qualifiers are seen through.
 */
#pragma once

#include "types/types.h"

/* TYPE without typedefs and qualifiers; a forward declaration becomes its definition. */
type_id shape_id(struct types *types, type_id type);
const struct type *shape_get(struct types *types,
                             type_id type); /* NULL for void and unknown ones */

/* A scalar inside an object: an integer, a float, a pointer, an enum, or a whole vector. */
struct leaf {
    const struct type *type;
    type_id id;
    uint64_t at, bytes;    /* of a bit field: those of its declared type's bytes; at is unused */
    uint64_t bit_at, bits; /* of a bit field; else bits is 0 */
    /* The struct or union whose member it is, or an array of it, and where that is; else NULL. */
    const struct type *holder;
    uint64_t holder_at;
    uint64_t skipped; /* bytes of the elements before its own, in the arrays around it */
};
/* False: no more, please. */
typedef bool leaf_visit(void *ctx, const struct leaf *leaf);
/* Visits the scalars of an object of TYPE, members in their order. False: VISIT returned false, or
 * the type is incomplete, or has too many of them. */
bool shape_leaves(struct types *types, type_id type, leaf_visit *visit, void *ctx);

/* The alignment that the scalars inside ask for; 1 if there are none, 0 if it is not known. WORD:
 * bytes of a register. */
uint32_t shape_alignment(struct types *types, type_id type);
/* Structs, unions, arrays that are no vectors. */
bool shape_is_composite(const struct type *type);
/* A struct or an array that holds nothing. */
bool shape_is_empty(struct types *types, type_id type);
/* The bytes of an object; 0 if that is not known. */
uint64_t shape_bytes(struct types *types, type_id type);
/* Bytes of a character of that type: char, wchar_t and the like, through typedefs; 0: it is none.
 * Types that are made for numbers, as int8_t and unsigned char, are none. */
unsigned shape_character(struct types *types, type_id type);
/* Floats of 128 bits. Of 16 bytes, "long double" is x87's on x86. */
bool shape_is_quad(const struct type *type);
/* Composite types and complex numbers of 1 to 4 floats, or vectors, of one size. */
struct shape_homogeneous {
    uint8_t count;
    uint32_t bytes; /* of one */
};
bool shape_homogeneous(struct types *types, type_id type, struct shape_homogeneous *ret);
