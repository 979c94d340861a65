/* Checks of a file by its path: which functions it uses, by symbols, and which code it holds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the dynamic symbols of the program at PATH have FUNCTION, imported or defined. In a
 * static program: whether its symbol table has it. False if the file cannot be read. */
bool elf_program_uses(const char *path, const char *function);

/* Whether the program or library at PATH imports FUNCTION or, if it has no dynamic symbols, its
 * symbol table has it. */
bool elf_imports(const char *path, const char *function);
/* Whether IS is true for an executable segment of the file at PATH. */
bool elf_has_code(const char *path, bool (*is)(const uint8_t *bytes, size_t size));
