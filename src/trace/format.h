/* The records of a trace as values, which writer and reader share. doc/trace-format.md describes
 * the bytes. */
#pragma once

#include "base/err.h"
#include "base/types.h"
#include "wire/ring.h"

enum { TRACE_FORMAT_VERSION = 1 };
/* Order and number are those of enum tier (plan/plan.h); a unit test compares them. */
enum { TRACE_TIERS = 6 };

struct trace_session {          /* written first */
    const char *version;        /* of spoor */
    const char *arch;           /* "x86_64" */
    const char *const *command; /* NULL-terminated */
    uint64_t start_unix_ns;     /* wall clock at start */
    uint32_t depth;             /* -D, or 0; views leave out deeper calls that were written */
    uint64_t threshold_ns;      /* -t, or 0; views leave out shorter calls that were written */
};

struct trace_clock { /* two readings at one moment; two such pairs give the scale */
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
    uint32_t maker; /* 1 + the stream of the thread whose stack it goes on with (fork, vfork): the
                       calls that were open there at `start` are open here; 0: none */
    bool shares;    /* it is in its maker's memory (vfork); else in a copy */
};

struct trace_extent {
    uint32_t stream;
    uint64_t low, high; /* lowest and highest stack pointer of the stream's events; 0, UINT64_MAX:
                           they may be anywhere; 0, 0: it has none */
    bool inner_stacks;  /* a call on the thread's own stack has ended after an event above it:
                           control  may have been on another stack, inside that one */
};

struct trace_function {
    uint64_t address; /* link-time */
    uint64_t size;
    const char *name;    /* mangled, or NULL */
    const char *aliases; /* further names separated by '\n', or NULL */
    uint8_t entry_tier;  /* 0 none, 1 pad, 2 jump, 3 hop, 4 pun, 5 trap */
    bool instrumented;
    bool exact;  /* all exits are patched, or none exist */
    bool partly; /* it was left out for a while, because of its text: calls may be missing */
    bool mark;   /* it is no function but a place, whose events are marks: a USDT probe */
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

/* True if M is not the functions of a file but the places of its marks (USDT probes). */
static inline bool trace_module_is_marks(const struct trace_module *m) {
    return m->function_count && m->functions[0].mark;
}

struct trace_map { /* a module was mapped into a process */
    uint32_t pid;
    uint32_t first_id; /* names the module */
    uint64_t bias, ticks;
};

struct trace_frame { /* a call that is open */
    uint32_t id;     /* function */
    uint64_t sp;     /* at the function's entry; 48 bits, as in events */
};

/* The calls of traced functions that were open on the thread's stack at TICKS, all of them. Open
 * calls that are not listed have ended without an event. Listed ones that are new have begun
 * without one. */
struct trace_frames {
    uint32_t stream;
    uint64_t ticks;
    uint32_t count;
    const struct trace_frame *frames; /* the outermost first */
};

/*
 * The callers of a call (--stack): a chain is the function that the call returns to, and that
 * function's chain. Chains have numbers. Numbers below CHAIN_FIRST say why a chain ends.
 */
enum chain_end {
    CHAIN_NONE,    /* no chain was recorded */
    CHAIN_WHOLE,   /* the thread began in the last function */
    CHAIN_CUT,     /* too little of the stack was copied */
    CHAIN_LIMITED, /* there are more callers than --stack allows */
    CHAIN_LOST,    /* the caller of the last function is not known */
    CHAIN_MISSED,  /* the ring had no room for the slice */
    CHAIN_FIRST = 8
};

struct trace_place {      /* a function, traced or not */
    const char *function; /* name of its symbol, or "" */
    const char *module;   /* file name, or "" */
    uint64_t address;     /* link-time start; the return address if the start is not known */
};

struct trace_chain {
    uint32_t callers; /* the chain of the function's own call: a smaller number */
    uint32_t place;   /* the function */
};

/* New places and chains, with consecutive numbers. */
struct trace_chains {
    uint32_t first_place, place_count;
    const struct trace_place *places;
    uint32_t first_chain, chain_count;
    const struct trace_chain *chains;
};

enum trace_change_kind {
    TRACE_PAUSED,  /* recording of the process stops */
    TRACE_RESUMED, /* recording of the process goes on */
    TRACE_CHOSEN,  /* other functions are chosen; `ticks` is the time of the request */
    TRACE_LEFT,    /* the process is detached and runs on */
    TRACE_ENDED,   /* the process ended while it was paused */
    TRACE_NAMED    /* the thread with the id `added` has the name `filter` */
};

/* A change of what is recorded (spoor ctl). */
struct trace_change {
    uint64_t ticks;
    uint32_t kind;           /* enum trace_change_kind; later versions may have others */
    uint32_t pid;            /* 0: all processes */
    uint64_t added, removed; /* TRACE_CHOSEN: numbers of functions; TRACE_NAMED: a thread, and 0 */
    const char *filter;      /* TRACE_CHOSEN: the options of the request, or NULL; TRACE_NAMED */
};

/* A pause that is subtracted from the calls of its thread. */
struct trace_pause {
    uint64_t ticks; /* of its end */
    uint64_t length;
};

/* Pauses of all threads (PAUSE_EVENT). */
struct trace_pauses {
    uint64_t count;               /* those in blocking system calls included */
    uint64_t ticks[PAUSE_CAUSES]; /* without them */
};

/* Adds the pause event with ID and VALUE to P. */
static inline void trace_pauses_add(struct trace_pauses *p, uint32_t id, uint64_t value) {
    p->count++;
    if (!(id & PAUSE_IN_CALL))
        p->ticks[id - PAUSE_EVENT] += value;
}

/* A call on the stack of a thread that a signal has ended. */
struct trace_death_frame {
    uint64_t pc;          /* in the process */
    bool interrupted;     /* by a signal handler, the frame before */
    bool inlined;         /* into the next frame, which has the same pc */
    const char *module;   /* file name, or "" */
    const char *function; /* demangled, or "" */
    const char *file;     /* of the source, or "" */
    uint32_t line;        /* 0: not known */
};

/* A process that a signal has ended. */
struct trace_death {
    uint32_t pid, tid;   /* tid: the thread that got the signal; 0: not known */
    const char *process; /* name of its executable */
    const char *thread;  /* its name */
    uint32_t signal;     /* number on the machine of the recording */
    int32_t code;        /* si_code */
    uint32_t sender;     /* process; 0: the kernel, or not known */
    uint64_t address;    /* si_addr of a fault */
    bool fault;          /* an instruction of the thread has caused it */
    bool core;           /* the kernel has written a core file */
    uint64_t ticks;      /* of the delivery */
    uint32_t calls;      /* on the stack, as far as it could be followed */
    uint32_t place;      /* the frame to name; count: none */
    uint32_t count;
    const struct trace_death_frame *frames; /* the innermost first; at most DEATH_FRAMES */
};
enum { DEATH_FRAMES = 1024 };

struct trace_parts {  /* of a recording that is cut into parts */
    uint32_t last;    /* number of the newest part, which has the trace's name; 0: it is not cut */
    uint32_t removed; /* the first ones */
    bool too_large;   /* they take more than was asked for: few tables fit into that */
};

/* The memory in which blocks wait for a processor or the disk, unless another is asked for. */
#define TRACE_MEMORY_BYTES ((uint64_t)1 << 30)

struct trace_totals {
    uint64_t entries, exits, lost, bytes;
    uint64_t controls;        /* of trace_writer_finish(): marks, and control events of functions */
    uint64_t unpacked_bytes;  /* of the file: payloads that nobody had the time to compress */
    uint64_t waiting_bytes;   /* the most memory that blocks have taken; 0: less than 8 MiB */
    struct trace_parts parts; /* of trace_writer_finish() */
};

/*
 * A recording in several files (--max-size): each part is a trace of its own. It begins with what
 * the parts before have said about processes and modules, and with the calls that are open.
 */
struct trace_part {
    uint32_t number;        /* from 1; 0: the trace is no part */
    bool repeated;          /* what stands before this record repeats the parts before */
    uint32_t count;         /* if repeated: streams that go on from the part before */
    const uint32_t *before; /* [stream]: its number there, + 1; 0: it was not there */
};

struct trace_end {  /* written last; absent after a crash */
    int32_t status; /* exit status as a shell shows it */
    uint64_t ticks;
    uint64_t lost;
    uint32_t snapshot;  /* its number (`status` is then meaningless); 0: this is no snapshot */
    const char *reason; /* why the snapshot was made, or NULL */
    uint64_t missed;    /* entries with CHAIN_MISSED */
    struct trace_pauses pauses;
    uint64_t waiting_bytes; /* the most memory that blocks took before they were written; 0: less
                               than 8 MiB, or not known */
    bool goes_on;           /* a later part of the recording follows; `status` is meaningless */
    uint64_t overwritten;   /* of a snapshot: older events, of which nothing is missing here */
    /* Reads of values that were withdrawn since they faulted too often, each in one process, and
     * the functions that they were of. Of snapshots and where `goes_on`: not known. */
    uint64_t withdrawn_reads, withdrawn_functions;
};
