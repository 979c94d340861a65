/*
 * Unpacked forms of compressed debug files, in a folder of their own within the cache: they are
 * much larger than plans, and must not drive these out.
 */
#pragma once

#include "cache/folder.h"
#include "types/debug_types.h"

enum { UNPACKED_CACHE_GIB = 4 }; /* the most bytes of the folder, unless it gets less */

struct unpacked_cache;
/* MOST_BYTES 0: no cache. Never NULL; what cannot be used is not used. */
struct unpacked_cache *unpacked_cache_open(uint64_t most_bytes);
void unpacked_cache_close(struct unpacked_cache *cache);
/* For struct debug_options; lives as long as CACHE. */
const struct unpacked_files *unpacked_cache_files(struct unpacked_cache *cache);
