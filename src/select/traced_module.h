/* An ELF file that processes have mapped: its plan, the choice of its functions, their patches. */
#pragma once

#include <sys/types.h>

#include "base/file_id.h"
#include "base/mem.h"
#include "cache/plan_cache.h"
#include "elf/module.h"
#include "elf/probes.h"
#include "plan/plan.h"

struct libcalls;

/* A name by which executables may call a function. */
struct called_name {
    uint32_t function;
    const char *name;
    bool imported; /* an executable imports it: views show the function by this name */
};

enum selectable { SELECTABLE_UNKNOWN, SELECTABLE_NO, SELECTABLE_YES };

/* What the present filter chooses. */
struct module_choice {
    uint8_t *selected;          /* bitmap by function index; NULL until prepared */
    uint8_t *filtered;          /* selected functions of which only library calls are recorded */
    size_t selected_count;      /* selected functions that have a tier */
    enum selectable selectable; /* YES: the filter may select a function */
    ARRAY(struct plan_capture) captures; /* what their sites record besides, ascending */
    ARRAY(struct plan_probe) marks;      /* USDT probes, by address */
    bool any_caller; /* functions are selected by -F and -N, for calls from anywhere */
};

/* How often something costly happens in a function, in all processes together. */
struct function_load {
    int64_t since_ns;
    uint32_t hits; /* since since_ns */
    uint64_t all;  /* hits since the recording began */
};

/* Counts a hit. Returns whether there are more than MOST within a second now. */
bool function_load_count(struct function_load *load, uint32_t most);

/* Functions that are not patched now because of their text in memory: bitmaps. */
struct left_out {
    const uint8_t *all, *changed; /* it can be written, or it differs from the file; it differs */
};

/* How the functions of a module were patched at all places where it is loaded. */
struct load_outcome {
    uint8_t *ever_selected;               /* bitmaps by function */
    uint8_t *ever_patched;                /* selected functions that had a patch at their entry */
    uint8_t *ever_inexact;                /* as in struct plan_code */
    uint8_t *ever_trapped;                /* as in struct plan_code */
    uint8_t *ever_changed;                /* selected functions whose text differed from the file */
    uint8_t *ever_open;                   /* likewise: left out since their text was writable */
    bool loaded;                          /* a place with the present selection was added */
    size_t missed_exits[TIER_COUNT];      /* by tier: the least of all places with this selection */
    size_t past_missed_exits[TIER_COUNT]; /* by tier: the most of all earlier selections */
    size_t trapped_exits[TIER_COUNT];     /* by tier: the most of all places */
};

struct traced_module {
    struct file_id file;
    struct module *module;
    const struct plan_cache *cache;
    struct plan_cache_key key;     /* for the cache */
    struct plan *plan;             /* NULL: not planned yet, or planning has failed */
    struct err why;                /* why planning has failed; code 0: it has not */
    struct signatures *signatures; /* NULL: not asked for yet (select/arguments.h) */
    bool warned;                   /* the user has been warned of why */
    uint32_t first_id;             /* 0: its functions have no numbers yet */
    struct probes probes;          /* in its notes; read when they are asked for */
    bool probes_known;             /* they were */
    uint32_t first_mark_id;        /* event id of probe 0 */
    enum tier only;                /* the only tier to use; TIER_NONE: any */
    struct module_choice choice;
    uint8_t *named;  /* bitmap: functions that a filter has named in full: they may have traps */
    uint8_t *sliced; /* bitmap: functions whose callers are recorded; NULL: none */
    ARRAY(struct called_name) called;
    struct libcalls *libcalls; /* its own library calls; NULL until a process executes it */
    struct load_outcome outcome;
    size_t instrumented_count;        /* functions that the trace says were ever patched */
    size_t missed_count;              /* functions that were selected, but patched at no place */
    bool installed;                   /* patches of it were written into some process */
    bool in_trace;                    /* the trace describes it as it is now */
    bool traps_reported;              /* the user knows that it has traps */
    bool change_reported;             /* the user knows that functions differ in memory */
    struct function_load *trap_loads; /* by function; NULL: no trap was hit yet */
    uint8_t *without_traps;           /* bitmap: functions that have lost their traps; NULL: none */
    struct function_load *read_loads; /* of faults of reads; NULL: there was none yet */
    size_t faulting;        /* functions whose reads have faulted, and that have not lost them */
    uint8_t *without_reads; /* bitmap: functions that have lost reads; NULL: none */
    size_t withdrawn_reads; /* each in one process */
};
