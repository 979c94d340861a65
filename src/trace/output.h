/*
 * The file that a trace is written to: PATH.part until output_commit(), or PATH itself if that is a
 * pipe or a character device. One thread at a time.
 */
#pragma once

#include <stdatomic.h>
#include <sys/uio.h>

#include "base/err.h"
#include "base/types.h"

struct output {
    _Atomic(char *) path; /* resolved */
    _Atomic(char *) part; /* the file that is written; equal to path if not a regular file */
    int fd;
    bool regular;
    bool is_private; /* set before output_open(): only its owner may read the file, whatever the
                        umask says */
    bool keeps_old;  /* output_commit() renames what has the name PATH to PATH.old */
    uint64_t offset; /* bytes written */
};

/* Sets all fields but is_private. Errors: "open", "not-a-file". O needs output_done() after an
 * error, too. */
int output_open(struct output *o, const char *path, struct err *err);
/* Writes all parts and modifies the array. On error (tag "write") a regular file is cut back to its
 * length before. A pipe without a reader for 10 s is an error. */
int output_write(struct output *o, struct iovec *parts, int count, struct err *err);
/* Two regular files in one folder change names, also while other threads write them. Errors:
 * "rename". */
int output_exchange_names(struct output *a, struct output *b, struct err *err);
/* Renames what has the name PATH to PATH.old, and its parts likewise (old_parts.h). */
void output_keep_old(const struct output *o);
/* Renames PATH.part to PATH. Errors: "write", "rename". */
int output_commit(struct output *o, struct err *err);
/* Removes PATH.part, while it is locked: afterwards it may be another recording's. */
void output_remove(const struct output *o);
void output_done(struct output *o);
