/*
 * What /proc tells of a process while it stands. Each question would open and read a file anew, and
 * many are asked of a new program. So the first answer is kept, until a thread runs.
 *
 * For the calling thread alone, which is the tracer of TID.
 */
#pragma once

#include <sys/types.h>

enum memo_file {
    MEMO_STATUS, /* only what no remote call changes: ids, rights, filters */
    MEMO_MAPS,   /* kept until a thread runs, perhaps for a remote call only */
    MEMO_FILES
};

/* All tasks that share TID's memory stand, until proc_memo_end(). */
void proc_memo_begin(pid_t tid);
void proc_memo_end(void);
/* The text of a file of /proc/TID, if it is kept; else NULL. Valid until the next call of these. */
const char *proc_memo_text(pid_t tid, enum memo_file file);
/* It was read just now. */
void proc_memo_keep(pid_t tid, enum memo_file file, const char *text);
/* A thread is about to run. */
void proc_memo_forget_maps(void);
