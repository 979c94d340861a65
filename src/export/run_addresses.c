/* See run_addresses.h. */
#include "export/run_addresses.h"

#include "base/mem.h"
#include "base/search.h"

struct mapped {
    uint32_t first_id; /* names the module */
    uint32_t pid;
    uint64_t ns, bias;
};

struct run_addresses {
    const struct trace_reader *reader;
    struct names *names;
    struct mapped *maps; /* ascending */
    size_t count;
};

static int compare_maps(const void *a, const void *b) {
    const struct mapped *x = a, *y = b;
    if (x->first_id != y->first_id)
        return x->first_id > y->first_id ? 1 : -1;
    if (x->pid != y->pid)
        return x->pid > y->pid ? 1 : -1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

struct run_addresses *run_addresses_new(const struct trace_reader *r, struct names *names) {
    struct run_addresses *a = mem_alloc(sizeof *a);
    a->reader = r;
    a->names = names;
    a->count = trace_reader_map_count(r);
    a->maps = mem_alloc((a->count + 1) * sizeof *a->maps);
    for (size_t i = 0; i < a->count; i++) {
        const struct trace_map *m = trace_reader_map(r, i);
        a->maps[i] = (struct mapped){m->first_id, m->pid, trace_reader_ns(r, m->ticks), m->bias};
    }
    qsort(a->maps, a->count, sizeof *a->maps, compare_maps);
    return a;
}

void run_addresses_free(struct run_addresses *a) {
    if (!a)
        return;
    free(a->maps);
    free(a);
}

static bool is_of(const struct run_addresses *a, size_t i, uint32_t first_id) {
    return i < a->count && a->maps[i].first_id == first_id;
}

/* The last map before NS, or else the first one, of the process; or else of any. */
static uint64_t bias_of(const struct run_addresses *a, const struct mapped *wanted) {
    size_t next = SEARCH(k, a->count, compare_maps(&a->maps[k], wanted) <= 0);
    if (next && is_of(a, next - 1, wanted->first_id) && a->maps[next - 1].pid == wanted->pid)
        return a->maps[next - 1].bias;
    if (is_of(a, next, wanted->first_id))
        return a->maps[next].bias;
    return next && is_of(a, next - 1, wanted->first_id) ? a->maps[next - 1].bias : 0;
}

uint64_t run_address(const struct run_addresses *a, uint32_t function, uint32_t pid, uint64_t ns) {
    const struct trace_module *m = trace_reader_module(a->reader, names_module(a->names, function));
    if (!m)
        return 0;
    struct mapped wanted = {.first_id = m->first_id, .pid = pid, .ns = ns};
    return names_address(a->names, function) + bias_of(a, &wanted);
}
