/* An ELF file that processes have mapped: its plan, and what is chosen and patched of it. */
#pragma once

#include <sys/types.h>

#include "base/mem.h"
#include "elf/module.h"
#include "plan/plan.h"

struct libcalls;

struct called_name { /* a name by which executables call a function that has another name, or none
                      */
    uint32_t function;
    const char *name;
};

enum selectable { SELECTABLE_UNKNOWN, SELECTABLE_NO, SELECTABLE_YES };

/* What the present filter chooses. */
struct module_choice {
    uint8_t *selected;          /* bitmap by function index; NULL until prepared */
    uint8_t *filtered;          /* of those: only calls from executables count (libcalls.h) */
    size_t selected_count;      /* of those, with a tier */
    enum selectable selectable; /* whether the filter can select any function */
    bool any_caller;            /* what -F and -N choose is selected, for calls from anywhere */
};

/* How often the traps of a function are hit, in all processes together. */
struct trap_load {
    int64_t since_ns;
    uint32_t hits; /* since then */
    uint64_t all;
};

/* What depends on where the module is loaded, and on what was selected. */
struct load_outcome {
    uint8_t *ever_selected;               /* bitmaps by function */
    uint8_t *ever_patched;                /* of those */
    uint8_t *ever_inexact;                /* as in struct plan_code */
    uint8_t *ever_trapped;                /* the same */
    bool loaded;                          /* with the present selection */
    size_t missed_exits[TIER_COUNT];      /* of this selection, by tier: the fewest of all places */
    size_t past_missed_exits[TIER_COUNT]; /* the most of all earlier selections */
    size_t trapped_exits[TIER_COUNT];     /* the most of all places */
};

struct traced_module {
    dev_t device;
    ino_t inode;
    int64_t
        changed_ns; /* st_ctime, which no program can set: a file that is rewritten has another */
    bool fresh;     /* the file had just been changed: the next change may have the same time */
    struct module *module;
    struct plan *plan; /* NULL: not planned, or not plannable (see why) */
    struct err why;    /* nothing of it is traced */
    bool warned;       /* the user has been told why */
    uint32_t first_id; /* 0: its functions have no numbers yet */
    enum tier only;    /* the only tier to use; TIER_NONE: any */
    struct module_choice choice;
    uint8_t *named;  /* bitmap: functions that filters have named in full so far; may have traps */
    uint8_t *sliced; /* bitmap: functions whose callers are recorded; NULL: none */
    ARRAY(struct called_name) called;
    struct libcalls *libcalls; /* what it calls itself; NULL until it is met as an executable */
    struct load_outcome outcome;
    size_t instrumented_count;    /* functions that the trace says were ever patched */
    size_t missed_count;          /* ever selected, but patched at no place */
    bool in_trace;                /* the trace describes it as it is now */
    bool traps_reported;          /* the user has been told that it has traps */
    struct trap_load *trap_loads; /* by function; NULL: no trap was hit yet */
    uint8_t *without_traps;       /* bitmap: functions that have lost their traps; NULL: none */
};
