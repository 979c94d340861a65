/* Prints places in code (elf/lineinfo.h). */
#pragma once

#include <stdio.h>

#include "cmd/term.h"
#include "elf/lineinfo.h"

/* Prints frame I of PLACE to standard output: "function+0x1c at file:line", the function named as
 * TERM asks for. Leaves out unknown parts; an unknown function is "??". An inlined function has no
 * offset. */
void place_print_frame(const struct term *term, const struct line_place *place, size_t i);
/* Prints the frames as a JSON array of objects. */
void place_print_json(FILE *out, const struct line_place *place);
