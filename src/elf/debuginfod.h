/*
 * A client of debuginfod servers (DEBUGINFOD_URLS). Files that were fetched before are in its cache
 * and cost nothing. A request takes at most 5 s until the first byte, and 60 s in all; SIGINT ends
 * the waiting. A server that does not answer once is not asked again by this process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/report.h"

/* Before, servers are asked, in silence. NETWORK false: only the cache is looked at, because a
 * program would have to wait. REPORT, which may be NULL, is told what is waited for. */
void debuginfod_use(bool network, const struct report *report);

struct debuginfod_file {
    const uint8_t *build_id;
    size_t size;
    const char *name; /* of the module, for people */
    int fd;           /* result: a descriptor of the debug file, or −1 */
};
/* Fetches COUNT debug files at the same time. */
void debuginfod_fetch(struct debuginfod_file *files, size_t count);
/* Fetches one. Returns its descriptor, or −1. */
int debuginfod_open(const uint8_t *build_id, size_t size, const char *name);
