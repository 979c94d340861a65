/* Keeps a folder within its size. */
#pragma once

#include "base/types.h"

/* Removes files of the folder FOLDER until the others have at most MOST bytes on disk: the least
 * recently changed ones, where code counts as changed an hour earlier. Files that cannot be removed
 * do not count. */
void evict(int folder, uint64_t most);
