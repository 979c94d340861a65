/*
 * The ELF files that the traced processes have mapped. Each is loaded, planned and numbered once,
 * however many processes map it, and is written to the trace when it is first patched.
 */
#pragma once

#include "select/options.h"
#include "select/traced_module.h"
#include "target/maps.h"

struct captures;
struct stack_functions;
struct module_table;
struct libcalls;
struct triggers;

/* OPTIONS and WRITER must outlive the table. */
struct module_table *module_table_new(const struct record_options *options,
                                      struct trace_writer *writer);
/* The functions whose callers are recorded; NULL without --stack. Lives as long as the table. */
const struct stack_functions *module_table_stack_functions(const struct module_table *table);
/* What stubs capture, by number. Lives as long as the table. */
const struct captures *module_table_captures(const struct module_table *table);
/* Adds all functions that will be selected to TRIGGERS. To be called before the first selection. */
void module_table_set_triggers(struct module_table *table, struct triggers *triggers);
/* The functions of --while; NULL without it. Lives as long as the table. */
const struct triggers *module_table_during(const struct module_table *table);
void module_table_free(struct module_table *table);

/* True if the filter chooses functions of the file at PATH. IS_MAIN: the file is the process's main
 * executable. */
bool module_table_wants(struct module_table *table, const char *path, bool is_main);
/* True if the options choose functions of files other than main executables. */
bool module_table_wants_libraries(const struct module_table *table);

/* True if --usdt was given. The second: it chooses a probe of M. */
bool module_table_has_probes(const struct module_table *table);
bool module_table_wants_probes(struct module_table *table, struct traced_module *m);

/* *RET: the file that MAP maps into process TID. Errors: "replaced" (neither the disk nor the
 * process's memory has its contents), those of module_load_fd(). */
int module_table_find(struct module_table *table, pid_t tid, const struct map *map,
                      struct traced_module **ret, struct err *err);
/* True if the filter may choose a function of M. */
bool module_table_may_select(struct module_table *table, struct traced_module *m);
/* Plans each of COUNT MODULES that is not planned yet, on all processors: large ones one after the
 * other, so that their memory does not add up. */
void module_table_plan(struct traced_module *const *modules, size_t count);
/* The functions that the executable PROGRAM calls; NULL without --libcalls. */
struct libcalls *module_table_libcalls(struct module_table *table, struct traced_module *program);
/* Plans M and selects its functions: those that the filter chooses, if WANTED (the result of
 * module_table_wants()), and those that CALLS, if not NULL, may call. Returns true if functions are
 * selected that can be patched. */
bool module_table_prepare(struct module_table *table, struct traced_module *m, bool wanted,
                          const struct libcalls *calls);
/* To be called each time M was patched by CODE, without the functions in UNTRACED, a bitmap or
 * NULL, whose text differs. Writes M to the trace if the trace does not describe these patches yet.
 */
void module_table_write(struct module_table *table, struct traced_module *m,
                        const struct plan_code *code, const struct left_out *left_out);

/* M could not be patched in a process, though it may have been written. If no process has ever had
 * its patches, the trace is corrected. */
void module_table_note_failure(struct module_table *table, struct traced_module *m);

/* Begins a new choice, by a copy of FILTER. No function is selected until its module is prepared
 * again. The old choice is kept until one of the next two functions is called. */
void module_table_choose(struct module_table *table, const struct filter *filter);
/* Keeps the new choice. *RET_ADDED: functions that only the new choice has; *RET_REMOVED: functions
 * that only the old choice had. */
void module_table_keep_choice(struct module_table *table, size_t *ret_added, size_t *ret_removed);
/* Returns to the old choice. */
void module_table_undo_choice(struct module_table *table);
/* What is kept of earlier recordings. */
const struct plan_cache *module_table_cache(const struct module_table *table);
/* The number of functions that are selected now and can be patched. */
size_t module_table_selected(const struct module_table *table);

/* Warns of all functions that have lost their breakpoints (--trap-limit). */
void module_table_report_losses(const struct module_table *table);

/* The numbers of reads of values that were withdrawn, and of the functions that have lost reads. */
void module_table_withdrawn(const struct module_table *table, uint64_t *ret_reads,
                            uint64_t *ret_functions);

/* Numbers of functions of all modules that the trace describes. */
struct module_table_counts {
    uint64_t seen, instrumented;
};
struct module_table_counts module_table_counts(const struct module_table *table);
/* Returns −ENOENT "no-match", with similar names, if -F has matched no function so far. */
int module_table_check_matches(const struct module_table *table, struct err *err);
/* Returns −EINVAL "spec" if a SPEC or condition of -A, -R or --where fits no function that it
 * names.
 */
int module_table_check_specs(const struct module_table *table, struct err *err);
/* Warns, once, of those that do not fit all functions. */
void module_table_report_specs(const struct module_table *table);
/* Warns of each option -F, -N and -M, and of each pattern of --stack, that has matched nothing so
 * far. If nothing else was chosen, also of functions that cannot be traced. */
void module_table_report_unmatched(const struct module_table *table);
/* Why a chosen module has no functions to trace, or NULL: there is no such module. To be freed. */
char *module_table_why_none(const struct module_table *table);
/* For --libcalls without modules. Returns −ENOENT: "no-imports" if the first program imports no
 * functions, "no-match" if -F chooses none of its imports. */
int module_table_check_calls(struct module_table *table, struct err *err);
/* One line about library calls that cannot be traced, or NULL. To be freed. */
char *module_table_refused_calls(const struct module_table *table);
