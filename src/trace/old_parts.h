/*
 * Parts of an earlier recording (parts.h): NAME.1, NAME.2 and so on. Snapshots have such names,
 * too, but are no parts.
 */
#pragma once

#include "base/types.h"

struct part_file {
    uint32_t number;  /* as the file says; 0: it is no part */
    uint64_t session; /* Unix time of its recording's start in ns: the same in all parts */
};

/* Reads the first records of PATH. */
struct part_file part_file_read(const char *path);
/* What has the name NAME is about to get the name OLD: its parts NAME.N become OLD.N. Parts that
 * had such names before are removed. */
void old_parts_keep(const char *name, const char *old);
