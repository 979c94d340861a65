/* Decompresses parts of ELF files. Memory use is limited, whatever sizes the file claims. */
#pragma once

#include "elf/image.h"

/* Unpacks an .xz stream. The caller frees the result. NULL: malformed or too large. */
uint8_t *unpack_xz(const uint8_t *packed, size_t packed_size, size_t *ret_size);

/* The bytes of section INDEX, decompressed if it has SHF_COMPRESSED (zlib, zstd); then the caller
 * frees *RET_OWN. NULL: no bytes, or malformed. */
const uint8_t *unpack_section(const struct image *image, uint32_t index, size_t *ret_size,
                              uint8_t **ret_own);
