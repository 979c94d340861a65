#include "select/catalog.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "arch/regs.h"
#include "base/log.h"
#include "select/asked.h"
#include "select/describe.h"
#include "select/libcalls.h"
#include "select/mapped.h"
#include "select/select.h"
#include "select/trap_limit.h"
#include "select/triggers.h"

/* The choice before the present one, until that is kept or undone. */
struct past_choice {
    struct filter filter;
    struct selection selection;
    ARRAY(struct module_choice) modules;
};

struct catalog {
    const struct session_options *options; /* borrowed; its filter is that of the beginning */
    struct filter filter;                  /* the present one */
    struct trace_writer *writer;
    ARRAY(struct entry *) entries;
    uint32_t next_id;
    struct selection selection; /* by that filter */
    struct selection stacks;    /* by the filter of --stack */
    struct asked *asked;        /* NULL: there is no --stack */
    struct past_choice past;
    const struct entry *program; /* the first that was met, with --libcalls */
    struct triggers *triggers;   /* borrowed; NULL: there are none */
};

struct catalog *catalog_new(const struct session_options *options, struct trace_writer *writer) {
    struct catalog *c = mem_alloc(sizeof *c);
    c->options = options;
    c->filter = filter_copy(&options->filter);
    c->writer = writer;
    c->next_id = 1; /* 0 names no function */
    selection_init(&c->selection, &c->filter);
    selection_init(&c->stacks, &options->stacks.filter);
    if (options->stacks.frames)
        c->asked = asked_new();
    return c;
}

void catalog_watch(struct catalog *c, struct triggers *triggers) { c->triggers = triggers; }

const struct asked *catalog_asked(const struct catalog *c) { return c->asked; }

static void free_entry(struct entry *e) {
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

void catalog_free(struct catalog *c) {
    if (!c)
        return;
    for (size_t i = 0; i < c->entries.count; i++)
        free_entry(c->entries.at[i]);
    ARRAY_FREE(&c->entries);
    selection_done(&c->selection);
    selection_done(&c->stacks);
    filter_done(&c->filter);
    asked_free(c->asked);
    free(c);
}

bool catalog_wants(const struct catalog *c, const char *path, bool is_main) {
    return filter_has_module(&c->filter, path) || filter_reaches_module(&c->filter, path) ||
           (is_main && !c->filter.modules.count && !c->options->libcalls);
}

bool catalog_wants_libraries(const struct catalog *c) {
    return c->options->libcalls || filter_is_about_modules(&c->filter);
}

static int64_t ns_of(struct timespec t) { return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec; }

/* True if a change made from now on may leave the file's time as it is. */
static bool is_fresh(const struct stat *st) {
    struct timespec now; /* by the clock of file systems */
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return ns_of(st->st_ctim) >= ns_of(now);
}

static struct entry *find_unchanged(const struct catalog *c, const struct stat *st) {
    for (size_t i = c->entries.count; i-- > 0;) {
        struct entry *e = c->entries.at[i];
        if (e->device == st->st_dev && e->inode == st->st_ino && !e->fresh &&
            e->changed_ns == ns_of(st->st_ctim))
            return e;
    }
    return NULL;
}

/* The module of the same file with the same build id: only its name, mode or the like has changed.
 */
static struct entry *find_rebuilt(const struct catalog *c, const struct stat *st,
                                  const struct module *m) {
    for (size_t i = c->entries.count; i-- > 0;) {
        struct entry *e = c->entries.at[i];
        if (e->device == st->st_dev && e->inode == st->st_ino && m->build_id_size &&
            m->build_id_size == e->module->build_id_size &&
            memcmp(m->build_id, e->module->build_id, m->build_id_size) == 0)
            return e;
    }
    return NULL;
}

static struct entry *add_entry(struct catalog *c, struct entry e) {
    struct entry *new = mem_alloc(sizeof *new);
    *new = e;
    new->only = c->options->tier;
    ARRAY_PUSH(&c->entries, new);
    return new;
}

/* For a file that cannot be opened any more: finds it by its contents in the process's memory. */
static int find_in_memory(struct catalog *c, pid_t tid, const struct map *map, struct entry **ret,
                          struct err *err) {
    struct stat st = {.st_dev = map->device,
                      .st_ino = map->inode,
                      .st_ctim.tv_sec = -1 /* the time of no file */};
    if ((*ret = find_unchanged(c, &st)))
        return 0;
    struct module *module;
    int rc = mapped_load(tid, map, &module, err);
    if (rc < 0)
        return rc;
    log_print(1, "%s: was replaced on disk: read from the memory of process %d", map->path, tid);
    if ((*ret = find_rebuilt(c, &st, module)))
        module_free(module);
    else
        *ret = add_entry(c, (struct entry){.device = st.st_dev,
                                           .inode = st.st_ino,
                                           .changed_ns = ns_of(st.st_ctim),
                                           .module = module});
    return 0;
}

int catalog_find(struct catalog *c, pid_t tid, const struct map *map, struct entry **ret,
                 struct err *err) {
    struct stat st;
    AUTO_FD int fd = mapped_open(tid, map, &st);
    if (fd < 0)
        return find_in_memory(c, tid, map, ret, err);
    if ((*ret = find_unchanged(c, &st)))
        return 0;
    bool fresh = is_fresh(&st);
    struct module *module;
    int rc = module_load_fd(fd, map->path, MODULE_DEBUG_FILES, &module, err);
    if (rc < 0)
        return rc;
    struct entry *e = find_rebuilt(c, &st, module);
    if (e)
        module_free(module);
    else
        e = add_entry(c, (struct entry){.device = st.st_dev, .inode = st.st_ino, .module = module});
    e->changed_ns = ns_of(st.st_ctim);
    e->fresh = fresh;
    *ret = e;
    return 0;
}

bool catalog_may_select(struct catalog *c, struct entry *e) {
    enum selectable *known = &e->choice.selectable;
    if (!*known)
        *known = selection_may_select(&c->selection, e->module) ? SELECTABLE_YES : SELECTABLE_NO;
    return *known == SELECTABLE_YES;
}

static void plan_entry(struct entry *e) {
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
    struct entry *const *entries;
    size_t count;
    _Atomic size_t next;
};

static void *plan_some(void *arg) {
    struct crew *crew = arg;
    for (size_t i; (i = crew->next++) < crew->count;)
        plan_entry(crew->entries[i]);
    return NULL;
}

void catalog_plan(struct entry *const *entries, size_t count) {
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

struct libcalls *catalog_libcalls(struct catalog *c, struct entry *program) {
    if (!c->options->libcalls)
        return NULL;
    if (!program->libcalls)
        program->libcalls = libcalls_new(program->module);
    if (!c->program)
        c->program = program;
    return program->libcalls;
}

static void number(struct catalog *c, struct entry *e) {
    size_t count = plan_function_count(e->plan);
    e->first_id = c->next_id;
    c->next_id += (uint32_t)count;
}

/* Functions that the filter names in full may have traps; all functions with --tier=trap. */
static void permit_traps(const struct catalog *c, struct entry *e) {
    size_t bytes = plan_function_count(e->plan) / 8 + 1;
    uint8_t *named = selection_named(&c->filter, e->module, e->plan);
    if (c->options->tier == TIER_TRAP)
        memset(named, 0xff, bytes);
    for (size_t i = 0; e->named && i < bytes; i++)
        named[i] |= e->named[i];
    free(e->named);
    e->named = named;
    plan_permit_traps(e->plan, named);
}

/* Functions of E whose callers are recorded, whether they are selected or not. */
static void choose_sliced(struct catalog *c, struct entry *e) {
    size_t ignored;
    if (e->sliced || !c->asked)
        return;
    e->sliced = selection_apply(&c->stacks, e->module, e->plan, &ignored);
    asked_add(c->asked, e->first_id, e->sliced, plan_function_count(e->plan));
}

static void begin_to_choose(struct catalog *c, struct entry *e) {
    size_t bytes = plan_function_count(e->plan) / 8 + 1;
    if (!e->first_id)
        number(c, e);
    permit_traps(c, e);
    choose_sliced(c, e);
    describe_choice(e);
    e->choice.selected = mem_alloc(bytes);
    e->choice.filtered = mem_alloc(bytes);
}

/* Selects what the filter chooses, for calls from anywhere. */
static void select_by_filter(struct catalog *c, struct entry *e) {
    struct module_choice *choice = &e->choice;
    free(choice->selected);
    memset(choice->filtered, 0, plan_function_count(e->plan) / 8 + 1);
    choice->selected = selection_apply(&c->selection, e->module, e->plan, &choice->selected_count);
    choice->any_caller = true;
}

bool catalog_prepare(struct catalog *c, struct entry *e, bool wanted,
                     const struct libcalls *calls) {
    plan_entry(e);
    if (!e->plan)
        return false;
    if (!e->choice.selected)
        begin_to_choose(c, e);
    bool news = wanted && !e->choice.any_caller;
    if (news)
        select_by_filter(c, e);
    if (calls && libcalls_select(calls, &c->selection, e)) {
        news = true;
        e->in_trace = false;
    }
    if (news && c->triggers)
        triggers_look(c->triggers, e);
    return e->choice.selected_count > 0;
}

void catalog_describe(struct catalog *c, struct entry *e, const struct plan_code *code) {
    bool news = describe_load(e, code);
    if (news || !e->in_trace)
        describe_module(c->writer, e);
    e->in_trace = true;
}

void catalog_choose(struct catalog *c, const struct filter *filter) {
    c->past.filter = c->filter;
    c->past.selection = c->selection;
    for (size_t i = 0; i < c->entries.count; i++) {
        struct entry *e = c->entries.at[i];
        ARRAY_PUSH(&c->past.modules, e->choice);
        e->choice = (struct module_choice){0};
    }
    c->filter = filter_copy(filter);
    selection_init(&c->selection, &c->filter);
}

static bool is_set(const uint8_t *bitmap, size_t i) {
    return bitmap && bitmap[i / 8] >> (i % 8) & 1;
}

/* The number of functions of E that have a tier, and are in A and not in B. */
static size_t count_only(const struct entry *e, const uint8_t *a, const uint8_t *b) {
    size_t count = 0;
    for (size_t i = 0; a && i < plan_function_count(e->plan); i++)
        count += is_set(a, i) && !is_set(b, i) && plan_function(e->plan, i)->entry != TIER_NONE;
    return count;
}

static void free_choice(struct module_choice *choice) {
    free(choice->selected);
    free(choice->filtered);
}

void catalog_keep_choice(struct catalog *c, size_t *ret_added, size_t *ret_removed) {
    struct past_choice *past = &c->past;
    *ret_added = *ret_removed = 0;
    for (size_t i = 0; i < c->entries.count; i++) {
        const struct entry *e = c->entries.at[i];
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

void catalog_undo_choice(struct catalog *c) {
    struct past_choice *past = &c->past;
    for (size_t i = 0; i < c->entries.count; i++) {
        struct module_choice *choice = &c->entries.at[i]->choice;
        free_choice(choice);
        *choice = i < past->modules.count ? past->modules.at[i] : (struct module_choice){0};
    }
    selection_done(&c->selection);
    filter_done(&c->filter);
    c->selection = past->selection;
    c->filter = past->filter;
    ARRAY_FREE(&past->modules);
}

size_t catalog_selected(const struct catalog *c) {
    size_t sum = 0;
    for (size_t i = 0; i < c->entries.count; i++)
        sum += c->entries.at[i]->choice.selected_count;
    return sum;
}

void catalog_tell_withdrawn(const struct catalog *c) {
    for (size_t i = 0; i < c->entries.count; i++)
        trap_limit_tell(c->options, c->entries.at[i]);
}

struct catalog_counts catalog_counts(const struct catalog *c) {
    struct catalog_counts sum = {0};
    for (size_t i = 0; i < c->entries.count; i++) {
        const struct entry *e = c->entries.at[i];
        if (!e->in_trace)
            continue;
        sum.seen += plan_function_count(e->plan);
        sum.instrumented += e->instrumented_count;
    }
    return sum;
}

int catalog_check_matches(const struct catalog *c, struct err *err) {
    int rc = selection_check(&c->selection, err);
    return rc < 0 ? rc : selection_check(&c->stacks, err);
}

int catalog_check_calls(struct catalog *c, struct err *err) {
    if (!c->options->libcalls || !c->program || filter_is_about_modules(&c->filter))
        return 0;
    size_t count;
    const char *const *names = libcalls_names(c->program->libcalls, &count);
    if (!count)
        return err_set(err, ENOENT, "no-imports",
                       "%s: imports no functions, so --libcalls has nothing to trace: without "
                       "--libcalls, its own functions are traced",
                       c->program->module->path);
    return libcalls_any(c->program->libcalls)
               ? 0
               : selection_check_calls(&c->selection, names, count, err);
}

char *catalog_refused_calls(const struct catalog *c) { return selection_refused(&c->selection); }
