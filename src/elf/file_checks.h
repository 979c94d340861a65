/* Whether a program calls a function of the C library, told by its symbols. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the program at PATH imports FUNCTION or, when it is linked statically and not stripped,
 * contains it. False when it cannot be read. */
bool elf_program_uses(const char *path, const char *function);

/* Whether a function of that name is needed by the program or library at PATH, or, if it is linked
 * statically and not stripped, contained in it. */
bool elf_imports(const char *path, const char *function);
/* Whether IS says so of code of the file at PATH. */
bool elf_has_code(const char *path, bool (*is)(const uint8_t *bytes, size_t size));
