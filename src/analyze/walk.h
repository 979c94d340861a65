/*
 * A walk through one group of a trace, which is a stream or several (stream_groups.h): events
 * become calls (trace/calls.h), the filter decides which are shown, and a visitor sees those. All
 * times are nanoseconds since the trace's start, so that whatever is added up agrees with what
 * replay prints, to the nanosecond.
 */
#pragma once

#include "analyze/stream_groups.h"
#include "analyze/view_filter.h"
#include "trace/calls.h"

/* What is analysed, and whom to tell. One thread at a time. */
struct source {
    struct trace_reader *reader;
    struct stream_groups *stream_groups;
    struct names *names;
    struct view_filter *filter;
    void *ctx;
    void (*on_progress)(void *ctx, size_t items);        /* COUNT more were read; or NULL */
    void (*on_damage)(void *ctx, const struct err *err); /* a block is left out; or NULL */
};

enum { WALK_NONE = UINT32_MAX };

struct walk_call {
    uint32_t function;     /* as in names.h */
    uint32_t stream;       /* where it began */
    uint32_t depth;        /* among the shown calls of its stack */
    uint32_t stack, chain; /* as in struct call */
    uint32_t value;        /* what visitor.open gave for it */
    uint32_t caller_value; /* the same of its nearest shown caller; WALK_NONE: there is none */
    uint64_t start_ns;
    bool before; /* it began before that, untraced: how long it lasts is not known, nor too brief */
    /* On closing: */
    uint32_t end_stream;      /* where it ended: a stack may go on in another thread */
    uint64_t end_ns, self_ns; /* self: without its shown callees */
    enum call_end how;
    bool
        inferred; /* unwound as far as is known, but it may have left by an exit that is not seen */
    bool brief;   /* shorter than the threshold, or over before the span that is shown: not shown
                     after all, nor is what it called */
};

/* Each member may be NULL. Each call that is opened is closed, at the end of the group at last. */
struct visitor {
    void *ctx;
    uint32_t (*open)(void *ctx, const struct walk_call *call);
    void (*close)(void *ctx, const struct walk_call *call);
    void (*lost)(void *ctx, uint32_t stream, uint64_t ns, uint64_t count);
};

struct walk;
/* SOURCE and VISITOR are borrowed. */
struct walk *walk_new(const struct source *source, struct stream_group group,
                      const struct visitor *visitor);
/* Reads on, some hundred events at most. False: the group has ended and all its calls are closed.
 */
bool walk_step(struct walk *w);
/* The time of what was read last. */
uint64_t walk_now_ns(const struct walk *w);
/* Whether that lies before the span that is shown: the open calls may yet turn out brief. */
bool walk_is_early(const struct walk *w);
void walk_free(struct walk *w);

/* Whether one of its threads is shown: of that, calls that began there are. */
bool walk_shows(const struct source *source, struct stream_group group);
/* Reads a whole group; one that the filter does not show is passed over. */
void walk_stream_group(const struct source *source, struct stream_group group,
                       const struct visitor *visitor);
/* Reads all stream groups, one after the other. */
void walk_all(const struct source *source, const struct visitor *visitor);
