/*
 * Conditions on values: "o->price > 100 && o->kind == PEN". A comparison with an unknown value is
 * neither true nor false.
 *
 *   CONDITION = AND {"||" AND}
 *   AND       = NOT {"&&" NOT}
 *   NOT       = "!" NOT | "(" CONDITION ")" | VALUE [COMPARE VALUE]
 *   COMPARE   = "==" | "!=" | "<" | "<=" | ">" | ">="
 *   VALUE     = (UNARY | NUMBER | CHARACTER | STRING) ["&" NUMBER] | "(" VALUE ")"
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

size_t condition_operand_count(const struct condition *c);
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

/*
 * Where an event's record has the operands. An operand that it does not have, and that stands
 * beside a value of an enum, may be an enumerator.
 */
enum reader_place { READER_UNKNOWN, READER_RECORDED, READER_CONSTANT };
struct operand_reader {
    enum reader_place place;
    struct part_reader reader;
    struct plain_value constant;
};
/* For events that CAPTURE was made for, fills RET by the numbers of operands. */
void condition_bind(const struct condition *c, struct types *types, const struct capture *capture,
                    struct operand_reader *ret);
/* Fills those of VALUES that were recorded or are constants; the others stay. Results are read from
 * captures of returns only, all else from those of entries. VALUES may not be moved. */
void condition_read(const struct condition *c, const struct operand_reader *readers,
                    const struct capture *capture, const struct captured *captured,
                    struct plain_value *values);

/* The first operand to which none of the COUNT CAPTURES of a function can give a value. NULL if
 * calls of the function may still meet C. Lives as long as C. */
const char *condition_never_known(const struct condition *c, struct types *types,
                                  const struct capture *captures, size_t count);

/* Operand I is known nowhere. If it is a name beside a value of an enum in CAPTURE, *ERR says
 * "spec": which enumerators may have been meant. Else false. */
bool condition_misnames(const struct condition *c, size_t i, struct types *types,
                        const struct capture *capture, struct err *err);

/* For values that are kept longer than their captures: copies their texts. */
void condition_keep(const struct condition *c, struct plain_value *values);
void condition_forget(const struct condition *c, struct plain_value *values);

enum truth { TRUTH_FALSE, TRUTH_TRUE, TRUTH_UNKNOWN };
/* VALUES are by the numbers of operands. */
enum truth condition_test(const struct condition *c, const struct plain_value *values);
