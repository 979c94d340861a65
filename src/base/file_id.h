/*
 * What tells that a file is the same as before: its inode and its ctime. No program can set a
 * ctime, and each change of a file does. A file that was changed within the current tick of that
 * clock is *fresh*: the next change may leave its ctime as it is. Where the file system keeps whole
 * seconds, a file is fresh for two of them.
 */
#pragma once

#include <sys/stat.h>

#include "base/types.h"

struct file_id {
    uint64_t device, inode, size;
    int64_t changed_ns; /* st_ctime */
    bool fresh;
};

/* Must be called before the file is read. */
struct file_id file_id_of(const struct stat *st);
/* True if neither is fresh, and all else is equal. */
bool file_id_is_same(const struct file_id *a, const struct file_id *b);
