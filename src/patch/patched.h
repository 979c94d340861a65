/*
 * One module that is mapped into one address space, with its patches: the data, and lookups in it.
 * patcher.h changes the target. Nothing here knows the space, and only functions with a MEMORY_FD
 * read the target.
 */
#pragma once

#include "base/bitmap.h"
#include "base/types.h"
#include "plan/plan.h"
#include "select/module_table.h"

struct space;
struct maps;

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
    struct traced_module *entry;
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
    enum area_state {
        AREA_EMPTY,
        AREA_FILLED,      /* it holds what it is to hold */
        AREA_UNPATCHABLE, /* likewise; text could not be written, but threads were about to run
                             there */
    } state;
    bool kept; /* what it has mapped stays: a thread is to come back there */
    struct code *code;
    struct code *first; /* of an annex (annex.h): the code of the module's first area; else NULL */
    bool traced;        /* more than the dynamic linker's hook is to be patched */
    bool in_trace;      /* the trace knows of that */
};

static inline bool patched_is_spared(const struct patched *p, size_t patch) {
    return p->spared && bitmap_test(p->spared, patch);
}

/* What is to be patched of a module. */
struct patch_request {
    struct space *space;
    pid_t caller;
    struct maps *maps;
    bool selected;    /* trace the selected functions; else only the hook */
    bool controls;    /* all control sites */
    struct span from; /* run-time addresses: calls of filtered functions from there count */
    vaddr_t hook;     /* 0: none */
    uint32_t ring_bytes;
    enum overflow overflow;
};

/* A thread will come to the way at run-time address ADDR, if the module's text has one there: that
 * patch stays for good. */
void patched_leave_way(struct patched *p, taddr_t addr);
/* P is prepared and not installed yet: leaves out the site whose window holds run-time address
 * ADDR, and the sites that rest on it. */
void patched_spare(struct patched *p, taddr_t addr);
/* The trap at run-time address ADDR, whether it is set or not; NULL if there has been none. */
const struct trap *patched_trap_at(const struct patched *p, taddr_t addr);
/* Whether a trap of P is in memory; and how many are. */
bool patched_trap_is_set(const struct patched *p, int memory_fd, const struct trap *trap);
size_t patched_count_traps(const struct patched *p, int memory_fd);
/* Whether its patches are in memory or, if not PATCHED, the original bytes, whatever file is
 * mapped there now. */
bool patched_is_written(const struct patched *p, int memory_fd, bool patched);
/* For the copy of its space. */
struct patched patched_copy(const struct patched *p);
void patched_forget(struct patched *p);
/* Forgets the code alone: it will be emitted anew. */
void patched_forget_code(struct patched *p);

/* The function that the dynamic linker calls after it has mapped or unmapped something; 0:
 * unknown. */
vaddr_t patched_loader_hook(const struct traced_module *loader);

/* The site of a thread that stands at run-time address ADDR, between the site and its trampoline;
 * 0: ADDR is not on such a way. */
taddr_t patched_way_back(const struct patched *p, taddr_t addr);

/* How many of the islands from FIRST on lie side by side. */
size_t patched_island_run(const struct plan_code *code, size_t first);
/* The number of the first patch at link-time address AT or above. */
size_t patched_patch_at(const struct plan_code *code, vaddr_t at);

/* Whether run-time address ADDR is in the middle of a window: code that resumes there goes astray.
 */
bool patched_is_inside_window(const struct patched *p, taddr_t addr);
/* The copy of the instruction at run-time address ADDR, in a window, or of the stub before it; 0:
 * there is none. */
taddr_t patched_copy_of(const struct patched *p, taddr_t addr);

/* The mark that OFFSET bytes into the module's area belongs to; NULL: the agent or filler. */
const struct mark *patched_mark_at(const struct patched *p, uint64_t offset);
