/* Objects of types that formats name. Private to src/values. */
#pragma once

#include "values/collect.h"

/* Appends what the first format that fits records of the object at *A, as parts of an item, and
 * makes *A's type the struct that shows it. False: there is none. */
bool collect_formatted(struct collector *c, struct access *a);
