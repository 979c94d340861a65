/*
 * The ELF files that the traced processes have mapped. Each is loaded, planned and numbered once,
 * however many processes map it, and is written to the trace when it is first patched.
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

/* OPTIONS and WRITER must outlive it. */
struct catalog *catalog_new(const struct session_options *options, struct trace_writer *writer);
/* The functions whose callers are recorded; NULL without --stack. Lives as long as the catalog. */
const struct asked *catalog_asked(const struct catalog *catalog);
/* Tells TRIGGERS of all functions that will be selected. To be called before any is. */
void catalog_watch(struct catalog *catalog, struct triggers *triggers);
void catalog_free(struct catalog *catalog);

/* True if the filter chooses functions of the file at PATH. IS_MAIN: it is the process's main
 * executable. */
bool catalog_wants(const struct catalog *catalog, const char *path, bool is_main);
/* True if the options choose functions of files other than main executables. */
bool catalog_wants_libraries(const struct catalog *catalog);

/*
 * *RET: the file that MAP maps into process TID. Errors: "replaced" (neither the disk nor the
 * process's memory has its contents), those of module_load_fd().
 */
int catalog_find(struct catalog *catalog, pid_t tid, const struct map *map, struct entry **ret,
                 struct err *err);
/* True if the filter may choose one of its functions. */
bool catalog_may_select(struct catalog *catalog, struct entry *entry);
/* Plans those of COUNT modules that are not planned yet, on all processors. */
void catalog_plan(struct entry *const *entries, size_t count);
/* The functions that the executable PROGRAM calls; NULL without --libcalls. */
struct libcalls *catalog_libcalls(struct catalog *catalog, struct entry *program);
/* Plans the module and selects functions: those that the filter chooses, if WANTED (the result of
 * catalog_wants()), and those that CALLS may call, if not NULL. Returns true if it has selected
 * functions that can be patched. */
bool catalog_prepare(struct catalog *catalog, struct entry *entry, bool wanted,
                     const struct libcalls *calls);
/* Writes the module to the trace after it was patched by CODE. Does so again when more of it is
 * patched, or when it is loaded at another place where other functions have patches. */
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
/* The number of functions that are selected now and can be patched. */
size_t catalog_selected(const struct catalog *catalog);

/* Warns of all functions that have lost their breakpoints (--trap-limit). */
void catalog_tell_withdrawn(const struct catalog *catalog);

/* Functions of all modules that the trace describes. */
struct catalog_counts {
    uint64_t seen, instrumented;
};
struct catalog_counts catalog_counts(const struct catalog *catalog);
/* Returns −ENOENT "no-match", with near names, if -F has matched no function so far. */
int catalog_check_matches(const struct catalog *catalog, struct err *err);
/* For --libcalls without modules: returns −ENOENT "no-imports" if the first program imports no
 * functions, "no-match" if -F chooses none of those that it imports. */
int catalog_check_calls(struct catalog *catalog, struct err *err);
/* One line about library calls that cannot be traced, or NULL. To be freed. */
char *catalog_refused_calls(const struct catalog *catalog);

#endif
