/* What was moved out of a program: its debug file, and sections that are compressed. */
#ifndef SPOOR_ELF_DEBUGFILE_H
#define SPOOR_ELF_DEBUGFILE_H

#include "elf/image.h"

/*
 * The section's bytes, decompressed where SHF_COMPRESSED says so: then *INFLATED is what to free,
 * else it stays as it is. NULL when they cannot be had.
 */
const uint8_t *debugfile_section(const struct image *image, uint32_t index, size_t *ret_size,
                                 uint8_t **inflated);

/* The checksum of .gnu_debuglink (that of zlib and Ethernet), over SIZE bytes. */
uint32_t debugfile_crc(const uint8_t *bytes, size_t size);

/* Fetches the debug file of BUILD_ID from the servers of DEBUGINFOD_URLS: a descriptor, or -1. */
int debuginfod_open(const uint8_t *build_id, size_t size);

#endif
