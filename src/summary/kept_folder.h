/* The folder of summaries of traces that lie in folders where nothing can be written:
 * $XDG_CACHE_HOME/spoor/views, else ~/.cache/spoor/views. */
#pragma once

#include "base/types.h"

/* The path of the file for a key. MAKE: makes the folder. NULL: there is no folder of this user's.
 * To be freed. */
char *kept_folder_file(const void *key, size_t size, bool make);
/* Removes the oldest files until all fit into MOST_BYTES. */
void kept_folder_limit(uint64_t most_bytes);
