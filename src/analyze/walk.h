/* A walk through one stream group (stream_groups.h). Events become calls (trace/calls.h), the
 * filter decides which ones are shown, and a visitor gets those. All times are nanoseconds since
 * the trace's start, so that sums agree with what replay prints, to the nanosecond. */
#pragma once

#include <stdatomic.h>

#include "analyze/digest.h"
#include "analyze/forks.h"
#include "analyze/stream_groups.h"
#include "analyze/view_filter.h"
#include "trace/calls.h"

/* What is analysed, and callbacks for progress and damage. For one thread at a time. */
struct source {
    struct trace_reader *reader;
    struct stream_groups *stream_groups;
    struct forks *forks; /* or NULL: forked processes begin without calls */
    struct names *names;
    struct view_filter *filter;
    void *ctx;
    void (*on_progress)(void *ctx, size_t items);        /* so many more were read; or NULL */
    void (*on_damage)(void *ctx, const struct err *err); /* a block was skipped; or NULL */
    unsigned workers;        /* threads that read blocks ahead; 0: one for each processor */
    const atomic_bool *stop; /* set by another thread: walks end at once; or NULL */
    bool reads_all;          /* for tests: no block is left out */
};

enum { WALK_NONE = UINT32_MAX };

struct walk_call {
    uint32_t function;     /* as in names.h */
    uint32_t id;           /* event id of the function */
    uint32_t stream;       /* where it began */
    uint32_t depth;        /* among the shown calls of its stack */
    uint32_t stack, chain; /* as in struct call */
    uint32_t value;        /* result of visitor.open() for it */
    uint32_t caller_value; /* the same of its nearest shown caller; WALK_NONE: none */
    uint64_t start_ns;
    uint64_t thread_paused_ns; /* pauses so far of the thread in which it began */
    bool before;  /* it began earlier, untraced: its length is unknown, no threshold applies */
    bool way_end; /* set on opening: of a function of -C */
    bool clipped; /* it began before the shown span, or (set on closing) ended behind it */
    /* Set on closing: */
    uint32_t caller_id;  /* event id of its nearest caller, shown or not; UINT32_MAX: none */
    uint32_t end_stream; /* where it ended: a stack may continue in another thread */
    uint64_t end_ns;
    uint64_t duration_ns;     /* without pauses */
    uint64_t self_ns;         /* the same without its shown callees */
    uint64_t clipped_self_ns; /* what self_ns is if the span clips the call (walk_ticks.h) */
    uint64_t paused_ns;
    enum call_end how;
    bool inferred; /* it counts as unwound, but may have left by an exit that is not patched */
    bool brief;    /* below the threshold, or on no way to -C: hide it and its callees */
};

struct walk_pause { /* a thread stood still because of the recorder */
    uint32_t stream;
    uint64_t end_ns, length_ns;
    enum pause_cause cause;
    bool in_call;              /* in a blocking system call: it is part of durations */
    uint64_t thread_paused_ns; /* pauses of the thread before */
};

struct walk_mark { /* a mark: control has passed a place that was asked for, a USDT probe */
    uint32_t stream, function, id; /* `function` and `id` name the place */
    uint64_t ns;
    uint64_t thread_paused_ns; /* pauses of the thread before */
};

/* Each member may be NULL. Calls that are open when the shown span begins are opened then, in the
 * order of their starts. Each opened call is closed, at the latest at the end of the group. */
struct digests;
struct visitor {
    void *ctx;
    bool wants_silent;  /* show calls of functions that are hidden with their time (--hide) */
    bool no_self;       /* walk_call.self_ns is not used: fewer blocks have to be read */
    bool wants_clipped; /* walk_call.clipped_self_ns is used */
    uint32_t (*open)(void *ctx, const struct walk_call *call);
    void (*close)(void *ctx, const struct walk_call *call);
    void (*lost)(void *ctx, uint32_t stream, uint64_t ns, uint64_t count);
    void (*pause)(void *ctx, const struct walk_pause *pause);
    void (*mark)(void *ctx, const struct walk_mark *mark); /* but for those in digests */
    /* Behind damage, reading goes on without a checkpoint: a walk that begins later, at one, knows
     * more of the calls that are open. */
    void (*torn)(void *ctx, uint32_t stream);
    /* With digests (digests.h): calls that are summed up come here instead, after they have ended.
     * CALLER_VALUE is open()'s of the call around them, or WALK_NONE. Nothing about these calls is
     * inexact, and none is clipped or paused. */
    void (*ended)(void *ctx, const struct digest_sum *sums, size_t count, uint32_t caller_value);
    struct digests *digests; /* or NULL */
    /* A digest is taken in place of a BLOCK; and, after ended(), each STEP_CALLS of it. */
    void (*digest)(void *ctx, const struct digest *d, size_t block);
    void (*step)(void *ctx, const struct digest *d, const struct digest_step *step,
                 uint32_t caller_value);
};

struct walk;
/* SOURCE and VISITOR are borrowed. */
struct walk *walk_new(const struct source *source, struct stream_group group,
                      const struct visitor *visitor);
/* The same, for what happens from TICKS on: earlier blocks may be left out. */
struct walk *walk_new_at(const struct source *source, struct stream_group group,
                         const struct visitor *visitor, uint64_t ticks);
/* Whether GROUP is one thread that keeps to its own stack, whose range is known. */
bool walk_keeps_its_stack(const struct source *s, struct stream_group group);
/* Whether GROUP has checkpoints, so that walks may leave out blocks. */
bool walk_may_seek(const struct source *source, struct stream_group group);
/* Reads on, at most some hundred events. False: the group has ended, or the span has and so have
 * all calls in it; all calls are closed. Or source.stop is set. */
bool walk_step(struct walk *w);
/* The block to be read next, if all of the blocks before was passed on; else NO_BLOCK. For groups
 * of one stream. */
size_t walk_next_block(struct walk *w);
/* The time of the event that was read last. */
uint64_t walk_now_ns(const struct walk *w);
/* Pauses so far, of all threads of the group. */
uint64_t walk_paused_ns(const struct walk *w);
void walk_free(struct walk *w);

/* True if one of the group's threads is shown. Only calls that began in shown threads are. */
bool walk_shows(const struct source *source, struct stream_group group);
/* Reads a whole group, unless the filter hides it. */
void walk_stream_group(const struct source *source, struct stream_group group,
                       const struct visitor *visitor);
/* Reads all stream groups, one after the other. */
void walk_all(const struct source *source, const struct visitor *visitor);
