/*
 * The ELF files a session has met: each is loaded, planned and numbered once,
 * however many processes map it, and described in the trace when it is first
 * instrumented.
 */
#ifndef SPOOR_SELECT_CATALOG_H
#define SPOOR_SELECT_CATALOG_H

#include "select/options.h"
#include "select/traced_module.h"
#include "target/maps.h"

struct asked;
struct catalog;
struct libcalls;
struct triggers;

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

/*
 * Begins to choose by a copy of FILTER: of every module nothing is selected until it is prepared
 * again. The choice before it is kept until one of the next two functions is called.
 */
void catalog_choose(struct catalog *catalog, const struct filter *filter);
/* Ends that with the new choice. *RET_ADDED: the functions that only it has; *RET_REMOVED: those
 * that only the choice before it had. */
void catalog_keep_choice(struct catalog *catalog, size_t *ret_added, size_t *ret_removed);
/* Ends that with the choice before it. */
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
