/* The form of `spoor ctf dump --json`. Private to spoor ctf. */
#pragma once

#include "types/type_file.h"

/* Prints TYPES, COUNT of F's, as a JSON array of objects; with_symbols: functions and variables,
 * too. */
void ctf_print_json(const struct type_file *f, const type_id *types, size_t count,
                    bool with_symbols);
