/* Types and registers by the names that users type. Private to src/values. */
#pragma once

#include "types/types.h"
#include "values/abi.h"

/* "unsigned long", "struct item *", "const char*", "item_t": a type that C knows, or one of the
 * graph that was read. 0: there is none. WORD: bytes of a pointer, and of a long. */
type_id name_type(struct types *types, const char *text, unsigned word);
/* An integer of BYTES, a float of BYTES (10: x87's), char, a pointer to OF. */
type_id name_integer(struct types *types, unsigned bytes, bool is_signed);
type_id name_float(struct types *types, unsigned bytes);
type_id name_char(struct types *types);
type_id name_pointer(struct types *types, type_id of, unsigned word);

/* "rdi", "edi", "x0", "xmm1", "r3", "d2": its place. False: ABI has none of that name. */
bool name_register(enum abi abi, const char *name, struct abi_piece *ret);
/* The place of the NUMBER-th (from 1) integer or float argument, by the convention of C. */
struct abi_piece name_argument(enum abi abi, unsigned number, bool is_float);
