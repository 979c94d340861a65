/*
 * Compresses the payload of a block. Columns differ in their statistics, so each kind has its way:
 *
 *   dictionary, code, extra, metadata   repeat themselves: matches of 7 bytes and more
 *   times                               short numbers without order: Huffman's code alone; where
 *                                       they repeat themselves, matches, too
 *
 * doc/trace-format.md says what each takes.
 */
#pragma once

#include "trace/block.h"

struct packer; /* used by one thread at a time */

struct packer *packer_new(void);
void packer_free(struct packer *p);

/* Room that packer_pack() needs for a payload of RAW bytes. */
size_t packer_room(size_t raw);
/* Writes BLOCK's payload as zstd frames to OUT, which has packer_room() bytes, and returns their
 * length. 0: it does not get smaller. */
size_t packer_pack(struct packer *p, const struct block *block, uint8_t *out);
/* Whether packer_pack() allocates nothing for BLOCK: it has packed one of this kind and size. */
bool packer_is_ready(const struct packer *p, const struct block *block);
