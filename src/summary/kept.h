/*
 * The file of a summary: TRACE.idx beside the trace; or, where none can be made, a file in
 * $XDG_CACHE_HOME/spoor/views, of which the oldest go when they get too large. It is a copy of
 * memory, for the same program on the same kind of machine. It is of use as long as the trace is
 * the same file: size, times, and end. It belongs to the user, is mapped while it is used, and is
 * never changed: a new one replaces it.
 */
#pragma once

#include "summary/pass.h"

struct kept_key { /* what the trace is */
    uint64_t size, inode;
    int64_t mtime_s, mtime_ns, ctime_s, ctime_ns;
    uint64_t end_check; /* of its last bytes, with the trailer */
};

struct kept_file { /* mapped; zeroed: none */
    uint8_t *at;
    size_t size;
};

enum { KEPT_MOST_BYTES = 1 << 30 /* of all files in the cache's folder */ };

/* False: it cannot be read. */
bool kept_key_of(const char *trace, struct kept_key *ret);
/* Fills P, which is initialized, from a file for KEY. False: there is none, and P is as before.
 * KEPT_FILE is mapped until kept_unmap(), after pass_done(). */
bool kept_load(const char *trace, const struct kept_key *key, struct pass *p,
               struct kept_file *ret);
void kept_unmap(struct kept_file *file);
/* Its pages in memory do not count for this process until they are used again. */
void kept_let_go(const struct kept_file *file);
/* Writes what P has, if it can. Then *RET is mapped; else it is zeroed. */
void kept_save(const char *trace, const struct kept_key *key, const struct pass *p,
               struct kept_file *ret);
/* P, from which FILE was just written, has the same from FILE, and its memory is free. False: FILE
 * was damaged meanwhile. Then P is empty, and FILE is zeroed. */
bool kept_change_over(struct kept_file *file, struct pass *p);
