/*
 * Shows what was captured, by its type: as text, the way gdb prints values of C, and as JSON.
 * Texts in the target are hostile: they are escaped, and depth and size of an output are limited.
 */
#pragma once

#include "types/types.h"
#include "values/capture.h"
#include "values/words.h"

/* One item of a capture: its parts, and what was captured of each. */
struct item {
    const struct capture_value *values;
    const struct captured *captured;
    size_t count;
};
/* The item whose first value is *AT; moves *AT behind it. False: there is none. */
bool item_next(const struct capture *c, const struct captured *captured, size_t *at,
               struct item *ret);

struct printer {
    struct types *types;
    bool quads; /* long double has 128 bits: the trace is of AArch64 */
    /* The name of the function that begins at ADDRESS, or NULL. */
    const char *(*function_at)(void *ctx, uint64_t address);
    void *ctx;
};

/* "3", "4.5", "\"abc\"", "{id=3, name=\"o3\"}", "BLUE"; "?" for what is not known. */
void print_text(const struct printer *p, const struct item *item, struct words *ret);
/* The JSON value alone; "null" if it is not known. */
void print_json(const struct printer *p, const struct item *item, struct words *ret);
/* The same of an object in an item. */
struct inner {
    type_id type;
    uint64_t at;           /* in bytes */
    uint64_t bit_at, bits; /* of a bit field; else bits is 0 */
};
void print_inner(const struct printer *p, const struct item *item, const struct inner *inner,
                 bool json, struct words *ret);
/* Why all of it is not known: "optimized-out", "unreadable", "untyped", "gone"; NULL: something is.
 */
const char *print_missing(const struct printer *p, const struct item *item);
/* True if a part of it was left out: the end of a text, members of a large struct. */
bool print_is_cut(const struct printer *p, const struct item *item);
/* The name of its type in quotes, as JSON; "" if there is none. */
void print_type(struct types *types, const struct item *item, struct words *ret);
