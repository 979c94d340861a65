/*
 * A cryptographic hash: BLAKE2b with 32 bytes of result and no key (RFC 7693). Two inputs that
 * somebody has made on purpose have different digests, unlike with checksum().
 */
#pragma once

#include <stddef.h>

#include "base/types.h"

enum { DIGEST_BYTES = 32, DIGEST_BLOCK = 128 };

struct digest {
    uint64_t state[8];
    uint64_t count; /* bytes that are in `state` */
    uint8_t block[DIGEST_BLOCK];
    size_t filled; /* bytes of `block` */
};

void digest_init(struct digest *d);
void digest_add(struct digest *d, const void *bytes, size_t count);
/* D must not be used afterwards. */
void digest_finish(struct digest *d, uint8_t ret[static DIGEST_BYTES]);
