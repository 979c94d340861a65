/*
 * A folder of files that may vanish at any time: the least recently used go when it gets too large.
 *
 * Nothing in it is trusted that another user could have written: the folder and each file must
 * belong to the effective user, and no other may write there. Files are written under another name
 * and renamed, so none is ever seen half-written, and none is ever changed: files are mapped, and
 * shortening one in use would end the tool by SIGBUS. Checksums find damage on the disk before a
 * caller sees it.
 *
 * All functions may be called by several threads, and by any number of processes.
 */
#pragma once

#include "base/digest.h"
#include "base/flat.h"

enum { FOLDER_NAME_BYTES = 80 }; /* of a file, with its NUL */

struct folder {
    int fd;              /* −1: there is no folder */
    uint64_t most_bytes; /* of all files together */
};

/* Opens `spoor` below $XDG_CACHE_HOME or ~/.cache; makes it if needed. Fails quietly. */
struct folder folder_open(uint64_t most_bytes);
void folder_close(struct folder *f);

struct folder_file { /* a file in memory */
    uint8_t *pages;  /* a private mapping; writable */
    size_t size;
    struct flat_reader contents;
};

/* Reads the file NAME. KEY must be what it was written with. False: it does not exist, or is not
 * intact. Counts as a use if USED. The caller frees RET by mem_unmap(). */
bool folder_read(const struct folder *f, const char *name, const uint8_t key[DIGEST_BYTES],
                 bool used, struct folder_file *ret);
/* Writes the file NAME by calling WRITE with CTX. A failure leaves what was there. Then removes
 * files until all fit. */
void folder_write(const struct folder *f, const char *name, const uint8_t key[DIGEST_BYTES],
                  void (*write)(struct flat_writer *w, void *ctx), void *ctx);
