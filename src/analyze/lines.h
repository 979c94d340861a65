/*
 * A trace as lines in the order of time: entries, exits and losses, of all threads, and what has
 * changed of what is recorded. A reader of one group (stream_groups.h) looks ahead until it is
 * known whether a call is long enough to be shown and, when leaves are to be folded, whether
 * anything comes between its entry and its exit.
 *
 * Memory: what one block of each running thread takes, and a line for each open call.
 */
#pragma once

#include "analyze/changes.h"
#include "analyze/walk.h"

enum line_kind {
    LINE_ENTRY,
    LINE_EXIT,
    LINE_LEAF, /* both in one: a call without shown callees */
    LINE_LOST,
    LINE_CHANGE /* of what is recorded: of a process or all, no thread's */
};

struct line {
    enum line_kind kind;
    uint32_t stream;          /* where it happened; not of LINE_CHANGE */
    uint32_t began;           /* of LINE_EXIT: the stream where the call began */
    uint32_t function, stack; /* of calls */
    uint32_t chain;           /* of LINE_ENTRY and LINE_LEAF; as in struct call */
    uint32_t depth;           /* of LINE_LOST: under the calls that are shown as open */
    uint64_t ns;              /* of LINE_LEAF: the entry's */
    uint64_t duration_ns;     /* of LINE_EXIT and LINE_LEAF */
    enum call_end how;        /* of LINE_EXIT and LINE_LEAF */
    bool inferred;            /* likewise; as in struct walk_call */
    bool before;              /* of calls; as in struct walk_call */
    union {
        uint64_t lost;               /* of LINE_LOST */
        const struct change *change; /* of LINE_CHANGE */
    };
};

struct lines;
/* SOURCE must outlive the lines. */
struct lines *lines_new(const struct source *source, bool fold_leaves);
/* NULL: there are no more. Valid until the next call. */
const struct line *lines_next(struct lines *l);
void lines_free(struct lines *l);
