/*
 * An ELF file that has only what the DWARF reader needs of another one, decompressed. It is written
 * piece by piece, so that making it takes no memory.
 */
#pragma once

#include "base/flat.h"
#include "elf/image.h"

/* True if some section that is needed is compressed. */
bool unpacked_is_needed(const struct image *image);
/* Writes the file. Sections that are damaged are filled up with zeros. */
void unpacked_write(const struct image *image, struct flat_writer *w);
/* The same into memory from malloc(). NULL: it fits no memory. */
uint8_t *unpacked_make(const struct image *image, size_t *ret_size);
