/* The parser of SPECs, for parsers of texts that contain one. Private to src/values. */
#pragma once

#include "values/spec.h"

struct spec_parser {
    struct arena *arena; /* has what is parsed */
    const char *text, *p;
    unsigned nesting;
    struct err *err;
};
/* Sets the error WHY about the place AT. NULL. */
void *spec_fail(struct spec_parser *ps, const char *at, const char *why);
void spec_skip_blanks(struct spec_parser *ps);
/* A UNARY of values/spec.h. NULL: it is none. */
struct spec_node *spec_operand(struct spec_parser *ps);
