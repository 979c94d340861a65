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

/* Expression I that occurs in it, as text, in the order of the text; NULL: there are no more.
 * *RET_MAY_BE_ENUMERATOR: it is a single name. */
const char *condition_operand(const struct condition *c, size_t i, bool *ret_may_be_enumerator);
bool condition_has_result(const struct condition *c);

enum truth { TRUTH_FALSE, TRUTH_TRUE, TRUTH_UNKNOWN };
/* FIND fills *ret with the value of NODE; false: it was not recorded. */
struct condition_source {
    bool (*find)(void *ctx, const struct spec_node *node, struct plain_value *ret);
    void *ctx;
};
enum truth condition_test(const struct condition *c, const struct condition_source *source);
