/* Keeps a folder within its size. */
#pragma once

#include "base/types.h"

/* Removes files of the folder FOLDER, least recently changed first, until the others have at most
 * MOST bytes on disk. Files that cannot be removed do not count. */
void evict(int folder, uint64_t most);
