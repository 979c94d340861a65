/* What holds for every loaded module, whatever its file: aborts where it does not. */
#ifndef SPOOR_FUZZ_ELF_INVARIANTS_H
#define SPOOR_FUZZ_ELF_INVARIANTS_H

#include "elf/module.h"

/* Reads every byte that the module hands out, so that a sanitizer sees those beyond the file. */
void elf_check_invariants(const struct module *module);

#endif
