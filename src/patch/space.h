/*
 * One address space: the memory that spoor has mapped into it, the modules that are patched, and
 * the lanes of its threads. This header has the data, which all other files of this folder share:
 *
 *     space_lifecycle.h   makes a space, copies it at a fork, and removes all of it
 *     install.h           maps the agent and the lanes
 *     modules.h           finds and patches modules
 *     unpatch.h           takes patches away for a while, or for good, and writes them again
 *
 * A space is made at exec, copied at fork, and shared by threads and by vfork. Each function that
 * changes the target needs all threads of the space stopped; its argument CALLER is one of them
 * that can make system calls for spoor.
 */
#pragma once

#include "patch/lane_lookup.h"
#include "patch/patched.h"
#include "ring/lanes.h"
#include "target/thread.h"

struct program {                 /* with --libcalls: whose library calls are traced */
    struct traced_module *entry; /* NULL: not known yet */
    struct span text;
};

/*
 * What spoor has changed in the process:
 *
 *     UNTRACED ──space_install()──▶ PATCHED ──space_map_prepared()──▶ COMING
 *                                 │  ▲ ▲                            │   │
 *                    space_unpatch() │  │ └─────── space_repatch(), ───────┘   │
 *                                 ▼  │         space_replace()          │
 *                                PAUSED                                 │
 *                                 │ └───────── space_give_up() ───────┐ │
 *                                 │                                   ▼ ▼
 *         space_unpatch_for_good()   │                                 GIVEN_UP
 *         (from PATCHED, too)     ▼                                     │
 *                                LEAVING ◀─── space_unpatch_for_good() ────┘
 *
 * A copy of a process that a fork makes begins in the state of the original.
 */
enum space_state {
    SPACE_UNTRACED, /* nothing of spoor's is mapped */
    SPACE_PATCHED,  /* modules are patched as they come */
    SPACE_COMING,   /* attach: areas are mapped, and no text is patched yet */
    SPACE_PAUSED,   /* all text is the program's for a while; areas stay mapped */
    SPACE_GIVEN_UP, /* all text is the program's for good; areas stay mapped */
    SPACE_LEAVING,  /* the same, and the process is about to be left */
};

/* What a spoor that was killed has left (leftovers.h). */
struct inherited {
    bool agent_stays; /* and the lanes: a thread is to come back there */
    ARRAY(int) files; /* descriptors in the target that belong to slabs */
};

struct space {
    unsigned refs;
    enum space_state state; /* space_set_state() */
    pid_t pid; /* for messages and the trace; that thread may have ended: space_thread() */
    struct remote_site remote;
    taddr_t room;              /* for mappings that can be anywhere; 0: not known */
    taddr_t agent;             /* one page with the agent, for remote calls */
    bool borrowed;             /* remote.memory_fd is that of the space it was copied from */
    bool stopping;             /* being changed: reports of its tasks wait */
    bool writes_lane_register; /* so does some code that was to be patched (x86-64: gs) */
    unsigned filter;           /* the number of the filter that chose its patches (space_context) */
    size_t threads;            /* about how many it has at attach; 0: one */
    unsigned filters;          /* seccomp filters that need no look (permits.h) */
    taddr_t loader_hook;       /* run-time address of _dl_debug_state; 0: none */
    struct program program;
    struct callers *callers; /* NULL: no callers are recorded, or not yet */
    struct {
        size_t set;              /* how many breakpoints the text has now */
        bool any;                /* there were some: threads may still report one */
        bool armed;              /* the process's action at SIGTRAP is known (traps.c) */
    } traps;                     /* breakpoints.h */
    struct inherited *inherited; /* its lanes are not this spoor's; NULL: nothing is inherited */
    struct {
        uint64_t now, added;
    } limit; /* of its memory (limits.h): as spoor has left it, and the part that spoor added */
    struct lane_lookup lookup; /* how its threads find their lanes */
    ARRAY(struct slab *) slabs;
    ARRAY(struct patched) modules;
    ARRAY(struct patched) prepared; /* to be installed when all threads stand */
    const struct thread_positions
        *positions;                  /* while patches are written; NULL: new modules only */
    struct parked_sigframes *parked; /* NULL: none are looked for */
};

struct space_context { /* what all spaces of a session share */
    const struct record_options *options;
    struct module_table *module_table;
    struct trace_writer *writer;
    uint32_t ring_bytes;
    bool paused;     /* all spaces are to be unpatched; new ones begin so */
    unsigned filter; /* number of the present filter */
};

/* Of a process in which spoor has nothing. */
struct space *space_new_untraced(pid_t pid);
struct space *space_ref(struct space *space);
void space_unref(struct space *space);
void space_forget_prepared(struct space *space);

/* A thread by which /proc shows its memory; 0: none. */
pid_t space_thread(const struct space *space);
/* Asserts that the drawing has an arrow for it. */
void space_set_state(struct space *space, enum space_state state);
/* Whether all text is the program's, though areas are mapped. */
static inline bool space_is_unpatched(const struct space *s) { return s->state > SPACE_PATCHED; }
/* The same because the user wants a pause, or because patches cannot be replaced. */
static inline bool space_is_paused(const struct space *s) {
    return s->state == SPACE_PAUSED || s->state == SPACE_GIVEN_UP;
}
/* The lane of threads that have none: slab_sink(); 0 before there is a slab. */
taddr_t space_sink(const struct space *space);

/* The site of a thread that stands at ADDR, between the site and its trampoline; 0: ADDR is not on
 * such a way. */
taddr_t space_way_back(const struct space *space, taddr_t addr);
/* The patched module whose trampoline area, or way to it, holds ADDR; NULL: none. */
struct patched *space_owner_at(const struct space *space, taddr_t addr);
/* The patched module whose trampoline area holds ADDR; NULL: none. */
struct patched *space_area_at(const struct space *space, taddr_t addr);
