/*
 * What /proc tells of a process while it stands. Each question would open and read a file anew, and
 * many are asked of a new program. So the first answer is kept, until a thread runs.
 *
 * For the calling thread alone, which is the tracer of TID.
 */
#pragma once

#include <sys/types.h>

enum standing_file {
    STANDING_STATUS, /* only what no remote call changes: ids, rights, filters */
    STANDING_MAPS,   /* kept until a thread runs, perhaps for a remote call only */
    STANDING_FILES
};

/* All tasks that share TID's memory stand, until standing_end(). */
void standing_begin(pid_t tid);
void standing_end(void);
/* The text of a file of /proc/TID, if it is kept; else NULL. Valid until the next call of these. */
const char *standing_text(pid_t tid, enum standing_file file);
/* It was read just now. */
void standing_keep(pid_t tid, enum standing_file file, const char *text);
/* A thread is about to run. */
void standing_ends_for_maps(void);
