/* The state of a walk (walk.h), for the files that implement it:
 *   walk.c          items, and the calls that they open and close
 *   walk_digests.c  digests in place of items
 *   walk_seek.c     blocks that are left out */
#pragma once

#include "analyze/stream_groups.h"
#include "base/mem.h"
#include "trace/calls.h"
#include "trace/reader.h"

struct walk_thread {
    uint32_t stream;
    uint32_t gap;       /* calls that go on behind this gap are to be opened; 0: none */
    uint64_t paused_ns; /* so far */
    bool begun, ended;
    uint64_t events;        /* taken so far */
    uint64_t *inner_starts; /* as of inner_starts_find() */
    size_t inner_count, next_inner;
};

struct early_call { /* open when the span begins */
    struct call *call, *parent;
    uint64_t paused; /* during it */
};

struct call_ticks {   /* of an open call (walk_ticks.h) */
    uint64_t start;   /* where it began */
    uint64_t paused;  /* walk.paused_ticks then */
    uint64_t callees; /* of ended callees, without pauses */
};

enum { WALK_RECENT = 256 };

struct walk {
    const struct source *source;
    const struct visitor *visitor;
    struct names *names;
    struct view_filter *filter;
    struct stream_group group;
    struct group_reader *reader;
    struct calls *calls;
    struct gaps *gaps;              /* NULL: no gap so far */
    struct trace_seeker *seeker;    /* NULL: all blocks are read */
    struct open_call_key innermost; /* walk_seek.c: the innermost shown call */
    uint32_t gap_count;
    struct walk_thread *threads; /* by index in the group */
    struct walk_thread *thread;  /* the present one */
    struct fork *forks;          /* by threads of the group, in order of time */
    size_t fork_count, next_fork;
    uint64_t fork_ticks; /* of the next fork, which is not noted yet; UINT64_MAX: there is none */
    uint64_t now_ns, ticks;           /* the present time */
    uint64_t paused_ns;               /* of all threads */
    uint64_t paused_ticks;            /* the same */
    bool counts_ticks;                /* clipped calls follow walk_ticks.h */
    ARRAY(struct call_ticks) lengths; /* then: by depth */
    uint64_t threshold_ns;
    uint64_t settled_ns; /* calls that seem open were so until then, at least */
    uint32_t depth;      /* limit */
    uint32_t open_shown; /* number of open calls that are shown */
    bool early;          /* the span has not begun */
    ARRAY(struct early_call) early_calls;
    bool over;
    struct trace_scale scale;
    struct { /* results of names_index(), by the id's lowest bits */
        uint32_t id, function;
    } recent[WALK_RECENT];
};

enum { STATE_ABOVE = (1 << 26) - 1 }; /* the most callers that pass */
/* Kept for each open call, in call.user. */
union state {
    uint64_t user;
    struct {
        uint32_t passes : 1;  /* the filter and the depth show it */
        uint32_t shown : 1;   /* and it did not begin behind the span */
        uint32_t silent : 1;  /* it does not pass, and its own time is not its caller's */
        uint32_t within : 1;  /* it is a call of a root (--callees), or in one */
        uint32_t way_end : 1; /* of a function of -C */
        uint32_t leads : 1;   /* a shown call of a function of -C is in it, or it is one */
        uint32_t above : 26;  /* number of callers that pass */
        uint32_t value;       /* visitor.open()'s of the call, or of its nearest shown caller */
    };
};
_Static_assert(sizeof(union state) == sizeof(uint64_t), "is call.user");

/* Moves the walk's time on to NS, which is TICKS. A damaged file may step back. */
void walk_advance(struct walk *w, uint64_t ns, uint64_t ticks);
/* Leaves out the next fork. */
void walk_skip_fork(struct walk *w);
/* The items before TICKS were taken. */
void walk_note_forks(struct walk *w, uint64_t ticks);
/* Opens the calls that go on behind the present thread's latest gap. */
void walk_open_behind_gap(struct walk *w);
/* Opens the calls that the present thread begins with. */
void walk_begin_thread(struct walk *w);
/* At the time to which the walk was moved. */
void walk_take_item(struct walk *w, const struct trace_item *item);

/* Begins at the last checkpoint before TICKS, if that is possible. No item was read so far. */
void walk_seek_begin(struct walk *w, uint64_t ticks);
/* Behind the span: goes on with the block in which the innermost shown call ends. */
void walk_seek_end(struct walk *w);

/* Behind damage: goes on with the next block, and the calls that its checkpoint has. Returns the
 * number of lost events; 0: there is none, and the next item tells of the loss. Tells the visitor
 * if the stream is torn. */
uint64_t walk_seek_damage(struct walk *w);

/* Takes a block as digest. False: the next one, if any, has none. */
bool walk_take_digest(struct walk *w);
