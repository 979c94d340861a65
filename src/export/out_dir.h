/*
 * Output to a folder: "stream_0", "stream_1" …, and "metadata". What was written is removed if an
 * error or a signal (SIGINT, SIGTERM, SIGHUP) comes before it is complete. Only one may be open.
 */
#pragma once

#include "base/err.h"
#include "base/types.h"

struct out_dir {
    const char *path;
    int fd;
    uint32_t streams; /* files "stream_N" may exist for N below this */
    bool made;        /* the folder did not exist */
};

enum { OUT_DIR_METADATA = UINT32_MAX };

/* Opens PATH, which must be an empty folder, or is made. Errors: "open", "not-empty". */
int out_dir_open(struct out_dir *d, const char *path, struct err *err);
/* Appends COUNT bytes to the file of STREAM. Streams may have gaps. Returns 0 or -errno. */
int out_dir_write(struct out_dir *d, uint32_t stream, const void *bytes, size_t count);
void out_dir_close(struct out_dir *d);
/* In place of out_dir_close(): removes all that was written. */
void out_dir_abandon(struct out_dir *d);
