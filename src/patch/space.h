/*
 * One address space: what spoor has mapped into it, its patched modules, and the lanes of its
 * threads. This header has the data; these files change it:
 *
 *     space_lifecycle.h   makes a space, copies it at a fork, and removes all of it
 *     install.h           maps the agent and the lanes
 *     modules.h           finds and patches modules
 *     unpatch.h           takes patches away, for a while or for good, and writes them again
 *
 * A space is made at exec, copied at fork, and shared by threads and by vfork. A function that
 * changes the target needs all threads of the space stopped. Its argument CALLER is one of them
 * that can make remote calls.
 */
#pragma once

#include "patch/lane_lookup.h"
#include "patch/patched.h"
#include "patch/writable_text.h"
#include "ring/lanes.h"
#include "target/thread.h"

struct program {                      /* with --libcalls: its library calls are traced */
    struct traced_module *executable; /* NULL: not known yet */
    struct span text;
};

/*
 * What spoor has changed in the process:
 *
 *     from                        to          by
 *     UNTRACED                    PATCHED     space_install()
 *     PATCHED                     COMING      space_map_prepared()
 *     PATCHED                     PAUSED      space_unpatch()
 *     COMING, PAUSED              PATCHED     space_repatch(), space_replace()
 *     COMING, PAUSED              GIVEN_UP    space_give_up()
 *     PATCHED, PAUSED, GIVEN_UP   LEAVING     space_unpatch_for_good()
 *
 * A forked process begins in its parent's state.
 */
enum space_state {
    SPACE_UNTRACED, /* spoor has mapped nothing */
    SPACE_PATCHED,  /* modules are patched as they come */
    SPACE_COMING,   /* attach: areas are mapped, and no text is patched yet */
    SPACE_PAUSED,   /* all text is restored for a while; areas stay mapped */
    SPACE_GIVEN_UP, /* all text is restored for good; areas stay mapped */
    SPACE_LEAVING,  /* the same, and the process is about to be detached */
};

/* Why the program's own use of the register by which stubs find lanes (x86-64: gs) cannot be told
 * before it happens. Then the process is not traced. */
enum lane_conflict {
    LANE_CONFLICT_NONE,
    LANE_CONFLICT_CODE,  /* code that no guard precedes may write it (lane_guard.h) */
    LANE_CONFLICT_PLACE, /* a thread has passed the place of a guard */
    LANE_CONFLICT_VALUE, /* a thread has written it while the space was unpatched */
};

/* What is known of the process's actions at SIGSEGV and SIGBUS, if stubs read values
 * (tracer/read_faults.c):
 *
 *     from                      to         by
 *     UNKNOWN, NOTED, STALE     NOTED      read_faults_note()
 *     NOTED, STALE              STALE      read_faults_poll()
 *     NOTED, STALE              WATCHED    begin_watch()
 *     WATCHED                   NOTED      end_watch()
 */
enum reads_state {
    READS_UNKNOWN, /* no stub reads values, or the actions have not been read yet */
    READS_NOTED,   /* they have been read */
    READS_STALE,   /* they may have changed since */
    READS_WATCHED, /* a read has faulted: masks and actions are followed */
};

/* What a killed spoor has left (leftovers.h). */
struct inherited {
    bool agent_stays; /* and so do the lanes: a thread will return there */
    ARRAY(int) files; /* the target's open descriptors of slabs */
};

struct space {
    unsigned refs;
    enum space_state state; /* space_set_state() */
    pid_t pid; /* for messages and the trace; that thread may have ended (space_thread()) */
    struct remote_site remote;
    taddr_t room;  /* for mappings that may be anywhere; 0: unknown */
    taddr_t agent; /* the agent's page, for remote calls */
    bool borrowed; /* remote.memory_fd belongs to the space it was copied from */
    bool stopping; /* its tasks' reports wait while it is changed */
    int unlisted;  /* errno: a list of its threads failed, some may be untraced; or 0 */
    enum lane_conflict lane_conflict;
    unsigned filter; /* the number of the filter that chose its patches (space_context) */
    struct {
        unsigned stops;  /* so many are still to postpone timers */
        bool exact;      /* by no more than they take */
        bool none;       /* none ran when they were looked at, and the process has stood since */
    } itimers;           /* itimers.h */
    size_t threads;      /* estimate at attach; 0: one */
    unsigned filters;    /* number of trusted seccomp filters (permits.h) */
    bool begins;         /* its program was just executed: no thread has waited in the agent yet */
    taddr_t loader_hook; /* run-time address of _dl_debug_state; 0: none */
    struct program program;
    struct callers *callers; /* NULL: callers are not recorded, or not yet */
    struct {
        size_t set; /* breakpoints that are set now */
        bool any;   /* some were set: threads may still report one */
        bool armed; /* the process's action at SIGTRAP is known (traps.c) */
    } traps;        /* breakpoints.h */
    struct {
        enum reads_state state; /* space_set_reads() */
        bool stay;              /* a read that often faults could not be withdrawn */
    } reads;
    struct inherited *inherited; /* its lanes are a killed spoor's; NULL: it has none such */
    struct {
        uint64_t now, added;
    } limit; /* RLIMIT_AS (limits.h): as spoor has set it, and how much of it spoor added */
    struct lane_lookup lookup;
    ARRAY(struct slab *) slabs;
    ARRAY(struct patched) modules;
    struct writable_text writable;  /* when text was last written (held.h) */
    ARRAY(struct patched) prepared; /* installed when all threads are stopped */
    const struct thread_positions
        *positions;                  /* while patches are written; NULL: new modules only */
    struct parked_sigframes *parked; /* NULL: not searched for */
};

struct space_context { /* what all spaces of a recording share */
    const struct record_options *options;
    struct module_table *module_table;
    struct trace_writer *writer;
    uint32_t ring_bytes;
    struct code_cache *codes; /* NULL: none */
    bool paused;              /* all spaces are to be unpatched; new ones begin unpatched */
    unsigned filter;          /* number of the present filter */
};

/* A space of a process in which spoor has nothing. */
struct space *space_new_untraced(pid_t pid);
struct space *space_ref(struct space *space);
void space_unref(struct space *space);
void space_forget_prepared(struct space *space);

/* A thread through which /proc shows the space's memory; 0: none. */
pid_t space_thread(const struct space *space);
/* The only ways to change the two states. They assert that the tables above have the transition. */
void space_set_state(struct space *space, enum space_state state);
void space_set_reads(struct space *space, enum reads_state state);
/* Whether all text is restored, though areas are mapped. */
static inline bool space_is_unpatched(const struct space *s) { return s->state > SPACE_PATCHED; }
/* Whether text is restored because of a pause, or because patches cannot be replaced. */
static inline bool space_is_paused(const struct space *s) {
    return s->state == SPACE_PAUSED || s->state == SPACE_GIVEN_UP;
}
/* The lane of threads that have none of their own: slab_sink(); 0 before there is a slab. */
taddr_t space_sink(const struct space *space);

/* If a thread at ADDR is between a site and its trampoline, that site; else 0. */
taddr_t space_way_back(const struct space *space, taddr_t addr);
/* The patched module whose area, or way to it, holds ADDR; else NULL. */
struct patched *space_owner_at(const struct space *space, taddr_t addr);
/* The patched module whose area holds ADDR; else NULL. */
struct patched *space_area_at(const struct space *space, taddr_t addr);
