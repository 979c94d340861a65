/* The linker's stubs for imports, and functions by their names. */
#pragma once

#include "plan/code/addresses.h"
#include "plan/code/states.h"

/* Shows each stub for an import to SEE, with the import's name (NULL: not known). */
void stubs_of_imports(const struct states *states,
                      void (*see)(void *ctx, vaddr_t stub, const char *name), void *ctx);
/* Adds to RET, which is sorted then, functions whose names IS_WANTED takes (NULL: not known), and
 * stubs for such. */
void functions_by_name(const struct states *states, bool (*is_wanted)(const char *),
                       address_list *ret);
