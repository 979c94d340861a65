/*
 * The calls that a process begins with: those that were open in the thread that made it, by fork()
 * or vfork(). They are not in its stream. A walk through the maker's group notes them when it comes
 * to the time of the fork:
 *
 *     maker   main ── work ── fork() ── leaf …
 *                               │ noted
 *     child        « main ── work ── leaf …
 *
 * If none has come there when the child's walk begins, a walk without a visitor (a scout) goes
 * there. It waits there for the group's next fork.
 */
#pragma once

#include "trace/reader.h"

struct source;
struct stream_groups;
struct forks;

struct fork {
    uint32_t maker, child; /* streams */
    uint64_t ticks;
    bool shares;               /* trace_thread.shares */
    bool known;                /* `calls` is set */
    struct trace_frames calls; /* its list is owned */
    size_t makers;             /* private: number of the maker's group */
};

struct forks *forks_new(const struct trace_reader *r, const struct stream_groups *groups);
void forks_free(struct forks *f);

/* The forks by threads of the group whose first stream is LEADER, in order of time. F may be
 * NULL. */
struct fork *forks_by(const struct forks *f, uint32_t leader, size_t *ret_count);
/* The calls that STREAM begins with; NULL: none. May walk through other groups. */
const struct trace_frames *forks_calls(const struct source *source, uint32_t stream);
