/* Texts of A32 instructions, with letters after '%' for what a word holds: for a32_format.c. */
#ifndef SPOOR_ARCH_ARM_A32_TEXTS_H
#define SPOOR_ARCH_ARM_A32_TEXTS_H

#include "arch/arm/a32.h"

/* NULL: none is known. */
const char *a32_text_of(uint32_t word);

#endif
