/* Finds PLT stubs, the linker's code for imports, and functions by their names. */
#pragma once

#include "plan/code/addresses.h"
#include "plan/code/states.h"

/* Calls SEE for each stub for an import. NAME is the import's; NULL: not known. */
void plt_stubs_of_imports(const struct states *states,
                          void (*see)(void *ctx, vaddr_t stub, const char *name), void *ctx);
/* Adds to RET functions whose name IS_WANTED accepts (it gets NULL for unknown names), and stubs
 * for such functions. Then sorts RET. */
void functions_by_name(const struct states *states, bool (*is_wanted)(const char *),
                       address_list *ret);
