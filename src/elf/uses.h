/* Whether a program calls a function of the C library, told by its symbols. */
#ifndef SPOOR_ELF_USES_H
#define SPOOR_ELF_USES_H

#include <stdbool.h>

/* Whether the program at PATH imports FUNCTION or, when it is linked statically and not stripped,
 * contains it. False when it cannot be read. */
bool elf_uses(const char *path, const char *function);

#endif
