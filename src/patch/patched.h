/*
 * One module mapped into one address space, with its patches: the data, and lookups. patcher.h
 * changes the target. Nothing here knows the space; only functions with a MEMORY_FD read the
 * target.
 */
#pragma once

#include "base/bitmap.h"
#include "base/types.h"
#include "plan/plan.h"
#include "select/module_table.h"

struct space;
struct maps;
struct code_cache;

struct code { /* the emitted code of one mapped module; shared by forked spaces, and by processes
                that have the module and its area equally far apart (code_cache.h) */
    unsigned refs;
    taddr_t bias; /* for which it was emitted; struct patched may have another one */
    struct plan_code emitted;
    struct plan_cache_key key; /* of the entry that it is to be kept in; unknown: in none */
    unsigned number;           /* of the case there */
    struct plan_need need;     /* of the request */
    bool reused;               /* a second process has taken it over */
    int image_fd;       /* its bytes in a file (code_image.h); 0: none; -1: none can be made */
    size_t image_bytes; /* of that file */
    ARRAY(struct span)
    looked; /* link-time addresses: the text that held_look() looks at, when it
               was as in the file; none: not known yet */
    struct {
        uint8_t *missed, *inexact;
        size_t missed_exits[TIER_COUNT];
    } without_annex; /* the fields of `emitted` without the annex; NULLs: there is none */
};

struct patched { /* one module mapped into one space, or its annex */
    struct traced_module *traced_module;
    dev_t device; /* of its file, as /proc/PID/maps shows them */
    ino_t inode;
    taddr_t bias;
    taddr_t text;     /* start of its first executable map: shows whether it is still mapped */
    taddr_t area;     /* trampolines, and behind them the log (undolog.h); 0: not mapped */
    size_t area_size; /* of `room`, which is as large as the code may become */
    size_t room;
    taddr_t log;
    struct {
        uint8_t *bytes; /* until written to the target */
        size_t size;
    } undo;          /* the undo log */
    size_t islands;  /* how many of the code's islands are mapped */
    uint8_t *spared; /* bitmap by patch number: patches that are not written; NULL: all are */
    uint8_t *held;   /* a subset, because of the text that they replace (held.h); NULL: none */
    uint8_t *untraced, *changed; /* bitmaps by function: its patches are held; likewise, because it
                                    differs; NULL: none */
    bool checked;                /* its text was compared with its file a moment ago */
    enum area_state {
        AREA_EMPTY,
        AREA_FILLED,      /* its trampolines are written */
        AREA_UNPATCHABLE, /* likewise; its text could not be written, but threads were about to run
                             there */
    } state;
    bool imaged; /* the area is mapped from its code's file */
    bool kept;   /* its mappings stay: a thread will return there */
    struct code *code;
    struct code *first; /* of an annex (annex.h): the code of the module's first area; else NULL */
    bool guards;        /* it holds guarded functions (guard.h) */
    bool lane_guards;   /* it holds functions that write the lanes' register (lane_guard.h) */
    bool traced;        /* more than the dynamic linker's hook is to be patched */
    bool in_trace;      /* the trace has a record of it */
};

/* Bytes of a bitmap by function. */
size_t patched_function_bytes(const struct patched *p);
static inline bool patched_is_spared(const struct patched *p, size_t patch) {
    return p->spared && bitmap_test(p->spared, patch);
}

/* What to patch in a module. */
struct patch_request {
    struct space *space;
    pid_t caller;
    struct maps *maps;
    taddr_t break_start;      /* status_break_start(); 0: unknown, or far away */
    struct code_cache *codes; /* NULL: none */
    bool selected;            /* trace the selected functions; else patch only the hook */
    bool controls;            /* all control sites */
    struct span from; /* run-time addresses: filtered functions are traced when called from there */
    vaddr_t hook;     /* 0: none */
    vaddr_t guards[PLAN_GUARDS]; /* 0: none (guard.h) */
    uint32_t ring_bytes;
    enum overflow overflow;
};

/* If the module's text has a way at run-time address ADDR, that patch stays for good: a thread will
 * return there. */
void patched_keep_way(struct patched *p, taddr_t addr);
/* P is prepared and not installed yet: leaves out the site whose window holds run-time address
 * ADDR, and the sites that depend on it. */
void patched_spare(struct patched *p, taddr_t addr);
/* Leaves out patch number I, which is not written, and the sites that depend on it. */
void patched_spare_patch(struct patched *p, size_t i);
/* The patch of the site from which a thread comes to patch number I; I itself if that is the
 * site. */
size_t patched_site_of(const struct patched *p, size_t i);
/* The trap at run-time address ADDR, set or removed; NULL if there never was one. */
const struct trap *patched_trap_at(const struct patched *p, taddr_t addr);
/* Whether TRAP is in memory; and how many traps of P are. */
bool patched_trap_is_set(const struct patched *p, int memory_fd, const struct trap *trap);
size_t patched_count_traps(const struct patched *p, int memory_fd);
/* Whether memory holds P's patches or, if not PATCHED, the original bytes, whatever file is mapped
 * there now. */
bool patched_is_written(const struct patched *p, int memory_fd, bool patched);
/* Whether both are areas of the same file, mapped at the same place. */
bool patched_is_same(const struct patched *a, const struct patched *b);
/* For a forked space. */
struct patched patched_copy(const struct patched *p);
void patched_forget(struct patched *p);
/* One user less; NULL is allowed. */
void patched_unref_code(struct code *code);
/* Forgets which patches are not written. */
void patched_spare_none(struct patched *p);
/* Forgets the code only: it will be emitted anew. */
void patched_forget_code(struct patched *p);

/* _dl_debug_state, which the dynamic linker calls after it has mapped or unmapped a module; 0:
 * unknown. */
vaddr_t patched_loader_hook(const struct traced_module *loader);

/* If a thread at run-time address ADDR is between a site and its trampoline, that site; else 0. */
taddr_t patched_way_back(const struct patched *p, taddr_t addr);

/* By how much P's module is mapped above the address for which its code was emitted. */
static inline uint64_t patched_moved(const struct patched *p) { return p->bias - p->code->bias; }
/* The run-time address of island number I. */
static inline taddr_t patched_island_at(const struct patched *p, size_t i) {
    return p->code->emitted.islands[i].at + patched_moved(p);
}
/* How many islands, from FIRST on, are adjacent. */
size_t patched_island_run(const struct plan_code *code, size_t first);
/* The number of the first patch at link-time address AT or above. */
size_t patched_patch_at(const struct plan_code *code, vaddr_t at);

/* Whether run-time address ADDR is in the middle of a window: code that resumes
 * there goes astray. */
bool patched_is_inside_window(const struct patched *p, taddr_t addr);
/* The number of the patch of that window; the number of patches: there is none. */
size_t patched_window_at(const struct patched *p, taddr_t addr);
/* The trampoline's copy of the instruction at run-time address ADDR in a window, or the stub before
 * that copy; 0: none. */
taddr_t patched_copy_of(const struct patched *p, taddr_t addr);

/* The mark of the byte at OFFSET in the module's area; NULL: the agent or filler. */
const struct mark *patched_mark_at(const struct patched *p, uint64_t offset);
