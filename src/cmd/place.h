/* How places in code (elf/lineinfo.h) are printed. */
#pragma once

#include <stdio.h>

#include "elf/lineinfo.h"

/* Frame I of PLACE, "function+0x1c at file:line"; what is not known is left out, the function's
 * name is "??" then. An inlined function has no offset. */
void place_print_frame(FILE *out, const struct line_place *place, size_t i);
/* The frames as a JSON array of objects. */
void place_print_json(FILE *out, const struct line_place *place);
