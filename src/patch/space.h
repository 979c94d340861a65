/*
 * One address space: what is mapped into it by us, which modules are patched,
 * which lanes its threads use. Made at exec, copied at fork, shared by threads
 * and by vfork.
 *
 * All functions that change the target need every thread of the space stopped;
 * CALLER is one of them that may be made to call the kernel.
 */
#ifndef SPOOR_PATCH_SPACE_H
#define SPOOR_PATCH_SPACE_H

#include "patch/keys.h"
#include "ring/lanes.h"
#include "select/catalog.h"
#include "target/thread.h"

struct code { /* the emitted code of one mapped module; shared by forked spaces */
    unsigned refs;
    struct plan_code emitted;
    struct {
        uint8_t *bytes; /* until it is in the target */
        size_t size;
    } undo; /* log */
    struct {
        uint8_t *missed, *inexact;
        size_t missed_exits[TIER_COUNT];
    } alone; /* what is not served without an annex, while there is one; else NULLs */
};

struct patched { /* one module mapped into one space, or its annex */
    struct entry *entry;
    dev_t device; /* of its file, as the process's map shows them */
    ino_t inode;
    taddr_t bias;
    taddr_t text;     /* start of its first executable map: tells whether it is still there */
    taddr_t area;     /* trampolines, and behind them the log (undolog.h); 0: not mapped */
    size_t area_size; /* of its room, which is as large as the code might become */
    size_t room;
    taddr_t log;
    size_t islands;  /* of code's, how many are mapped */
    uint8_t *spared; /* bitmap by number of patch: not written; NULL: all are */
    bool checked;    /* its text was seen to be its file's, a moment ago */
    bool filled;     /* the area holds what it is to hold */
    bool stuck;      /* its text could not be written, but threads were about to run in its area */
    bool kept;       /* what it has mapped stays: a thread is to come back there */
    struct code *code;
    struct code *first; /* of an annex (annex.h): the code of the module's first area; else NULL */
    bool traced;        /* more than the dynamic linker's hook is to be patched */
    bool told;          /* the trace knows of that */
};

static inline bool patched_spares(const struct patched *p, size_t patch) {
    return p->spared && p->spared[patch / 8] >> patch % 8 & 1;
}

struct program {         /* with --libcalls: whose library calls are traced */
    struct entry *entry; /* NULL: not known yet */
    struct span text;
};

struct space {
    unsigned refs;
    pid_t pid; /* for messages and the trace; that thread may have ended: space_thread() */
    struct remote_site remote;
    taddr_t room;        /* where what can be anywhere is out of others' way; 0: not known */
    taddr_t agent;       /* one page with the agent, for remote calls */
    bool borrowed;       /* remote.memory_fd is that of the space it was copied from */
    bool kept;           /* the agent and lanes stay: a thread is to come back there */
    bool inherited;      /* from a spoor that was killed (leftovers.h): its lanes are not ours */
    bool stopping;       /* being changed: its tasks' reports wait (tracer.c) */
    bool lifted;         /* all text is the program's, for the time being: nothing is patched */
    bool taken;          /* some code that was to be patched writes the lanes' register */
    bool renounced;      /* it is lifted for good */
    bool coming;         /* lifted: it has not been patched yet (seizing.c) */
    bool leaving;        /* lifted, and to be left (stopping.c) */
    unsigned filter;     /* by which of the session's its patches were chosen: space_context's */
    size_t threads;      /* about as many there are when spoor comes; 0: one */
    unsigned filters;    /* seccomp filters that need no look (permits.h) */
    taddr_t loader_hook; /* run-time address of _dl_debug_state; 0: none */
    struct program program;
    struct callers *callers; /* NULL: they are not asked for, or not yet */
    size_t traps;            /* how many of ours stand in it */
    bool trapped;            /* some did: threads may still report that they have come to one */
    bool armed;              /* its tasks' actions at SIGTRAP are known (traps.c) */
    struct {
        uint64_t now, added;
    } limit; /* of its memory (limits.h), as we have left it, and how much of it is for us */
    struct keys keys; /* by which its threads find their lanes */
    ARRAY(struct slab *) slabs;
    ARRAY(int) files; /* inherited: descriptors in the target that belong to slabs */
    ARRAY(struct patched) modules;
    ARRAY(struct patched) prepared; /* what is to be installed when all threads stand */
    const struct arrival *arrival;  /* whom patches come upon now; NULL: new modules only */
    struct aside *aside;            /* what is known of handlers that stand aside; NULL: nothing */
};

struct space_context { /* what all spaces of a session share */
    const struct session_options *options;
    struct catalog *catalog;
    struct trace_writer *writer;
    uint32_t ring_bytes;
    bool paused;     /* all spaces are to be lifted; new ones begin so */
    unsigned filter; /* how often the user has chosen anew */
};

/* For a process that stands at its exec event: maps the agent and a slab. Errors: "sandboxed",
 * "remote-call", "memory", "foreign-program" (not one of our processor), "unreadable". */
int space_new(const struct space_context *ctx, pid_t tid, struct space **ret, struct err *err);
/* For a process that runs: loads, plans and prepares what of it is to be traced, while it does. It
 * is not touched. Errors: "foreign-program", "unreadable", "read-maps". */
int space_foresee(const struct space_context *ctx, pid_t tid, struct space **ret, struct err *err);
/* All threads of that process stand still now: maps the agent and a slab. Errors: as space_new().
 */
int space_enter(const struct space_context *ctx, struct space *space, pid_t caller,
                struct err *err);
/* The copy that a fork makes. When its memory may not be opened, its maker's is borrowed for the
 * time being: that holds what both share, such as the frames of remote calls. */
struct space *space_fork(const struct space *parent, pid_t tid, struct err *err);
/* Another thread of the maker may have been answered between a fork and its report: what was mapped
 * then is not in the copy. */
void space_forget_unmapped(struct space *space);
/* Of a process that nothing of ours is in. */
struct space *space_blank(pid_t pid);
struct space *space_ref(struct space *space);
/* A thread by which /proc shows its memory; 0: none. */
pid_t space_thread(const struct space *space);
void space_unref(struct space *space);

/* Prepares for space_update() those that are mapped now; CALLER may run. */
int space_prepare(const struct space_context *ctx, struct space *space, pid_t caller,
                  struct err *err);
/* Looks at what is mapped: patches modules that are new and wanted, forgets those that are gone. */
int space_update(const struct space_context *ctx, struct space *space, pid_t caller,
                 struct err *err);
/*
 * The same as space_prepare() for all that is mapped, known or not: by what the catalog chooses
 * now, for space_replace(). The trace is told later, by space_tell_prepared().
 */
int space_prepare_anew(const struct space_context *ctx, struct space *space, pid_t caller,
                       struct err *err);
void space_tell_prepared(const struct space_context *ctx, struct space *space);
void space_forget_prepared(struct space *space);

/* Whether it is lifted because the user wants a pause. */
static inline bool space_is_paused(const struct space *s) {
    return s->lifted && !s->coming && !s->leaving;
}
/* Restores all text for a while; what is ours stays mapped. Errors: as space_restore(). */
int space_lift(struct space *space, pid_t tid, struct err *err);
/* The same for good, as space_give_back(). */
int space_lift_for_good(struct space *space, pid_t caller, struct err *err);
/* SPACE has just been entered: maps what is prepared, as if that had been lifted from it. What
 * cannot be mapped is left to space_lay(). */
void space_map_prepared(struct space *space, pid_t caller);
/* Writes what has been mapped so, and makes the pages that will be written the process's own, while
 * that runs and all of its threads are ours. */
void space_fill(const struct space *space);
/* SPACE is lifted: patches what it was lifted from, as far as that is still there, and what has
 * been mapped since. Errors: as space_update(). */
int space_lay(const struct space_context *ctx, struct space *space, pid_t caller, struct err *err);
/* Takes away all patches, which threads must have left (settle.h), and installs what was prepared
 * anew. Errors: as space_undo() and space_update(). */
int space_replace(const struct space_context *ctx, struct space *space, pid_t caller,
                  struct err *err);

/* Restores all text, which no thread may be about to leave by a patch. Errors: "text-changed",
 * "memory", "read-maps". */
int space_restore(struct space *space, pid_t tid, struct err *err);
/* The same for good: what pages hold of their files is the files' again, as far as CALLER may ask
 * the kernel for that. */
int space_give_back(struct space *space, pid_t caller, struct err *err);
/* Unmaps what is ours, when all text is restored and threads have left it (settle.h). Errors:
 * "sandboxed", "returns-later" (some is kept), "memory", "remote-call", "read-maps". */
int space_clear(struct space *space, pid_t caller, struct err *err);
/* Unmaps what CALLER has mapped for us. Errors: "remote-call". */
int space_unmap(const struct space *space, pid_t caller, taddr_t at, size_t size, struct err *err);
/* Restores all text and unmaps what is ours; threads must have left it (settle.h). Errors:
 * "sandboxed" (all text is restored), "memory", "remote-call", "read-maps". */
int space_undo(struct space *space, pid_t caller, struct err *err);

/* Whether CALLER's seccomp filters let us map code. Errors: "sandboxed". */
int space_check_sandbox(const struct space *space, pid_t caller, struct err *err);

/* A lane for a new thread; a sink when none can be had (then the thread goes untraced). */
struct slot *space_take_lane(const struct space_context *ctx, struct space *space, pid_t caller,
                             uint32_t stream);

/* Where its threads' lanes are when they have none: slab_sink(); 0 before there is a slab. */
taddr_t space_sink(const struct space *space);

/* The site that a thread at ADDR has left for its trampoline, which it has not reached yet; 0: ADDR
 * is not on such a way. */
taddr_t space_way_back(const struct space *space, taddr_t addr);
/* Which patched module's trampoline area, or way to it, holds ADDR; NULL if none. */
struct patched *space_owner_at(const struct space *space, taddr_t addr);
/* Which patched module's trampoline area holds ADDR; NULL if none. */
struct patched *space_area_at(const struct space *space, taddr_t addr);

#endif
