/*
 * What a user asks for: "o->price,arg2/s". Expressions of C over a function's parameters and
 * "ret", its result; and what uftrace writes: argN, fpargN, retval, %REGISTER, with a format.
 *
 *   SPEC     = TERM {"," TERM}
 *   TERM     = UNARY ["/" FORMAT]
 *   UNARY    = ("*" | "&" | "(" TYPE ")") UNARY | POSTFIX
 *   POSTFIX  = PRIMARY {"." NAME | "->" NAME | "[" NUMBER "]"}
 *   PRIMARY  = NAME | "%" REGISTER | "(" UNARY ")"
 *   FORMAT   = "i" | "d" | "u" | "x" | "o" | "c" | "f" | "p", then 8, 16, 32, 64 or 80 bits;
 *              "s", a string; bits alone are those of "i", or of "f" behind fpargN
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "base/types.h"

enum spec_op {
    SPEC_NAME,     /* a parameter, or a member of *this */
    SPEC_RESULT,   /* ret, retval */
    SPEC_INTEGER,  /* argN: `number`, from 1 */
    SPEC_FLOAT,    /* fpargN */
    SPEC_REGISTER, /* %name */
    SPEC_MEMBER,   /* of.name */
    SPEC_ARROW,    /* of->name */
    SPEC_INDEX,    /* of[number] */
    SPEC_DEREF,    /* *of */
    SPEC_ADDRESS,  /* &of */
    SPEC_CAST      /* (name)of */
};
struct spec_node {
    enum spec_op op;
    const struct spec_node *of;
    const char *name;
    int64_t number;
    size_t at; /* in the SPEC: where the name, or the operator, is */
};
struct spec_format {
    char letter;  /* 0: none */
    uint8_t bits; /* 0: by itself */
};
struct spec_term {
    const struct spec_node *root;
    const char *text; /* without its format */
    struct spec_format format;
    size_t at;
};
struct spec {
    const char *text;
    ARRAY(struct spec_term) terms;
    struct arena *arena;
};
/* Errors: "spec"; the text has a caret before the place. */
int spec_parse(const char *text, struct spec *ret, struct err *err);
void spec_done(struct spec *s);
/* Sets an error about the place AT of TEXT: "o->^prize: WHY". */
int spec_error(struct err *err, const char *text, size_t at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* True if a result occurs in it. */
bool spec_has_result(const struct spec_node *node);

/* PATTERN@SPEC: cuts TEXT, to be freed, at the last "@". A PATTERN in braces loses them.
 * *ret_spec is NULL without a SPEC; it points into *ret_pattern's memory. */
int spec_split(const char *text, char **ret_pattern, const char **ret_spec, struct err *err);
