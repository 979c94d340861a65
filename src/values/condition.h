/*
 * Conditions on values: "o->price > 100 && o->kind == PEN". What has no known value makes a
 * comparison neither true nor false.
 *
 *   CONDITION = AND {"||" AND}
 *   AND       = NOT {"&&" NOT}
 *   NOT       = "!" NOT | "(" CONDITION ")" | VALUE [COMPARE VALUE]
 *   COMPARE   = "==" | "!=" | "<" | "<=" | ">" | ">="
 *   VALUE     = (UNARY | NUMBER | CHARACTER | STRING) ["&" NUMBER]
 *
 * UNARY is that of values/spec.h; the name of an enumerator stands for its number beside a value of
 * its enum. A VALUE alone is compared with 0. Numbers are compared as in mathematics, whatever
 * their types, strings byte by byte.
 */
#pragma once

#include "values/parts.h"

struct condition;
/* Errors: "spec"; the text has a caret before the place. */
int condition_parse(const char *text, struct condition **ret, struct err *err);
void condition_free(struct condition *c); /* may be NULL */

/* Expression I that occurs in it, in the order of the text. False: there are no more. */
struct condition_operand {
    const char *text;
    const struct spec_node *node; /* a single name may be an enumerator */
};
bool condition_operand(const struct condition *c, size_t i, struct condition_operand *ret);
bool condition_has_result(const struct condition *c);
/* PATTERN/CONDITION/: cuts TEXT, to be freed, at its first "/" and its last one. A PATTERN in
 * braces loses them. *RET_CONDITION points into *ret_pattern's memory. */
int condition_split(const char *text, char **ret_pattern, const char **ret_condition,
                    struct err *err);

enum truth { TRUTH_FALSE, TRUTH_TRUE, TRUTH_UNKNOWN };
/* FIND fills *ret with the value of NODE; false: it was not recorded. */
struct condition_source {
    bool (*find)(void *ctx, const struct spec_node *node, struct plain_value *ret);
    void *ctx;
};
enum truth condition_test(const struct condition *c, const struct condition_source *source);
