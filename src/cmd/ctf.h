/* The form of `spoor ctf dump --json`. Private to spoor ctf. */
#pragma once

#include "types/type_file.h"

/* Prints an object of an array, the FIRST one with what begins the array. */
void ctf_print_json(struct types *graph, type_id id, bool first);
void ctf_print_json_symbol(struct types *graph, const struct type_symbol *symbol, bool first);
/* Ends the array; NONE: it has no objects, and was not begun. */
void ctf_print_json_end(bool none);
