/*
 * Restores text by dropping written pages (MADV_DONTNEED), where possible: they become their file's
 * pages again. A page that was written and then written back stays private to its process: it uses
 * memory and makes each fork slower. Dropping is faster than writing, too.
 */
#pragma once

#include "patch/pieces.h"
#include "patch/space.h"
#include "target/maps.h"

enum { PAGES_RUNS = 24 };

struct pages {
    const struct space *space; /* NULL: no page can be dropped */
    pid_t caller, reader;
    bool series; /* CALLER may make several calls in a row */
    const struct maps *maps;
    const struct map *map; /* of the last pages_find() */
    int fd;                /* its file; −1: cannot be opened */
    int how;               /* RWF_* flags for reading it */
    uint8_t *file;         /* the file's bytes of the pages looked at */
    size_t got;
    struct span run; /* adjacent pages to drop, behind the next ones */
    struct span runs[PAGES_RUNS];
    size_t run_count;
    bool failed; /* the kernel refused to drop some pages */
};

/* Reads the files of SPACE's modules into the page cache before its threads are stopped. */
void pages_prefetch(const struct space *space);
/* SPACE's threads are stopped. CALLER may make remote calls, or is 0. READER is a
 * thread of theirs. MAPS, by their former names
 * (maps_use_former_names()), must outlive PAGES. */
void pages_begin(struct pages *ret, const struct space *space, pid_t caller, pid_t reader,
                 const struct maps *maps);
/* Finds the file of the pages [START, START + SIZE); false: they cannot be dropped. */
bool pages_find(struct pages *g, taddr_t start, size_t size);
/* Reads the file's bytes of these pages, PIECE_BYTES at most. */
void pages_read(struct pages *g, taddr_t start, size_t size);
/* Whether the file has BYTES in the page AT bytes behind START of pages_read(). */
bool pages_equal_file(const struct pages *g, size_t at, const uint8_t *bytes);
/* Drops PAGE, at pages_flush() at the latest. */
void pages_drop(struct pages *g, taddr_t page);
void pages_flush(struct pages *g);
void pages_end(struct pages *g);

/* For another thread, which may only read and compare. FILE: of PIECE_BYTES. */
struct pages pages_copy(const struct pages *g, uint8_t *file);
void pages_copy_end(const struct pages *copy);
