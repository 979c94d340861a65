/*
 * The checksum of headers and payloads: XXH64 with seed 0 (github.com/Cyan4973/xxHash,
 * doc/xxhash_spec.md, "XXH64 algorithm description"). It is implemented here because thirty lines
 * are cheaper than a dependency.
 */
#pragma once

#include "base/types.h"

uint64_t checksum(const void *bytes, size_t count);
