/* The names by which people may ask for a function: of each symbol its readable name, with and
 * without return type, parameters and template arguments. */
#pragma once

#include "base/filter.h"

/* Adds all names of the function whose symbol is SYMBOL. */
void symbol_names_add(struct function_names *names, const char *symbol);
/* The qualified name alone, "space::Class::function", for suggestions. To be freed. */
char *symbol_bare_name(const char *symbol);
