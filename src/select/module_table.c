/* Finds the module of a mapped file, plans it, selects its functions, and keeps past choices. */
#include "select/module_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "arch/regs.h"
#include "base/bitmap.h"
#include "base/log.h"
#include "base/workers.h"
#include "select/arguments.h"
#include "select/libcalls.h"
#include "select/mapped.h"
#include "select/marks.h"
#include "select/outcome.h"
#include "select/read_limit.h"
#include "select/select.h"
#include "select/signatures.h"
#include "select/spec_uses.h"
#include "select/stack_functions.h"
#include "select/trap_limit.h"
#include "select/triggers.h"
#include "select/unmatched.h"
#include "trace/captures.h"

/* The old choice, until the new one is kept or undone. */
struct past_choice {
    struct filter filter;
    struct selection selection;
    ARRAY(struct module_choice) choices; /* by module; newer modules have none */
};

struct module_table {
    const struct record_options *options; /* borrowed; with the first filter */
    struct plan_cache cache;
    struct filter filter; /* the present filter */
    struct trace_writer *writer;
    ARRAY(struct traced_module *) modules;
    uint32_t next_id;
    struct selection selection;              /* by the present filter */
    struct selection stacks;                 /* by the filter of --stack */
    struct stack_functions *stack_functions; /* NULL: no --stack */
    struct past_choice past;
    const struct traced_module *program; /* with --libcalls: the first executable */
    struct triggers *triggers;           /* borrowed; NULL: no --trigger */
    struct mapped_paths mapped;
    struct triggers *during; /* NULL: no --while */
    struct captures *captures;
    struct argument_types *types; /* of captures, of all modules */
};

struct module_table *module_table_new(const struct record_options *options,
                                      struct trace_writer *writer) {
    struct module_table *table = mem_alloc(sizeof *table);
    table->options = options;
    table->cache = plan_cache_open(options->cache ? options->cache_bytes : 0);
    table->filter = filter_copy(&options->filter);
    table->writer = writer;
    table->next_id = 1; /* 0 names no function */
    selection_init(&table->selection, &table->filter);
    selection_init(&table->stacks, &options->stacks.filter);
    table->during = triggers_new(&options->during, "while");
    table->captures = captures_new();
    table->types = argument_types_new();
    captures_set_types(table->captures, argument_types_graph(table->types));
    if (options->stacks.frames)
        table->stack_functions = stack_functions_new();
    return table;
}

const struct triggers *module_table_during(const struct module_table *table) {
    return table->during;
}

void module_table_set_triggers(struct module_table *table, struct triggers *triggers) {
    table->triggers = triggers;
}

const struct stack_functions *module_table_stack_functions(const struct module_table *table) {
    return table->stack_functions;
}

const struct captures *module_table_captures(const struct module_table *table) {
    return table->captures;
}

static void free_module(struct traced_module *m) {
    signatures_free(m->signatures);
    ARRAY_FREE(&m->choice.captures);
    marks_free(m);
    plan_free(m->plan);
    module_free(m->module);
    libcalls_free(m->libcalls);
    ARRAY_FREE(&m->called);
    free(m->choice.selected);
    free(m->choice.filtered);
    free(m->sliced);
    free(m->named);
    free(m->trap_loads);
    free(m->without_traps);
    free(m->read_loads);
    free(m->without_reads);
    free(m->outcome.ever_selected);
    free(m->outcome.ever_patched);
    free(m->outcome.ever_inexact);
    free(m->outcome.ever_trapped);
    free(m->outcome.ever_changed);
    free(m->outcome.ever_open);
    free(m);
}

void module_table_free(struct module_table *table) {
    if (!table)
        return;
    for (size_t i = 0; i < table->modules.count; i++)
        free_module(table->modules.at[i]);
    ARRAY_FREE(&table->modules);
    selection_done(&table->selection);
    selection_done(&table->stacks);
    filter_done(&table->filter);
    triggers_free(table->during);
    captures_free(table->captures);
    argument_types_free(table->types);
    stack_functions_free(table->stack_functions);
    plan_cache_close(&table->cache);
    mapped_paths_done(&table->mapped);
    free(table);
}

const struct plan_cache *module_table_cache(const struct module_table *table) {
    return &table->cache;
}

bool module_table_wants(struct module_table *table, const char *path, bool is_main) {
    mapped_paths_add(&table->mapped, path);
    if (filter_is_about_probes(&table->filter))
        return false;
    return filter_has_module(&table->filter, path) || filter_reaches_module(&table->filter, path) ||
           (is_main && !table->filter.modules.count && !table->options->libcalls);
}

bool module_table_wants_libraries(const struct module_table *table) {
    return table->options->libcalls || filter_is_about_modules(&table->filter) ||
           table->filter.probes.count;
}

static struct arguments_context context_of(struct module_table *table) {
    return (struct arguments_context){&table->filter, table->options, table->captures,
                                      table->types};
}

bool module_table_has_probes(const struct module_table *table) {
    return table->filter.probes.count;
}

bool module_table_wants_probes(struct module_table *table, struct traced_module *m) {
    const struct arguments_context context = context_of(table);
    return marks_wanted(&context, m);
}

/* Whether M's file has only another name or mode by now: it has what the plan was made of. Its
 * bytes are mapped, so no other file has its inode. */
static bool is_renamed(const struct traced_module *m, const struct file_id *file) {
    return m->file.device == file->device && m->file.inode == file->inode &&
           (m->file.size == file->size || !file->size) && plan_cache_key_is_of(&m->key, m->module);
}

static struct traced_module *find_known(const struct module_table *table,
                                        const struct file_id *file) {
    for (size_t i = table->modules.count; i-- > 0;) {
        struct traced_module *m = table->modules.at[i];
        if (file_id_is_same(&m->file, file) || is_renamed(m, file))
            return m;
    }
    return NULL;
}

/* Planning takes several times as much memory as there is code, for a while. */
static bool takes_much_memory(const struct traced_module *m) {
    enum { LARGE = 16 << 20 };
    return m->module->text_bytes >= LARGE && !m->plan;
}

static struct traced_module *add_module(struct module_table *table, struct traced_module m) {
    struct traced_module *new = mem_alloc(sizeof *new);
    *new = m;
    new->only = table->options->tier;
    new->cache = &table->cache;
    ARRAY_PUSH(&table->modules, new);
    return new;
}

/* Like module_table_find(), for a file that cannot be opened any more. */
static int find_in_memory(struct module_table *table, pid_t tid, const struct map *map,
                          struct traced_module **ret, struct err *err) {
    struct file_id file = {
        .device = map->device, .inode = map->inode, .changed_ns = -1 /* the time of no file */};
    if ((*ret = find_known(table, &file)))
        return 0;
    struct module *module;
    int rc = mapped_load(tid, map, &module, err);
    if (rc < 0)
        return rc;
    log_print(1, "%s: was replaced on disk: read from the memory of process %d", map->path, tid);
    *ret = add_module(table, (struct traced_module){.file = file, .module = module});
    return 0;
}

/* The module of MAP, if its file is known; NULL else. Most processes map what others have. */
static struct traced_module *find_identified(const struct module_table *table, pid_t tid,
                                             const struct map *map) {
    struct stat st;
    if (!mapped_identify(tid, map, &st))
        return NULL;
    const struct file_id file = file_id_of(&st);
    struct traced_module *m = find_known(table, &file);
    if (m)
        m->file = file;
    return m;
}

/* Completes M's module if there is no kept plan. What reading has left over is given back. */
static void look_for_plan(struct traced_module *m) {
    if (!plan_cache_find(m->cache, m->module, m->only, &m->key, &m->plan) && takes_much_memory(m))
        mem_give_back();
}

int module_table_find(struct module_table *table, pid_t tid, const struct map *map,
                      struct traced_module **ret, struct err *err) {
    struct stat st;
    if ((*ret = find_identified(table, tid, map)))
        return 0;
    AUTO_FD int fd = mapped_open(tid, map, &st);
    if (fd < 0)
        return find_in_memory(table, tid, map, ret, err);
    struct file_id file = file_id_of(&st);
    struct traced_module *m = find_known(table, &file);
    struct module *module;
    if (!m) {
        int rc = module_load_fd(fd, map->path, MODULE_DEBUG_FILES | MODULE_LATER, &module, err);
        if (rc < 0)
            return rc;
        m = add_module(table, (struct traced_module){.module = module});
        if (module->machine == REGS_ELF_MACHINE)
            look_for_plan(m);
        else
            module_complete(module);
    }
    m->file = file;
    *ret = m;
    return 0;
}

bool module_table_may_select(struct module_table *table, struct traced_module *m) {
    enum selectable *known = &m->choice.selectable;
    if (!*known)
        *known =
            selection_may_select(&table->selection, m->module) ? SELECTABLE_YES : SELECTABLE_NO;
    return *known == SELECTABLE_YES;
}

static void plan_module(struct traced_module *m) {
    if (m->plan || m->why.code)
        return;
    struct module *module = m->module;
    int r = module->machine == REGS_ELF_MACHINE
                ? plan_new_with_tier(module, m->only, &m->plan, &m->why)
                : err_set(&m->why, ENOTSUP, "foreign-machine",
                          "%s: is for ELF machine %u, not for this processor", module->name,
                          module->machine); /* an emulator has mapped it, for example */
    if (r < 0)
        log_print(1, "%s", m->why.text);
    plan_cache_store(m->cache, module, &m->key, m->only, m->plan);
    module_leave_files(module);
}

static void plan_one(void *arg, size_t index) {
    struct traced_module *const *modules = arg;
    if (!takes_much_memory(modules[index]))
        plan_module(modules[index]);
}

/* Large modules are planned one after the other, each on all processors. */
void module_table_plan(struct traced_module *const *modules, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!takes_much_memory(modules[i]))
            continue;
        plan_module(modules[i]);
        mem_give_back();
    }
    workers_run(count, plan_one, (void *)modules);
}

struct libcalls *module_table_libcalls(struct module_table *table, struct traced_module *program) {
    if (!table->options->libcalls)
        return NULL;
    if (!program->libcalls)
        program->libcalls = libcalls_new(program->module);
    if (!table->program)
        table->program = program;
    return program->libcalls;
}

static void assign_ids(struct module_table *table, struct traced_module *m) {
    size_t count = plan_function_count(m->plan);
    m->first_id = table->next_id;
    table->next_id += (uint32_t)count;
    m->first_mark_id = table->next_id;
    table->next_id += (uint32_t)marks_count(m, &table->options->report);
}

/* Functions that the filter names in full may have traps; all functions with --tier=trap. */
static void permit_traps(const struct module_table *table, struct traced_module *m) {
    size_t bytes = plan_function_count(m->plan) / 8 + 1;
    uint8_t *named = selection_named(&table->filter, m->module, m->plan);
    if (table->options->tier == TIER_TRAP)
        memset(named, 0xff, bytes);
    for (size_t i = 0; m->named && i < bytes; i++)
        named[i] |= m->named[i];
    free(m->named);
    m->named = named;
    plan_permit_traps(m->plan, named);
}

/* Chooses the functions of M whose callers are recorded, selected or not. */
static void choose_stack_functions(struct module_table *table, struct traced_module *m) {
    size_t ignored;
    if (m->sliced || !table->stack_functions)
        return;
    m->sliced = selection_apply(&table->stacks, m->module, m->plan, &ignored);
    stack_functions_add(table->stack_functions, m->first_id, m->sliced,
                        plan_function_count(m->plan));
}

static void begin_to_choose(struct module_table *table, struct traced_module *m) {
    size_t bytes = plan_function_count(m->plan) / 8 + 1;
    if (!m->first_id)
        assign_ids(table, m);
    permit_traps(table, m);
    choose_stack_functions(table, m);
    outcome_new_selection(m);
    m->choice.selected = mem_alloc(bytes);
    m->choice.filtered = mem_alloc(bytes);
}

/* Selects the functions that the filter chooses, for calls from anywhere. */
static void select_by_filter(struct module_table *table, struct traced_module *m) {
    struct module_choice *choice = &m->choice;
    free(choice->selected);
    memset(choice->filtered, 0, plan_function_count(m->plan) / 8 + 1);
    choice->selected =
        selection_apply(&table->selection, m->module, m->plan, &choice->selected_count);
    choice->any_caller = true;
}

bool module_table_prepare(struct module_table *table, struct traced_module *m, bool wanted,
                          const struct libcalls *calls) {
    plan_module(m);
    if (!m->plan)
        return false;
    const struct arguments_context context = context_of(table);
    if (!m->choice.selected) {
        begin_to_choose(table, m);
        marks_choose(&context, m);
        m->in_trace &= !m->choice.marks.count;
    }
    bool changed = wanted && !m->choice.any_caller;
    if (changed)
        select_by_filter(table, m);
    if (calls && libcalls_select(calls, &table->selection, m)) {
        changed = true;
        m->in_trace = false;
    }
    if (changed)
        arguments_choose(&context, m);
    if (changed && table->triggers)
        triggers_add_module(table->triggers, m);
    if (changed && table->during)
        triggers_add_module(table->during, m);
    return m->choice.selected_count > 0 || m->choice.marks.count;
}

void module_table_write(struct module_table *table, struct traced_module *m,
                        const struct plan_code *code, const struct left_out *left_out) {
    bool changed = outcome_add_load(m, code, left_out);
    if (changed || !m->in_trace) {
        outcome_write(table->writer, m);
        marks_write(table->writer, m);
    }
    m->in_trace = true;
}

void module_table_note_failure(struct module_table *table, struct traced_module *m) {
    if (m->installed || !m->in_trace)
        return;
    outcome_forget_patches(m);
    outcome_write(table->writer, m);
}

void module_table_choose(struct module_table *table, const struct filter *filter) {
    table->past.filter = table->filter;
    table->past.selection = table->selection;
    for (size_t i = 0; i < table->modules.count; i++) {
        struct traced_module *m = table->modules.at[i];
        ARRAY_PUSH(&table->past.choices, m->choice);
        m->choice = (struct module_choice){0};
    }
    table->filter = filter_copy(filter);
    selection_init(&table->selection, &table->filter);
}

/* The number of functions of M that have a tier, and are in A but not in B. */
static size_t count_only(const struct traced_module *m, const uint8_t *a, const uint8_t *b) {
    size_t count = 0;
    for (size_t i = 0; a && i < plan_function_count(m->plan); i++)
        count += bitmap_test(a, i) && !(b && bitmap_test(b, i)) &&
                 plan_function(m->plan, i)->entry != TIER_NONE;
    return count;
}

static void free_choice(struct module_choice *choice) {
    ARRAY_FREE(&choice->captures);
    ARRAY_FREE(&choice->marks);
    free(choice->selected);
    free(choice->filtered);
}

void module_table_keep_choice(struct module_table *table, size_t *ret_added, size_t *ret_removed) {
    struct past_choice *past = &table->past;
    *ret_added = *ret_removed = 0;
    for (size_t i = 0; i < table->modules.count; i++) {
        const struct traced_module *m = table->modules.at[i];
        bool known = i < past->choices.count;
        const uint8_t *old = known ? past->choices.at[i].selected : NULL;
        *ret_added += count_only(m, m->choice.selected, old);
        *ret_removed += count_only(m, old, m->choice.selected);
    }
    for (size_t i = 0; i < past->choices.count; i++)
        free_choice(&past->choices.at[i]);
    selection_done(&past->selection);
    filter_done(&past->filter);
    ARRAY_FREE(&past->choices);
}

void module_table_undo_choice(struct module_table *table) {
    struct past_choice *past = &table->past;
    for (size_t i = 0; i < table->modules.count; i++) {
        struct module_choice *choice = &table->modules.at[i]->choice;
        free_choice(choice);
        *choice = i < past->choices.count ? past->choices.at[i] : (struct module_choice){0};
    }
    selection_done(&table->selection);
    filter_done(&table->filter);
    table->selection = past->selection;
    table->filter = past->filter;
    ARRAY_FREE(&past->choices);
}

size_t module_table_selected(const struct module_table *table) {
    size_t sum = 0;
    for (size_t i = 0; i < table->modules.count; i++)
        sum +=
            table->modules.at[i]->choice.selected_count + table->modules.at[i]->choice.marks.count;
    return sum;
}

void module_table_report_losses(const struct module_table *table) {
    for (size_t i = 0; i < table->modules.count; i++) {
        trap_limit_report(table->options, table->modules.at[i]);
        read_limit_report(table->options, table->modules.at[i]);
    }
}

void module_table_withdrawn(const struct module_table *table, uint64_t *ret_reads,
                            uint64_t *ret_functions) {
    *ret_reads = *ret_functions = 0;
    for (size_t i = 0; i < table->modules.count; i++) {
        const struct traced_module *m = table->modules.at[i];
        *ret_reads += m->withdrawn_reads;
        *ret_functions +=
            m->without_reads ? bitmap_count(m->without_reads, plan_function_count(m->plan)) : 0;
    }
}

struct module_table_counts module_table_counts(const struct module_table *table) {
    struct module_table_counts sum = {0};
    for (size_t i = 0; i < table->modules.count; i++) {
        const struct traced_module *m = table->modules.at[i];
        if (!m->in_trace)
            continue;
        sum.seen += plan_function_count(m->plan);
        sum.instrumented += m->instrumented_count;
    }
    return sum;
}

void module_table_report_unmatched(const struct module_table *table) {
    const struct report *report = &table->options->report;
    unmatched_patterns(&table->selection, "filter", &table->mapped, report);
    unmatched_patterns(&table->stacks, "stack", &table->mapped, report);
    unmatched_modules(&table->filter, &table->mapped, report);
    marks_report_unmatched(&table->filter, table->modules.at, table->modules.count, report);
}

char *module_table_why_none(const struct module_table *table) {
    for (size_t i = 0; i < table->modules.count; i++) {
        char *why = traced_module_why_none(table->modules.at[i]);
        if (why)
            return why;
    }
    return NULL;
}

int module_table_check_specs(const struct module_table *table, struct err *err) {
    const struct spec_uses *uses = argument_types_uses(table->types);
    const trigger_list *triggers = &table->options->triggers;
    int rc = spec_uses_check(uses, &table->filter, &table->options->report, err);
    for (size_t i = 0; rc == 0 && i < triggers->count; i++)
        rc = spec_uses_check(uses, &triggers->at[i].filter, &table->options->report, err);
    return rc;
}

void module_table_report_specs(const struct module_table *table) {
    struct spec_uses *uses = argument_types_uses(table->types);
    const trigger_list *triggers = &table->options->triggers;
    spec_uses_report(uses, &table->filter, &table->options->report);
    for (size_t i = 0; i < triggers->count; i++)
        spec_uses_report(uses, &triggers->at[i].filter, &table->options->report);
}

int module_table_check_matches(const struct module_table *table, struct err *err) {
    int rc = marks_check(&table->filter, table->modules.at, table->modules.count, err);
    if (rc == 0 && !filter_is_about_probes(&table->filter))
        rc = selection_check(&table->selection, err);
    AUTO_FREE char *why = rc < 0 ? module_table_why_none(table) : NULL;
    if (why) {
        struct err plain = *err;
        err_set(err, ENOENT, plain.tag, "%s; %s", plain.text, why);
    }
    return rc < 0 ? rc : selection_check(&table->stacks, err);
}

int module_table_check_calls(struct module_table *table, struct err *err) {
    if (!table->options->libcalls || !table->program || filter_is_about_modules(&table->filter))
        return 0;
    size_t count;
    const char *const *names = libcalls_names(table->program->libcalls, &count);
    if (!count)
        return err_set(err, ENOENT, "no-imports",
                       "%s: imports no functions, so --libcalls has nothing to trace: without "
                       "--libcalls, its own functions are traced",
                       table->program->module->path);
    return selection_check_calls(&table->selection, names, count,
                                 libcalls_reach_all(table->program->libcalls), err);
}

char *module_table_refused_calls(const struct module_table *table) {
    return selection_refused(&table->selection);
}
