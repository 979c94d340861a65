/* The files that have a module's DWARF. Descriptors are the caller's to close. */
#pragma once

#include "elf/image.h"
#include "elf/module.h"

/* MODULE's own file, if it has DWARF; else NULL. It lives as long as MODULE. */
const struct image *debugfile_own_image(const struct module *module);
/* The separate file that has it: found as debug files for symbols are, by build ID or link, last
 * from debuginfod. −1: there is none. */
int debugfile_open_dwarf(const struct module *module);
/* The supplementary file NAME with the build ID that the debug file BESIDE refers to by
 * .gnu_debugaltlink. −1: there is none. */
int debugfile_open_alt(const struct module *module, const char *beside, const char *name,
                       const uint8_t *id, size_t id_size);
