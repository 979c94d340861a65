/*
 * Pages of text that were written are private to their process from then on, even if they hold
 * their file's bytes again: memory that is not shared, and that makes each fork slower. So text is
 * restored, where possible, by dropping such pages (MADV_DONTNEED): they are their file's again.
 * That is faster than writing them, too.
 */
#pragma once

#include "base/page.h"
#include "patch/space.h"
#include "target/maps.h"

enum { PAGES_LOOK_BYTES = (64 << 10) + 2 * PAGE_MOST_BYTES };

struct pages {
    const struct space *space; /* NULL: nothing can be given back */
    pid_t caller;
    const struct maps *maps;
    const struct map *map; /* that was looked at last */
    int fd;                /* its file; −1: not to be had */
    int how;               /* it is read: RWF_* */
    uint8_t *file;         /* what that holds of the pages that are looked at, so many bytes */
    size_t got;
    struct span run; /* of pages to give back */
    bool failed;     /* the kernel refused some, which are as before */
};

/* Reads the files of SPACE's modules into the page cache, for the time when its threads stand
 * still; they may run. */
void pages_prefetch(const struct space *space);
/* SPACE's threads stand still, and CALLER may make calls, or is 0. MAPS, by their former names
 * (maps_use_former_names()), must outlive PAGES. */
void pages_begin(struct pages *ret, const struct space *space, pid_t caller,
                 const struct maps *maps);
/* Reads what the file holds of the pages [START, START + SIZE), PAGES_LOOK_BYTES at most. */
void pages_look(struct pages *g, taddr_t start, size_t size);
/* Whether the file holds BYTES in the page AT bytes behind START. */
bool pages_hold(const struct pages *g, size_t at, const uint8_t *bytes);
/* Drops that page, at pages_flush() at the latest. */
void pages_give(struct pages *g, taddr_t page);
void pages_flush(struct pages *g);
void pages_end(struct pages *g);
