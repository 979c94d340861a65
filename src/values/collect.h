/* Collects the values that record an object, whatever its type. Private to src/values. */
#pragma once

#include "base/mem.h"
#include "values/access.h"

struct values_request;

struct collector {
    struct access_context context;
    enum abi abi;
    uint32_t strings, object_bytes; /* most of a text, of an object at once */
    /* Records the object at *A by its type's format (values/formatted.h). False: it has none. */
    bool (*format)(struct collector *c, struct access *a);
    const struct values_request *request; /* for `format` */
    uint32_t format_values;               /* how many more are recorded by formats */
    ARRAY(struct capture_value) values;
    ARRAY(char *) names;
};
/* Appends an item NAME with the object at FROM: scalars, texts, members of structs up to 64 bytes,
 * and what references refer to. */
void collect_object(struct collector *c, const char *name, const struct access *from, char format);
/* Appends an item NAME with the text that the pointer at A points to, of UNIT bytes a character. */
void collect_text(struct collector *c, const char *name, const struct access *a, unsigned unit);
/* Appends an item NAME without a value. */
void collect_missing(struct collector *c, const char *name, type_id type,
                     enum capture_missing missing);
/* Appends what records the object at FROM as a part of an item, in its image from byte AT on. */
void collect_inner(struct collector *c, const struct access *from, uint32_t at);
/* Appends what records the struct at FROM, but for the COUNT spans of HOLES, which are in order. */
struct collect_hole {
    uint64_t start, end; /* in bytes */
};
void collect_around(struct collector *c, const struct access *from,
                    const struct collect_hole *holes, size_t count);
/* Makes the values from FIRST on, which record A, the item NAME; without any, as
 * collect_missing(). */
void collect_item(struct collector *c, size_t first, const char *name, const struct access *a,
                  char format);
/* Moves all to RET. */
void collect_end(struct collector *c, struct capture *ret);
