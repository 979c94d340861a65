/* Objects of types that formats name. Private to src/values. */
#pragma once

#include "values/collect.h"
#include "values/evaluate.h"

/* Appends what the first fitting format records of the object at *A, as parts of an item. Makes
 * *A's type the struct that shows it. False: there is none. */
bool collect_formatted(struct collector *c, struct access *a);
/* Appends TERM as an item if it is "OBJECT.name", and the first format that fits OBJECT has a value
 * of this name. False: it is not. */
bool collect_format_value(struct collector *c, const struct evaluator *e,
                          const struct spec_term *term, char shown);
