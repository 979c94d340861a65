/* Decompresses sections of any size piece by piece. */
#pragma once

#include "elf/image.h"

/* The bytes of section INDEX when it is unpacked, as the file claims; *RET_PACKED: it is
 * compressed (SHF_COMPRESSED, or .zdebug_*). False: it has no bytes, or claims what no compression
 * does. */
bool unpack_size(const struct image *image, uint32_t index, uint64_t *ret, bool *ret_packed);
/* Gives PUT the section's bytes, at most as many as unpack_size() says. False: they are damaged;
 * PUT got those before. */
bool unpack_stream(const struct image *image, uint32_t index,
                   void (*put)(void *ctx, const void *bytes, size_t count), void *ctx);
