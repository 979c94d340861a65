/*
 * Restores text by dropping written pages (MADV_DONTNEED), where possible: they become their file's
 * pages again. A page that was written and then written back stays private to its process: it uses
 * memory and makes each fork slower. Dropping is faster than writing, too.
 */
#pragma once

#include "base/page.h"
#include "patch/space.h"
#include "target/maps.h"

enum { PAGES_READ_BYTES = (64 << 10) + 2 * PAGE_MOST_BYTES };

struct pages {
    const struct space *space; /* NULL: no page can be dropped */
    pid_t caller;
    const struct maps *maps;
    const struct map *map; /* of the last pages_read() */
    int fd;                /* its file; −1: cannot be opened */
    int how;               /* RWF_* flags for reading it */
    uint8_t *file;         /* the file's bytes of the pages looked at */
    size_t got;
    struct span run; /* adjacent pages to drop */
    bool failed;     /* the kernel refused to drop some pages */
};

/* Reads the files of SPACE's modules into the page cache before its threads are stopped. */
void pages_prefetch(const struct space *space);
/* SPACE's threads are stopped. CALLER may make remote calls, or is 0. MAPS, by their former names
 * (maps_use_former_names()), must outlive PAGES. */
void pages_begin(struct pages *ret, const struct space *space, pid_t caller,
                 const struct maps *maps);
/* Reads the file's bytes of the pages [START, START + SIZE), PAGES_READ_BYTES at most. */
void pages_read(struct pages *g, taddr_t start, size_t size);
/* Whether the file has BYTES in the page AT bytes behind START of pages_read(). */
bool pages_equal_file(const struct pages *g, size_t at, const uint8_t *bytes);
/* Drops PAGE, at pages_flush() at the latest. */
void pages_drop(struct pages *g, taddr_t page);
void pages_flush(struct pages *g);
void pages_end(struct pages *g);
