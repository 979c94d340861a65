/*
 * Groups of calls by the value of an expression over their recorded arguments or their result
 * (report --group). The first VALUE_GROUPS_MOST values that occur have numbers of their own; later
 * ones are one group, VALUE_GROUP_OTHERS.
 */
#pragma once

#include "analyze/walk.h"

enum { VALUE_GROUPS_MOST = 1000 };
/* In place of the number of a value. NONE: of functions of which it was not recorded. */
enum { VALUE_GROUP_OTHERS = VALUE_GROUPS_MOST, VALUE_GROUP_NONE = UINT32_MAX };

struct value_groups;
/* Reads all calls that SOURCE shows, with or without their time. TEXT is EXPR, or PATTERN/EXPR/ for
 * the functions that PATTERN matches. Errors: EINVAL "spec", "bad-pattern"; ENOENT "no-match",
 * "no-values". */
int value_groups_new(const char *text, const struct source *source, struct value_groups **ret,
                     struct err *err);
void value_groups_free(struct value_groups *g); /* may be NULL */
/* The number of the value of a call that the same source shows. */
uint32_t value_groups_of(const struct value_groups *g, const struct walk_call *call);

const char *value_groups_expression(const struct value_groups *g);
/* As replay shows the value: "PEN"; "?" if it is not known. */
const char *value_groups_text(const struct value_groups *g, uint32_t number);
/* The same as JSON: "\"PEN\"", "null". NULL for VALUE_GROUP_OTHERS. */
const char *value_groups_json(const struct value_groups *g, uint32_t number);
