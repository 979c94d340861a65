/*
 * Lists of bytes that grow in turn, a few bytes at a time, and are read when they are complete.
 * They serve formats that want the calls of each track together. The ends of the lists are in
 * memory, the rest is in a file without a name, in $TMPDIR or /var/tmp.
 */
#pragma once

#include <sys/types.h>

#include "base/mem.h"
#include "base/types.h"

enum { SPOOL_CHUNK = 12288 }; /* records do not cross chunks if their size divides this */

struct spool {
    int fd;    /* -1: nothing was written */
    off_t end; /* of what is in use of the file */
    int error; /* errno; 0: none. Then nothing more is kept. */
};

struct spool_list {
    char *tail; /* not yet in the file */
    size_t used, room;
    ARRAY(off_t) chunks; /* in the file */
};

void spool_init(struct spool *s);
void spool_done(struct spool *s);
/* Forgets what the file holds. All lists have been freed. */
void spool_clear(struct spool *s);

void spool_add(struct spool *s, struct spool_list *list, const void *bytes, size_t size);
/* Calls ON with all that was added, in pieces of whole chunks but for the last. False: it cannot be
 * read, s->error tells why. */
bool spool_read(struct spool *s, const struct spool_list *list,
                void (*on)(void *ctx, const void *bytes, size_t size), void *ctx);
void spool_list_done(struct spool_list *list);
