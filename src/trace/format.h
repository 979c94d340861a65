/*
 * What a trace consists of, as values: the vocabulary that writer and reader
 * share. doc/trace-format.md describes the bytes.
 */
#pragma once

#include "base/err.h"
#include "base/types.h"
#include "wire/ring.h"

enum { TRACE_FORMAT_VERSION = 1 };
/* Same order and number as enum tier of plan/plan.h; a unit test holds them together. */
enum { TRACE_TIERS = 6 };

struct trace_session {          /* written first */
    const char *version;        /* of spoor */
    const char *arch;           /* "x86_64" */
    const char *const *command; /* NULL-terminated */
    uint64_t start_unix_ns;     /* wall clock at start */
    uint32_t depth;             /* -D, 0: none. What views show of the trace is no deeper, and */
    uint64_t threshold_ns;      /* -t, 0: none. no shorter, whatever has been written */
};

struct trace_clock { /* a pair of readings taken together; two or more fix the scale */
    uint64_t ticks;
    uint64_t ns; /* CLOCK_MONOTONIC */
};

struct trace_event {
    uint64_t ticks;
    uint32_t site; /* function id << 2 | enum event_kind */
    uint64_t sp;   /* 48 bits; as in wire/ring.h */
};

struct trace_process {
    uint32_t pid, parent; /* parent 0: none known */
    uint64_t start;       /* ticks */
    const char *command;  /* name of its executable */
};

struct trace_thread { /* one stream of events */
    uint32_t stream;  /* dense from 0, unique in the trace */
    uint32_t pid, tid;
    uint64_t start;                 /* ticks */
    uint64_t stack_low, stack_high; /* its native stack's reservation; 0,0 unknown */
    const char *name;
};

struct trace_extent { /* where the stacks are that a stream's events tell of */
    uint32_t stream;
    uint64_t low, high; /* their lowest and highest stack pointers; 0, UINT64_MAX: anywhere;
                           0, 0: there are none */
};

struct trace_function {
    uint64_t address; /* link-time */
    uint64_t size;
    const char *name;    /* mangled, or NULL */
    const char *aliases; /* further names separated by '\n', or NULL */
    uint8_t entry_tier; /* index into CONTRACT.md's tiers: 0 none 1 pad 2 jump 3 hop 4 pun 5 trap */
    bool instrumented;
    bool exact; /* all exits patched, or none exist */
};

struct trace_refused {
    const char *reason;
    uint64_t count;
};

struct trace_module {  /* one ELF file as planned; shared by all processes that map it */
    uint32_t first_id; /* function i of this module has event id first_id + i */
    const char *path, *name;
    uint8_t build_id[32];
    uint8_t build_id_size;
    const struct trace_function *functions;
    uint32_t function_count;
    uint64_t seen, instrumented, exact_exit;
    uint64_t tiers[TRACE_TIERS], exit_tiers[TRACE_TIERS];
    const struct trace_refused *refused;
    uint32_t refused_count;
};

struct trace_map { /* a module was mapped into a process */
    uint32_t pid;
    uint32_t first_id; /* names the module */
    uint64_t bias, ticks;
};

struct trace_frame { /* a call that is open */
    uint32_t id;     /* function */
    uint64_t sp;     /* that the function had at its entry; 48 bits, as in events */
};

/* At TICKS the stack of the stream's thread consisted of exactly these calls of traced functions:
 * those that were open before and are not among them have ended unseen, and those among them that
 * were not have begun so. */
struct trace_frames {
    uint32_t stream;
    uint64_t ticks;
    uint32_t count;
    const struct trace_frame *frames; /* the outermost first */
};

/*
 * Who called, of calls for which that was recorded (--stack): a chain is the function that the call
 * returns to, and that function's chain. Chains have numbers; the first ones are how a chain ends.
 */
enum chain_end {
    CHAIN_NONE,    /* not a chain: none was recorded */
    CHAIN_WHOLE,   /* nobody has called the last one: the thread began there */
    CHAIN_CUT,     /* more of the stack would have been needed */
    CHAIN_LIMITED, /* there are more callers than were asked for */
    CHAIN_LOST,    /* the caller of the last one cannot be told */
    CHAIN_MISSED,  /* the ring had no room for it */
    CHAIN_FIRST = 8
};

struct trace_place {      /* a function, traced or not */
    const char *function; /* as its symbol table names it; "" when it does not */
    const char *module;   /* file name, or "" */
    uint64_t
        address; /* where it begins, as linked; or the return address, if not even that is known */
};

struct trace_chain {
    uint32_t callers; /* the chain of the function itself: a smaller number */
    uint32_t place;
};

/* Places and chains, from the first new ones on. */
struct trace_chains {
    uint32_t first_place, place_count;
    const struct trace_place *places;
    uint32_t first_chain, chain_count;
    const struct trace_chain *chains;
};

enum trace_change_kind {
    TRACE_PAUSED,  /* from then on nothing of the process is recorded */
    TRACE_RESUMED, /* from then on it is again */
    TRACE_CHOSEN,  /* other functions are recorded: asked for then, done within moments */
    TRACE_LEFT,    /* the process runs on untraced */
    TRACE_ENDED    /* it has ended while it was paused */
};

/* What is recorded has changed while the programs ran. */
struct trace_change {
    uint64_t ticks;
    uint32_t kind;           /* enum trace_change_kind; others are of later spoors */
    uint32_t pid;            /* 0: all processes */
    uint64_t added, removed; /* of TRACE_CHOSEN: how many functions */
    const char *filter;      /* likewise: the options that have asked for it, or NULL */
};

struct trace_end {  /* written last; absent after a crash */
    int32_t status; /* wait status as the shell would show it */
    uint64_t ticks;
    uint64_t lost;
    uint32_t snapshot;  /* its number; the program ran on, and has no status. 0: none */
    const char *reason; /* why it was made, or NULL */
    uint64_t missed;    /* entries whose callers the ring had no room for (CHAIN_MISSED) */
};
