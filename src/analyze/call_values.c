/* Finds values by time. */
#include "analyze/call_values.h"

#include <elf.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"

enum { MOST_TICKS = 64 }; /* in a nanosecond */

struct call_values {
    struct trace_reader *reader;
    struct names *names;
    struct trace_values *values;
    struct printer printer;
    uint32_t pid; /* of the last occurrence, and its time */
    uint64_t ns;
};

/* The name of the function of MODULE that begins at ADDRESS as linked. */
static const char *function_in(struct call_values *v, const struct trace_module *module,
                               uint64_t address) {
    size_t i = SEARCH(k, module->function_count, module->functions[k].address < address);
    if (i == module->function_count || module->functions[i].address != address)
        return NULL;
    return names_function(v->names, names_index(v->names, module->first_id + (uint32_t)i));
}

static const char *function_at(void *ctx, uint64_t address) {
    struct call_values *v = ctx;
    const char *found = NULL;
    for (size_t i = 0; i < trace_reader_map_count(v->reader); i++) {
        const struct trace_map *m = trace_reader_map(v->reader, i);
        if (m->pid != v->pid || trace_reader_ns(v->reader, m->ticks) > v->ns)
            continue;
        for (size_t k = 0; k < trace_reader_module_count(v->reader); k++) {
            const struct trace_module *module = trace_reader_module(v->reader, k);
            const char *name =
                module->first_id == m->first_id ? function_in(v, module, address - m->bias) : NULL;
            found = name ? name : found;
        }
    }
    return found;
}

struct call_values *call_values_new(struct trace_reader *r, struct names *names) {
    if (!trace_reader_has_values(r))
        return NULL;
    struct call_values *v = mem_alloc(sizeof *v);
    *v = (struct call_values){.reader = r, .names = names, .values = trace_values_new(r)};
    v->printer =
        (struct printer){.types = trace_reader_types(r), .function_at = function_at, .ctx = v};
    v->printer.quads = strcmp(trace_reader_session(r)->arch, "aarch64") == 0;
    return v;
}

void call_values_free(struct call_values *v) {
    if (!v)
        return;
    trace_values_free(v->values);
    free(v);
}

bool call_values_find(struct call_values *v, const struct call_point *point,
                      struct trace_occurrence *ret) {
    uint64_t first = trace_reader_ticks(v->reader, point->ns);
    struct trace_event_key key = {.stream = point->stream, .id = point->id, .ticks = first};
    key.kind = point->kind;
    v->pid = trace_reader_thread(v->reader, point->stream)->pid;
    v->ns = point->ns;
    for (; key.ticks - first < MOST_TICKS && trace_reader_ns(v->reader, key.ticks) == point->ns;
         key.ticks++)
        if (trace_values_find(v->values, &key, ret))
            return true;
    return false;
}

bool call_values_at(struct call_values *v, size_t block, size_t i, struct call_point *point,
                    struct trace_occurrence *ret) {
    struct trace_event_key key;
    if (!trace_values_at(v->values, block, i, &key, ret))
        return false;
    *point =
        (struct call_point){key.stream, key.id, key.kind, trace_reader_ns(v->reader, key.ticks)};
    v->pid = trace_reader_thread(v->reader, key.stream)->pid;
    v->ns = point->ns;
    return true;
}

const struct printer *call_values_printer(struct call_values *v) { return &v->printer; }
