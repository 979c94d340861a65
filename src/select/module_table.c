#include "select/module_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "arch/regs.h"
#include "base/log.h"
#include "select/libcalls.h"
#include "select/mapped.h"
#include "select/outcome.h"
#include "select/select.h"
#include "select/stack_functions.h"
#include "select/trap_limit.h"
#include "select/triggers.h"

/* The choice before the present one, until that is kept or undone. */
struct past_choice {
    struct filter filter;
    struct selection selection;
    ARRAY(struct module_choice) modules;
};

struct module_table {
    const struct record_options *options; /* borrowed; its filter is that of the beginning */
    struct filter filter;                 /* the present one */
    struct trace_writer *writer;
    ARRAY(struct traced_module *) entries;
    uint32_t next_id;
    struct selection selection;              /* by that filter */
    struct selection stacks;                 /* by the filter of --stack */
    struct stack_functions *stack_functions; /* NULL: there is no --stack */
    struct past_choice past;
    const struct traced_module *program; /* the first that was met, with --libcalls */
    struct triggers *triggers;           /* borrowed; NULL: there are none */
};

struct module_table *module_table_new(const struct record_options *options,
                                      struct trace_writer *writer) {
    struct module_table *table = mem_alloc(sizeof *table);
    table->options = options;
    table->filter = filter_copy(&options->filter);
    table->writer = writer;
    table->next_id = 1; /* 0 names no function */
    selection_init(&table->selection, &table->filter);
    selection_init(&table->stacks, &options->stacks.filter);
    if (options->stacks.frames)
        table->stack_functions = stack_functions_new();
    return table;
}

void module_table_set_triggers(struct module_table *table, struct triggers *triggers) {
    table->triggers = triggers;
}

const struct stack_functions *module_table_stack_functions(const struct module_table *table) {
    return table->stack_functions;
}

static void free_entry(struct traced_module *e) {
    plan_free(e->plan);
    module_free(e->module);
    libcalls_free(e->libcalls);
    ARRAY_FREE(&e->called);
    free(e->choice.selected);
    free(e->choice.filtered);
    free(e->sliced);
    free(e->named);
    free(e->trap_loads);
    free(e->without_traps);
    free(e->outcome.ever_selected);
    free(e->outcome.ever_patched);
    free(e->outcome.ever_inexact);
    free(e->outcome.ever_trapped);
    free(e);
}

void module_table_free(struct module_table *table) {
    if (!table)
        return;
    for (size_t i = 0; i < table->entries.count; i++)
        free_entry(table->entries.at[i]);
    ARRAY_FREE(&table->entries);
    selection_done(&table->selection);
    selection_done(&table->stacks);
    filter_done(&table->filter);
    stack_functions_free(table->stack_functions);
    free(table);
}

bool module_table_wants(const struct module_table *table, const char *path, bool is_main) {
    return filter_has_module(&table->filter, path) || filter_reaches_module(&table->filter, path) ||
           (is_main && !table->filter.modules.count && !table->options->libcalls);
}

bool module_table_wants_libraries(const struct module_table *table) {
    return table->options->libcalls || filter_is_about_modules(&table->filter);
}

static int64_t ns_of(struct timespec t) { return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec; }

/* True if a change made from now on may leave the file's time as it is. */
static bool is_fresh(const struct stat *st) {
    struct timespec now; /* by the clock of file systems */
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return ns_of(st->st_ctim) >= ns_of(now);
}

static struct traced_module *find_unchanged(const struct module_table *table,
                                            const struct stat *st) {
    for (size_t i = table->entries.count; i-- > 0;) {
        struct traced_module *e = table->entries.at[i];
        if (e->device == st->st_dev && e->inode == st->st_ino && !e->fresh &&
            e->changed_ns == ns_of(st->st_ctim))
            return e;
    }
    return NULL;
}

/* The module of the same file with the same build id: only its name, mode or the like has changed.
 */
static struct traced_module *find_rebuilt(const struct module_table *table, const struct stat *st,
                                          const struct module *m) {
    for (size_t i = table->entries.count; i-- > 0;) {
        struct traced_module *e = table->entries.at[i];
        if (e->device == st->st_dev && e->inode == st->st_ino && m->build_id_size &&
            m->build_id_size == e->module->build_id_size &&
            memcmp(m->build_id, e->module->build_id, m->build_id_size) == 0)
            return e;
    }
    return NULL;
}

static struct traced_module *add_entry(struct module_table *table, struct traced_module e) {
    struct traced_module *new = mem_alloc(sizeof *new);
    *new = e;
    new->only = table->options->tier;
    ARRAY_PUSH(&table->entries, new);
    return new;
}

/* For a file that cannot be opened any more: finds it by its contents in the process's memory. */
static int find_in_memory(struct module_table *table, pid_t tid, const struct map *map,
                          struct traced_module **ret, struct err *err) {
    struct stat st = {.st_dev = map->device,
                      .st_ino = map->inode,
                      .st_ctim.tv_sec = -1 /* the time of no file */};
    if ((*ret = find_unchanged(table, &st)))
        return 0;
    struct module *module;
    int rc = mapped_load(tid, map, &module, err);
    if (rc < 0)
        return rc;
    log_print(1, "%s: was replaced on disk: read from the memory of process %d", map->path, tid);
    if ((*ret = find_rebuilt(table, &st, module)))
        module_free(module);
    else
        *ret = add_entry(table, (struct traced_module){.device = st.st_dev,
                                                       .inode = st.st_ino,
                                                       .changed_ns = ns_of(st.st_ctim),
                                                       .module = module});
    return 0;
}

int module_table_find(struct module_table *table, pid_t tid, const struct map *map,
                      struct traced_module **ret, struct err *err) {
    struct stat st;
    AUTO_FD int fd = mapped_open(tid, map, &st);
    if (fd < 0)
        return find_in_memory(table, tid, map, ret, err);
    if ((*ret = find_unchanged(table, &st)))
        return 0;
    bool fresh = is_fresh(&st);
    struct module *module;
    int rc = module_load_fd(fd, map->path, MODULE_DEBUG_FILES, &module, err);
    if (rc < 0)
        return rc;
    struct traced_module *e = find_rebuilt(table, &st, module);
    if (e)
        module_free(module);
    else
        e = add_entry(table, (struct traced_module){
                                 .device = st.st_dev, .inode = st.st_ino, .module = module});
    e->changed_ns = ns_of(st.st_ctim);
    e->fresh = fresh;
    *ret = e;
    return 0;
}

bool module_table_may_select(struct module_table *table, struct traced_module *e) {
    enum selectable *known = &e->choice.selectable;
    if (!*known)
        *known =
            selection_may_select(&table->selection, e->module) ? SELECTABLE_YES : SELECTABLE_NO;
    return *known == SELECTABLE_YES;
}

static void plan_entry(struct traced_module *e) {
    if (e->plan || e->why.code)
        return;
    const struct module *m = e->module;
    int r = m->machine == REGS_ELF_MACHINE
                ? plan_new_by(m, e->only, &e->plan, &e->why)
                : err_set(&e->why, ENOTSUP, "foreign-machine",
                          "%s: is for ELF machine %u, not for this processor", m->name,
                          m->machine); /* mapped by an emulator, for example */
    if (r < 0)
        log_print(1, "%s", e->why.text);
}

struct crew { /* workers take modules one by one */
    struct traced_module *const *entries;
    size_t count;
    _Atomic size_t next;
};

static void *plan_some(void *arg) {
    struct crew *crew = arg;
    for (size_t i; (i = crew->next++) < crew->count;)
        plan_entry(crew->entries[i]);
    return NULL;
}

void module_table_plan(struct traced_module *const *entries, size_t count) {
    enum { MOST_HELPERS = 15 };
    struct crew crew = {entries, count, 0};
    pthread_t helpers[MOST_HELPERS];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t started = 0;
    while (started < MOST_HELPERS && started + 1 < count && (long)started + 1 < processors &&
           pthread_create(&helpers[started], NULL, plan_some, &crew) == 0)
        started++;
    plan_some(&crew);
    while (started)
        pthread_join(helpers[--started], NULL);
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

static void number(struct module_table *table, struct traced_module *e) {
    size_t count = plan_function_count(e->plan);
    e->first_id = table->next_id;
    table->next_id += (uint32_t)count;
}

/* Functions that the filter names in full may have traps; all functions with --tier=trap. */
static void permit_traps(const struct module_table *table, struct traced_module *e) {
    size_t bytes = plan_function_count(e->plan) / 8 + 1;
    uint8_t *named = selection_named(&table->filter, e->module, e->plan);
    if (table->options->tier == TIER_TRAP)
        memset(named, 0xff, bytes);
    for (size_t i = 0; e->named && i < bytes; i++)
        named[i] |= e->named[i];
    free(e->named);
    e->named = named;
    plan_permit_traps(e->plan, named);
}

/* Functions of E whose callers are recorded, whether they are selected or not. */
static void choose_sliced(struct module_table *table, struct traced_module *e) {
    size_t ignored;
    if (e->sliced || !table->stack_functions)
        return;
    e->sliced = selection_apply(&table->stacks, e->module, e->plan, &ignored);
    stack_functions_add(table->stack_functions, e->first_id, e->sliced,
                        plan_function_count(e->plan));
}

static void begin_to_choose(struct module_table *table, struct traced_module *e) {
    size_t bytes = plan_function_count(e->plan) / 8 + 1;
    if (!e->first_id)
        number(table, e);
    permit_traps(table, e);
    choose_sliced(table, e);
    outcome_new_selection(e);
    e->choice.selected = mem_alloc(bytes);
    e->choice.filtered = mem_alloc(bytes);
}

/* Selects what the filter chooses, for calls from anywhere. */
static void select_by_filter(struct module_table *table, struct traced_module *e) {
    struct module_choice *choice = &e->choice;
    free(choice->selected);
    memset(choice->filtered, 0, plan_function_count(e->plan) / 8 + 1);
    choice->selected =
        selection_apply(&table->selection, e->module, e->plan, &choice->selected_count);
    choice->any_caller = true;
}

bool module_table_prepare(struct module_table *table, struct traced_module *e, bool wanted,
                          const struct libcalls *calls) {
    plan_entry(e);
    if (!e->plan)
        return false;
    if (!e->choice.selected)
        begin_to_choose(table, e);
    bool news = wanted && !e->choice.any_caller;
    if (news)
        select_by_filter(table, e);
    if (calls && libcalls_select(calls, &table->selection, e)) {
        news = true;
        e->in_trace = false;
    }
    if (news && table->triggers)
        triggers_add_module(table->triggers, e);
    return e->choice.selected_count > 0;
}

void module_table_write(struct module_table *table, struct traced_module *m,
                        const struct plan_code *code) {
    bool news = outcome_add_load(m, code);
    if (news || !m->in_trace)
        outcome_write(table->writer, m);
    m->in_trace = true;
}

void module_table_choose(struct module_table *table, const struct filter *filter) {
    table->past.filter = table->filter;
    table->past.selection = table->selection;
    for (size_t i = 0; i < table->entries.count; i++) {
        struct traced_module *e = table->entries.at[i];
        ARRAY_PUSH(&table->past.modules, e->choice);
        e->choice = (struct module_choice){0};
    }
    table->filter = filter_copy(filter);
    selection_init(&table->selection, &table->filter);
}

static bool is_set(const uint8_t *bitmap, size_t i) {
    return bitmap && bitmap[i / 8] >> (i % 8) & 1;
}

/* The number of functions of E that have a tier, and are in A and not in B. */
static size_t count_only(const struct traced_module *e, const uint8_t *a, const uint8_t *b) {
    size_t count = 0;
    for (size_t i = 0; a && i < plan_function_count(e->plan); i++)
        count += is_set(a, i) && !is_set(b, i) && plan_function(e->plan, i)->entry != TIER_NONE;
    return count;
}

static void free_choice(struct module_choice *choice) {
    free(choice->selected);
    free(choice->filtered);
}

void module_table_keep_choice(struct module_table *table, size_t *ret_added, size_t *ret_removed) {
    struct past_choice *past = &table->past;
    *ret_added = *ret_removed = 0;
    for (size_t i = 0; i < table->entries.count; i++) {
        const struct traced_module *e = table->entries.at[i];
        bool known = i < past->modules.count;
        const uint8_t *before = known ? past->modules.at[i].selected : NULL;
        *ret_added += count_only(e, e->choice.selected, before);
        *ret_removed += count_only(e, before, e->choice.selected);
    }
    for (size_t i = 0; i < past->modules.count; i++)
        free_choice(&past->modules.at[i]);
    selection_done(&past->selection);
    filter_done(&past->filter);
    ARRAY_FREE(&past->modules);
}

void module_table_undo_choice(struct module_table *table) {
    struct past_choice *past = &table->past;
    for (size_t i = 0; i < table->entries.count; i++) {
        struct module_choice *choice = &table->entries.at[i]->choice;
        free_choice(choice);
        *choice = i < past->modules.count ? past->modules.at[i] : (struct module_choice){0};
    }
    selection_done(&table->selection);
    filter_done(&table->filter);
    table->selection = past->selection;
    table->filter = past->filter;
    ARRAY_FREE(&past->modules);
}

size_t module_table_selected(const struct module_table *table) {
    size_t sum = 0;
    for (size_t i = 0; i < table->entries.count; i++)
        sum += table->entries.at[i]->choice.selected_count;
    return sum;
}

void module_table_report_trap_losses(const struct module_table *table) {
    for (size_t i = 0; i < table->entries.count; i++)
        trap_limit_report(table->options, table->entries.at[i]);
}

struct module_table_counts module_table_counts(const struct module_table *table) {
    struct module_table_counts sum = {0};
    for (size_t i = 0; i < table->entries.count; i++) {
        const struct traced_module *e = table->entries.at[i];
        if (!e->in_trace)
            continue;
        sum.seen += plan_function_count(e->plan);
        sum.instrumented += e->instrumented_count;
    }
    return sum;
}

int module_table_check_matches(const struct module_table *table, struct err *err) {
    int rc = selection_check(&table->selection, err);
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
    return libcalls_any(table->program->libcalls)
               ? 0
               : selection_check_calls(&table->selection, names, count, err);
}

char *module_table_refused_calls(const struct module_table *table) {
    return selection_refused(&table->selection);
}
