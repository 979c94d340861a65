/* See names.h: each module's ids are one range, with consecutive numbers. */
#include "analyze/names.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "elf/demangle.h"
#include "elf/symbol_names.h"

struct range {
    uint32_t first_id, count;
    uint32_t first; /* number of its first function */
    uint32_t module;
};

struct names {
    const struct trace_reader *reader;
    struct range *ranges; /* ascending by first_id; then an empty one for the unknown function */
    size_t range_count;   /* without the last one */
    size_t recent;        /* the range of the last lookup */
    uint32_t function_count, module_count;
    bool grow_stacks;
    uint32_t *joined;                       /* by number; NULL: functions keep their numbers */
    char **functions, **symbols, **modules; /* made on first use */
    const char *const **aliases;
    struct module_lines {
        struct source_lines *lines; /* NULL: there are none */
        bool known;
    } * lines; /* by module */
    struct arena *arena;
};

static int compare_ranges(const void *a, const void *b) {
    const struct range *x = a, *y = b;
    return (x->first_id > y->first_id) - (x->first_id < y->first_id);
}

static bool has_function(const struct trace_module *m, const char *name) {
    for (size_t i = 0; i < m->function_count; i++)
        if (m->functions[i].name && strcmp(m->functions[i].name, name) == 0)
            return true;
    return false;
}

struct names *names_new(const struct trace_reader *r) {
    struct names *n = mem_alloc(sizeof *n);
    uint32_t modules = (uint32_t)trace_reader_module_count(r);
    n->reader = r;
    n->arena = arena_new();
    n->ranges = mem_alloc((modules + 1) * sizeof *n->ranges);
    for (uint32_t i = 0; i < modules; i++) {
        const struct trace_module *m = trace_reader_module(r, i);
        if (m->function_count && m->function_count < UINT32_MAX - n->function_count) {
            n->ranges[n->range_count++] =
                (struct range){m->first_id, m->function_count, n->function_count, i};
            n->function_count += m->function_count;
            n->grow_stacks = n->grow_stacks || has_function(m, "__morestack");
        }
    }
    qsort(n->ranges, n->range_count, sizeof *n->ranges, compare_ranges);
    n->ranges[n->range_count] = (struct range){0, 0, n->function_count++, modules};
    n->module_count = modules + 1;
    n->functions = mem_alloc(n->function_count * sizeof *n->functions);
    n->symbols = mem_alloc(n->function_count * sizeof *n->symbols);
    n->aliases = mem_alloc(n->function_count * sizeof *n->aliases);
    n->modules = mem_alloc(n->module_count * sizeof *n->modules);
    n->lines = mem_alloc(n->module_count * sizeof *n->lines);
    return n;
}

void names_free(struct names *n) {
    if (!n)
        return;
    arena_free(n->arena);
    for (uint32_t i = 0; i < n->module_count; i++)
        source_lines_free(n->lines[i].lines);
    free(n->lines);
    free(n->joined);
    free(n->ranges);
    free(n->functions);
    free(n->symbols);
    free(n->aliases);
    free(n->modules);
    free(n);
}

uint32_t names_count(const struct names *n) { return n->function_count; }
bool names_grow_stacks(const struct names *n) { return n->grow_stacks; }
uint32_t names_module_count(const struct names *n) { return n->module_count; }

/* The range that holds ID, or that of the unknown function. */
static __attribute__((noinline)) size_t search(const struct names *n, uint32_t id) {
    size_t end = SEARCH(i, n->range_count, n->ranges[i].first_id <= id);
    const struct range *last = end ? &n->ranges[end - 1] : NULL;
    return last && id - last->first_id < last->count ? end - 1 : n->range_count;
}

/* The number of ID, which R holds. */
static inline uint32_t number_in(const struct names *n, const struct range *r, uint32_t id) {
    uint32_t number = r->count ? r->first + (id - r->first_id) : r->first;
    return n->joined ? n->joined[number] : number;
}

uint32_t names_index(struct names *n, uint32_t id) {
    const struct range *r = &n->ranges[n->recent];
    if (id - r->first_id >= r->count) {
        n->recent = search(n, id);
        r = &n->ranges[n->recent];
    }
    return number_in(n, r, id);
}

uint32_t names_number(const struct names *n, uint32_t id) {
    return number_in(n, &n->ranges[search(n, id)], id);
}

uint32_t names_id(const struct names *n, uint32_t function) {
    for (size_t i = 0; i < n->range_count; i++)
        if (function - n->ranges[i].first < n->ranges[i].count)
            return n->ranges[i].first_id + (function - n->ranges[i].first);
    return UINT32_MAX;
}

void names_join(struct names *n, const uint32_t *to) {
    n->joined = mem_resize(n->joined, n->function_count, sizeof *n->joined);
    memcpy(n->joined, to, n->function_count * sizeof *to);
}

/* The range of a function's number. */
static const struct range *range_of(const struct names *n, uint32_t function) {
    const struct range *r = &n->ranges[n->recent];
    if (function - r->first < r->count)
        return r;
    /* A malicious file's ranges need not be ascending by number. */
    for (r = n->ranges; r->count; r++)
        if (function - r->first < r->count)
            break;
    return r;
}

/* NULL for the unknown function. */
static const struct trace_function *facts(const struct names *n, uint32_t function) {
    const struct range *r = range_of(n, function);
    return r->count ? &trace_reader_module(n->reader, r->module)->functions[function - r->first]
                    : NULL;
}

/* Copies TEXT into the arena, and frees TEXT. */
static char *keep(struct names *n, char *text) {
    char *kept = arena_strdup(n->arena, text);
    for (char *p = kept; *p; p++)
        if (iscntrl((unsigned char)*p))
            *p = '?';
    free(text);
    return kept;
}

const char *names_function(struct names *n, uint32_t function) {
    if (n->functions[function])
        return n->functions[function];
    const struct trace_function *f = facts(n, function);
    char *text;
    if (!f)
        text = mem_strdup("<unknown>");
    else if (f->name && *f->name)
        text = demangle(f->name);
    else
        text = mem_printf("%s+0x%jx", names_module_name(n, names_module(n, function)), f->address);
    return n->functions[function] = keep(n, text);
}

const char *names_symbol(struct names *n, uint32_t function) {
    const struct trace_function *f = facts(n, function);
    if (!f || !f->name || !*f->name)
        return names_function(n, function);
    if (!n->symbols[function])
        n->symbols[function] = keep(n, mem_strdup(f->name));
    return n->symbols[function];
}

static bool is_listed(const char *const *list, size_t count, const char *name) {
    while (count && strcmp(list[count - 1], name) != 0)
        count--;
    return count;
}

/* Different symbols may have the same readable name, as constructors do. */
const char *const *names_aliases(struct names *n, uint32_t function) {
    const struct trace_function *f = facts(n, function);
    if (n->aliases[function] || !f || !f->aliases || !*f->aliases)
        return n->aliases[function];
    size_t room = 2, count = 0;
    for (const char *p = f->aliases; *p; p++)
        room += *p == '\n';
    const char **list = arena_alloc(n->arena, room * sizeof *list);
    for (const char *p = f->aliases; *p; p += strspn(p, "\n")) {
        size_t length = strcspn(p, "\n");
        AUTO_FREE char *symbol = mem_printf("%.*s", (int)length, p);
        const char *alias = keep(n, demangle(symbol));
        if (strcmp(alias, names_function(n, function)) != 0 && !is_listed(list, count, alias))
            list[count++] = alias;
        p += length;
    }
    return n->aliases[function] = count ? list : NULL;
}

uint32_t names_module(const struct names *n, uint32_t function) {
    return range_of(n, function)->module;
}

const char *names_module_name(struct names *n, uint32_t module) {
    if (!n->modules[module]) {
        const struct trace_module *m = trace_reader_module(n->reader, module);
        n->modules[module] = keep(n, mem_strdup(m ? m->name : "<unknown>"));
    }
    return n->modules[module];
}

bool names_instrumented(const struct names *n, uint32_t function) {
    const struct trace_function *f = facts(n, function);
    return f && f->instrumented;
}

uint8_t names_tier(const struct names *n, uint32_t function) {
    const struct trace_function *f = facts(n, function);
    return f ? f->entry_tier : 0;
}

bool names_exact(const struct names *n, uint32_t function) {
    const struct trace_function *f = facts(n, function);
    return !f || f->exact;
}

bool names_partly(const struct names *n, uint32_t function) {
    const struct trace_function *f = facts(n, function);
    return f && f->partly;
}

bool names_is_mark(const struct names *n, uint32_t function) {
    const struct trace_function *f = facts(n, function);
    return f && f->mark;
}

bool names_has_marks(const struct names *n) {
    for (uint32_t i = 0; i < names_count(n); i++)
        if (names_is_mark(n, i))
            return true;
    return false;
}

uint64_t names_address(const struct names *n, uint32_t function) {
    const struct trace_function *f = facts(n, function);
    return f ? f->address : 0;
}

static struct source_lines *read_lines(const struct trace_module *m) {
    AUTO_FREE vaddr_t *starts = mem_alloc(m->function_count * sizeof *starts + 1);
    for (uint32_t i = 0; i < m->function_count; i++)
        starts[i] = m->functions[i].address;
    return source_lines_new(m->path, m->build_id, m->build_id_size, starts, m->function_count);
}

struct source_line names_source(struct names *n, uint32_t function) {
    const struct range *r = range_of(n, function);
    struct module_lines *m = &n->lines[r->module];
    if (!r->count)
        return (struct source_line){0};
    if (!m->known)
        m->lines = read_lines(trace_reader_module(n->reader, r->module));
    m->known = true;
    return m->lines ? source_lines_at(m->lines, function - r->first) : (struct source_line){0};
}

/* Adds the names of the symbols in LIST, which '\n' separates. */
static void add_symbols(struct function_names *names, const char *list) {
    for (const char *at = list; at && *at; at += strspn(at, "\n")) {
        size_t length = strcspn(at, "\n");
        AUTO_FREE char *symbol = mem_printf("%.*s", (int)length, at);
        symbol_names_add(names, symbol);
        at += length;
    }
}

struct function_names names_all(struct names *n, uint32_t function) {
    struct function_names names = {0};
    const struct trace_function *f = facts(n, function);
    add_symbols(&names, f ? f->name : NULL);
    add_symbols(&names, f ? f->aliases : NULL);
    if (!f || !f->name || !*f->name || strchr(names_function(n, function), '?'))
        function_names_add(&names, names_function(n, function)); /* as it is shown */
    return names;
}

char *names_bare(struct names *n, uint32_t function) {
    const struct trace_function *f = facts(n, function);
    return f && f->name && *f->name ? symbol_bare_name(f->name)
                                    : mem_strdup(names_function(n, function));
}

bool names_match(struct names *n, uint32_t function, const struct pattern *p) {
    const char *module = names_module_name(n, names_module(n, function));
    struct function_names names = names_all(n, function);
    bool matches = function_names_match(&names, module, p);
    function_names_done(&names);
    return matches;
}
