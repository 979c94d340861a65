/*
 * Formats: which values are recorded of objects of a type instead of their members. They are data,
 * in the file formats.txt and in files of the user.
 *
 *     std::vector<*>                                     a pattern of a type's name
 *         size = _M_impl._M_finish - _M_impl._M_start    a name, and an expression over the members
 *         first = *_M_impl._M_start if size              known only if `size`, before it, is not 0
 *
 *   LINE = PATTERN | BLANK NAME "=" UNARY ["-" UNARY] ["if" NAME] | "#" anything
 *
 * UNARY is that of values/spec.h. The difference of two pointers counts elements, as in C.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "types/types.h"
#include "values/spec.h"

struct format_value {
    const char *name;
    const char *text;                     /* of the expression; errors are about places in it */
    const struct spec_node *root, *minus; /* minus is NULL: nothing is subtracted */
    size_t only_if;                       /* the number of an earlier value, from 1; 0: none */
};
struct format {
    const char *pattern, *file; /* file is NULL: built in */
    unsigned line;
    ARRAY(struct format_value) values;
    bool reported; /* that it does not fit a type */
};
/* An object with a format inside another one. */
struct held {
    const struct format *format;
    type_id shown, type;
    uint64_t at, image_at; /* in the other one; in the item's image, behind all of that */
    bool direct;           /* it is no part of a member */
};
enum { FORMATS_MOST_HELD = 4 };
struct holder {
    type_id shown; /* a struct like the type, with the values of what it holds */
    size_t count;
    struct held held[FORMATS_MOST_HELD];
};
/* What is known of a type: FORMAT is NULL if none fits it. */
struct format_use {
    bool tried;
    const struct format *format;
    type_id shown;               /* a struct with the values as its members */
    const struct holder *holder; /* NULL: not looked for yet */
};
struct formats {
    ARRAY(struct format) list;     /* the first one that fits a type counts */
    ARRAY(struct format_use) uses; /* by number of the type; of one graph */
    ARRAY(char *) misfits; /* why a format of the user does not fit a type that it names; owned */
    struct arena *arena;
};

/* Without any format. */
struct formats *formats_new(void);
void formats_free(struct formats *f); /* may be NULL */
/* Adds those of TEXT, which is FILE's. Errors: "formats", with file, line and a caret. */
int formats_add(struct formats *f, const char *file, const char *text, struct err *err);
void formats_add_built_in(struct formats *f);
