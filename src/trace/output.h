/*
 * The file that a trace is written to: PATH.part until output_commit(), or PATH itself where that
 * is a pipe or a character device. One thread at a time.
 */
#pragma once

#include <sys/uio.h>

#include "base/err.h"
#include "base/types.h"

struct output {
    char *path; /* resolved */
    char *part; /* what is written; equal to path if not a regular file */
    int fd;
    bool regular;
    uint64_t offset; /* bytes written */
};

/* Errors: "open", "not-a-file". O needs output_done() in either case. */
int output_open(struct output *o, const char *path, struct err *err);
/* Writes all of it, or nothing and returns −errno with tag "write"; the file then still ends where
 * it did. The parts are used up. Gives up on a pipe that nobody reads for a while. */
int output_write(struct output *o, struct iovec *parts, int count, struct err *err);
/* Gives the file its name. Errors: "write", "rename". */
int output_commit(struct output *o, struct err *err);
void output_done(struct output *o);
