/*
 * A trace as lines in order of time: entries, exits and losses of all threads, and changes of what
 * is recorded. The reader of a stream group (stream_groups.h) looks ahead until it is known whether
 * a call is long enough to be shown. When leaves are folded, it also waits for the line after an
 * entry.
 *
 * Memory: one block of each running thread, and a line for each open call.
 */
#pragma once

#include "analyze/changes.h"
#include "analyze/walk.h"

enum line_kind {
    LINE_ENTRY,
    LINE_EXIT,
    LINE_LEAF, /* entry and exit in one: a call without shown callees */
    LINE_LOST,
    LINE_PAUSE, /* a thread stood still because of the recorder; its time is the end */
    LINE_MARK,  /* lines_want_marks(): a USDT probe; `function` and `id` name it */
    LINE_CHANGE /* of what is recorded: for a process or all; no thread's line */
};

struct line {
    enum line_kind kind;
    uint32_t stream;          /* where it happened; not set for LINE_CHANGE */
    uint32_t began;           /* LINE_EXIT: the stream where the call began */
    uint32_t function, stack; /* lines of calls */
    uint32_t chain;           /* LINE_ENTRY, LINE_LEAF: as in struct call */
    uint32_t depth;  /* LINE_LOST, LINE_PAUSE, LINE_MARK: number of shown calls that are open */
    uint32_t id;     /* lines of calls: event id of the function */
    uint64_t ns;     /* LINE_LEAF: the entry's */
    uint64_t end_ns; /* LINE_EXIT, LINE_LEAF: when the call ended */
    uint64_t duration_ns; /* LINE_EXIT, LINE_LEAF: without pauses; LINE_PAUSE */
    uint64_t paused_ns;   /* LINE_EXIT, LINE_LEAF: of pauses during the call */
    enum call_end how;    /* LINE_EXIT, LINE_LEAF */
    bool inferred;        /* likewise: as in struct walk_call */
    bool before;          /* lines of calls: as in struct walk_call */
    bool clipped; /* LINE_ENTRY: it began before the span; LINE_EXIT, LINE_LEAF: it goes beyond */
    bool in_call; /* LINE_PAUSE: in a blocking system call: it is part of durations */
    union {
        enum pause_cause cause;      /* LINE_PAUSE */
        uint64_t lost;               /* LINE_LOST */
        const struct change *change; /* LINE_CHANGE */
    };
};

struct lines;
/* SOURCE must outlive the lines. */
struct lines *lines_new(const struct source *source, bool fold_leaves);
/* Gives out marks, too. To be called before lines_next(). */
void lines_want_marks(struct lines *l);
/* NULL: no more lines. Valid until the next call. */
const struct line *lines_next(struct lines *l);
void lines_free(struct lines *l);
