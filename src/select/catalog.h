/*
 * The ELF files a session has met: each is loaded, planned and numbered once,
 * however many processes map it, and described in the trace when it is first
 * instrumented.
 */
#ifndef SPOOR_SELECT_CATALOG_H
#define SPOOR_SELECT_CATALOG_H

#include "base/mem.h"
#include "elf/module.h"
#include "plan/plan.h"
#include "select/options.h"
#include "target/maps.h"

struct catalog;
struct libcalls;
struct triggers;

struct called_name { /* by which a function that bears another name, or none, is called */
    uint32_t function;
    const char *name;
};

struct entry {
    dev_t device;
    ino_t inode;
    int64_t
        changed_ns; /* of its status, which nobody can set: a file written anew is another one */
    bool fresh;     /* had just been changed: what is written right after bears the same time */
    struct module *module;
    struct plan *plan; /* NULL: not plannable (see why) */
    struct err why;    /* nothing of it is traced */
    bool warned;       /* the user knows that */
    uint32_t first_id;
    uint8_t *selected; /* bitmap by function index; NULL until prepared */
    uint8_t *named;    /* likewise: those that filters have named so far, and that may have traps */
    uint8_t *filtered; /* of those: only calls from executables count (libcalls.h) */
    uint8_t *sliced;   /* likewise: those whose callers are asked for; NULL: none */
    ARRAY(struct called_name) called;
    struct libcalls *libcalls; /* what it calls itself; NULL until it is met as an executable */
    size_t selected_count;     /* of those, with a tier */
    size_t instrumented_count; /* ever, as far as the trace was told */
    size_t missed_count;       /* ever selected, but without a patch wherever it was loaded */
    struct load_outcome {      /* what depends on where it is loaded, and on what was selected */
        uint8_t *chosen;       /* bitmaps by function: ever selected */
        uint8_t *placed;       /* of those: ever patched */
        uint8_t *inexact;      /* ever, as in struct plan_code */
        uint8_t *trapped;      /* ever */
        bool judged;           /* the present selection has been loaded somewhere */
        size_t missed_exits[TIER_COUNT];      /* of it, by tier, when they were fewest */
        size_t past_missed_exits[TIER_COUNT]; /* of earlier ones, of the one that had most */
        size_t trapped_exits[TIER_COUNT];     /* when they were most */
    } outcome;
    bool judged, selectable;      /* whether filters can select anything of it, once judged */
    bool chosen;                  /* selected is of the present filters */
    bool wanted;                  /* what -F and -N choose is selected, whoever calls it */
    bool described;               /* in the trace */
    enum tier only;               /* the one that is wanted; TIER_NONE: any */
    bool traps_told;              /* the user knows that it has traps */
    struct trap_load *trap_loads; /* by function; NULL: no trap was met yet */
    uint8_t *without_traps;       /* bitmap by function: withdrawn; NULL: none is */
};

/* How often the traps of a function are met, in all processes together. */
struct trap_load {
    int64_t since_ns;
    uint32_t hits; /* since then */
    uint64_t all;
};

struct asked;

struct catalog *catalog_new(const struct session_options *options, struct trace_writer *writer);
/* Those whose entries leave slices; NULL: there are none. It is the catalog's. */
const struct asked *catalog_asked(const struct catalog *catalog);
/* TRIGGERS shall know of all functions that are selected; before any is. */
void catalog_watch(struct catalog *catalog, struct triggers *triggers);
void catalog_free(struct catalog *catalog);

/* Whether -M, or a module named in -F, asks for the file at PATH; IS_MAIN: the process's own
 * executable. */
bool catalog_wants(const struct catalog *catalog, const char *path, bool is_main);
/* Whether anything but main executables can be wanted at all. */
bool catalog_wants_libraries(const struct catalog *catalog);

/*
 * The entry of the file that MAP maps into process TID. Errors: "replaced" (the file is no longer
 * on disk under its name, nor to be had from the process), those of module_load_fd().
 */
int catalog_find(struct catalog *catalog, pid_t tid, const struct map *map, struct entry **ret,
                 struct err *err);
/* Whether the filters can select any of its functions. */
bool catalog_may_select(struct catalog *catalog, struct entry *entry);
/* Plans those of COUNT entries that are not planned yet, on all processors. */
void catalog_plan(struct entry *const *entries, size_t count);
/* What an executable calls; NULL without --libcalls. */
struct libcalls *catalog_libcalls(struct catalog *catalog, struct entry *program);
/* Plans, and selects: WANTED, as catalog_wants() says, and what CALLS, which may be NULL, lead to.
 * Returns whether anything is to be instrumented. */
bool catalog_prepare(struct catalog *catalog, struct entry *entry, bool wanted,
                     const struct libcalls *calls);
/* Tells the trace of a module that is now instrumented by CODE; again when more of it is, or when
 * it is elsewhere where other sites have patches. */
void catalog_describe(struct catalog *catalog, struct entry *entry, const struct plan_code *code);

/* Which functions -F, -N and -M choose. */
struct filter {
    const struct pattern *const *filters;
    size_t filter_count;
    const struct pattern *const *excludes;
    size_t exclude_count;
    const char *const *modules;
    size_t module_count;
};
struct filter filter_of_options(const struct session_options *options);
/*
 * Chooses anew, by FILTER, which must outlive the catalog: of every entry nothing is selected until
 * it is prepared again. What was chosen before is kept aside, until one of the other two is called.
 */
void catalog_choose(struct catalog *catalog, const struct filter *filter);
/* The new choice stays: how many functions it has that the one before had not, and the reverse. */
void catalog_keep_choice(struct catalog *catalog, size_t *ret_added, size_t *ret_removed);
/* The choice before that again. */
void catalog_undo_choice(struct catalog *catalog);
/* How many functions are selected now. */
size_t catalog_selected(const struct catalog *catalog);

/* Tells the user of all functions that have lost their traps. */
void catalog_tell_withdrawn(const struct catalog *catalog);

/* Sums over described entries. */
struct catalog_counts {
    uint64_t seen, instrumented;
};
struct catalog_counts catalog_counts(const struct catalog *catalog);
/* When -F has matched nothing so far: fills ERR ("no-match") with near names and returns −ENOENT.
 */
int catalog_check_matches(const struct catalog *catalog, struct err *err);
/* With --libcalls and nothing else to trace: −ENOENT "no-imports" when the program, the first that
 * was met, imports no functions, "no-match" when -F chooses none of those. */
int catalog_check_calls(struct catalog *catalog, struct err *err);
/* One line about library calls that cannot be traced, or NULL; to be freed. */
char *catalog_refused_calls(const struct catalog *catalog);

#endif
