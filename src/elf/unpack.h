/* Compressed parts of ELF files. Memory grows with what was really unpacked, up to a limit. */
#pragma once

#include "elf/image.h"

/* Unpacks an .xz stream; the result is the caller's to free, NULL when it is bad or too large. */
uint8_t *unpack_xz(const uint8_t *packed, size_t packed_size, size_t *ret_size);

/*
 * The bytes of section INDEX, decompressed where SHF_COMPRESSED says so (zlib, zstd): then *ret_own
 * is what to free. NULL when they cannot be had.
 */
const uint8_t *unpack_section(const struct image *image, uint32_t index, size_t *ret_size,
                              uint8_t **ret_own);
