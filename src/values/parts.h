/*
 * Parts of recorded values: the objects that expressions mean, and their values. Conditions compare
 * them, and reports group calls by them.
 */
#pragma once

#include "values/print.h"
#include "values/spec.h"

/*
 * Looks in C for what NODE means: an item of that name, or members and elements of one that was
 * recorded whole. What a pointer points to is there only as an item of its own. False: it was not
 * recorded.
 */
struct part_place {
    size_t first, count; /* the item's values in the capture */
    type_id type;
    uint64_t at;           /* in the item, in bytes */
    uint64_t bit_at, bits; /* of a bit field; else bits is 0 */
    bool whole;            /* it is the item */
};
bool part_find(struct types *types, const struct capture *c, const struct spec_node *node,
               struct part_place *ret);

/* As print_text() and print_json() of an item, of one of CAPTURED, C's values. */
struct part {
    const struct part_place *place;
    struct item item;
};
struct part part_of(const struct part_place *place, const struct capture *c,
                    const struct captured *captured);
void part_text(const struct printer *p, const struct part *part, struct words *ret);
void part_json(const struct printer *p, const struct part *part, struct words *ret);

enum plain_kind {
    PLAIN_NOTHING, /* not known, or no scalar */
    PLAIN_INTEGER, /* also truth values, characters, enums, pointers */
    PLAIN_REAL,
    PLAIN_TEXT /* of bytes */
};
struct plain_value {
    enum plain_kind kind;
    bool negative;      /* integers */
    uint64_t magnitude; /* integers; of a text, the pointer to it, or 0 */
    double real;
    const uint8_t *bytes; /* texts; borrowed from what was captured, or from `store` */
    size_t length;
    bool cut; /* the text is longer */
    uint8_t store[CAPTURE_MOST_BYTES];
};
/* How the value of a part is read, without its types. */
enum part_form { PART_OPAQUE, PART_INTEGER, PART_REAL, PART_STRING, PART_CHARACTERS };
struct part_reader {
    struct part_place place;
    enum part_form form;
    uint64_t size; /* in bytes */
    size_t text;   /* PART_STRING: the number of the text in the item */
    bool is_signed, is_pointer;
    const struct type *as_enum; /* lives as long as the graph stays as it is */
};
void part_reader_init(struct types *types, const struct capture *c, const struct part_place *place,
                      struct part_reader *ret);
/* RET may not be moved. */
void part_read(const struct part_reader *reader, const struct capture *c,
               const struct captured *captured, struct plain_value *ret);
/* The number that all of ITEM is, if its type is an integer or a float. False: it is none, or is
 * shown as something else: a truth value, a character, with a format. RET may not be moved. */
bool part_number(const struct printer *p, const struct item *item, struct plain_value *ret);
/* The value of the enumerator NAME, with or without its scope. */
bool part_enumerator(const struct type *type, const char *name, struct plain_value *ret);
