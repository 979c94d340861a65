/* What holds for every loaded module, whatever its file: aborts where it does not. */
#pragma once

#include "elf/module.h"

/* Reads every byte that the module hands out, so that a sanitizer sees those beyond the file. */
void elf_check_invariants(const struct module *module);
