/*
 * Copies of metadata: what other traces of the recording begin with (snapshots, parts). One thread
 * at a time.
 */
#pragma once

#include "base/mem.h"
#include "trace/block.h"

struct kept_block {
    struct block *block;
    uint32_t key; /* what it is about: a process, or 1 + the first id of a module with functions;
                     0: nothing that can end */
};

struct kept {
    ARRAY(struct kept_block) blocks; /* the session and the first clock are always kept */
    bool all;                        /* else only these */
    bool replaces; /* a module's record takes the place of earlier ones, as readers do it */
    bool has_clock;
};

/* Keeps a copy of BLOCK, if the traces begin with it. */
void kept_add(struct kept *k, const struct block *block, uint32_t key);
/* Forgets what is about process PID, one of an ascending list. */
void kept_forget(struct kept *k, const uint32_t *pids, size_t count);
void kept_done(struct kept *k);
