/* The file that has a module's DWARF. */
#pragma once

#include "elf/module.h"

/* The bytes of MODULE's own file, if it has DWARF; NULL if not. They live as long as MODULE. */
const uint8_t *debugfile_own_bytes(const struct module *module, size_t *ret_size);
/* A descriptor of the separate file that has it: found as debug files for symbols are, by build ID
 * or link, last from debuginfod. −1: there is none. The caller closes it. */
int debugfile_open_dwarf(const struct module *module);
