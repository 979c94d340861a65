/*
 * Fuzzes the trace reader: opens the bytes as a file and reads all that can be read.
 *
 *     build and run: see fuzz/trace_corpus.c
 *
 * Built with FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION the reader ignores checksums, so that
 * mutations reach what lies behind them.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/calls.h"
#include "trace/reader.h"
#include "trace/values.h"
#include "values/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static volatile size_t sink; /* keeps reads alive */

static void touch(const char *text) {
    if (text)
        sink += strlen(text);
}

static void read_facts(struct trace_reader *r) {
    touch(trace_reader_warning(r));
    for (const char *const *arg = trace_reader_session(r)->command; *arg; arg++)
        touch(*arg);
    for (size_t i = 0; i < trace_reader_process_count(r); i++)
        touch(trace_reader_process(r, i)->command);
    for (size_t i = 0; i < trace_reader_map_count(r); i++)
        sink += trace_reader_map(r, i)->bias;
    for (size_t i = 0; i < trace_reader_module_count(r); i++) {
        const struct trace_module *m = trace_reader_module(r, i);
        touch(m->path);
        touch(m->name);
        for (uint32_t k = 0; k < m->refused_count; k++)
            touch(m->refused[k].reason);
        for (uint32_t k = 0; k < m->function_count; k++) {
            touch(m->functions[k].name);
            touch(m->functions[k].aliases);
        }
    }
    for (size_t i = 0; i < trace_reader_change_count(r); i++)
        touch(trace_reader_change(r, i)->filter);
    sink += trace_reader_duration_ns(r) + trace_reader_counts(r).lost;
}

/* Each leads to one that was told of before it, so all come to an end. */
static void read_chains(struct trace_reader *r) {
    for (uint32_t i = 0; i < trace_reader_place_count(r); i++) {
        touch(trace_reader_place(r, i)->function);
        touch(trace_reader_place(r, i)->module);
    }
    for (uint32_t i = 0; i < trace_reader_chain_count(r) + 1; i++) {
        struct trace_chain chain;
        if (trace_reader_chain(r, i, &chain) &&
            (chain.callers >= i || chain.place >= trace_reader_place_count(r)))
            __builtin_trap();
    }
}

/* As JSON and as text. */
static void print_values(struct trace_reader *r, const struct trace_occurrence *o) {
    const struct printer printer = {.types = trace_reader_types(r)};
    struct words words = {0};
    struct item item;
    for (size_t at = 0; item_next(o->capture, o->values, &at, &item);) {
        print_text(&printer, &item, &words);
        print_json(&printer, &item, &words);
        print_type(printer.types, &item, &words);
        touch(print_missing(&item));
        sink += print_is_cut(&printer, &item);
    }
    touch(words_text(&words));
    words_done(&words);
}

static void read_values(struct trace_reader *r, struct trace_values *values,
                        const struct trace_item *item) {
    struct trace_occurrence o;
    const struct trace_event_key key = {item->stream, item->id, item->event, item->ticks};
    if (item->kind == TRACE_EVENT && trace_values_find(values, &key, &o))
        print_values(r, &o);
}

static void read_types(struct trace_reader *r) {
    struct types *types = trace_reader_types(r);
    for (type_id i = 0; i < types_count(types); i++) {
        AUTO_FREE char *text = types_spell(types, i);
        touch(text);
        sink += types_bytes(types, i);
    }
}

static void read_stream(struct trace_reader *r, uint32_t stream) {
    static const struct calls_ops ops = {0};
    struct trace_cursor *c;
    const struct trace_item *items;
    const struct trace_thread *thread = trace_reader_thread(r, stream);
    touch(thread->name);
    if (trace_cursor_open(r, stream, &c, NULL))
        return;
    struct calls *calls = calls_new(thread, &ops, NULL);
    struct trace_values *values = trace_values_new(r);
    for (ptrdiff_t n; (n = trace_cursor_batch(c, &items, NULL));)
        for (ptrdiff_t i = 0; i < n; i++) {
            read_values(r, values, &items[i]);
            if (items[i].kind == TRACE_EVENT)
                calls_event(calls, items[i].ticks, items[i].id, items[i].event, items[i].sp);
            else if (items[i].kind == TRACE_FRAMES)
                calls_frames(calls, items[i].ticks, items[i].frames);
        }
    calls_finish(calls, UINT64_MAX, true);
    calls_free(calls);
    trace_values_free(values);
    trace_cursor_free(c);
}

static void read_merged(struct trace_reader *r) {
    const struct trace_module *module;
    const struct trace_function *function;
    struct trace_merge *m;
    struct trace_item item;
    if (trace_merge_open(r, &m, NULL))
        return;
    for (int rc; (rc = trace_merge_next(m, &item, NULL));)
        if (rc > 0 && trace_reader_function(r, item.id, &module, &function))
            sink += function->size + trace_reader_ns(r, item.ticks);
    trace_merge_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct trace_reader *r;
    char path[64];
    int fd = memfd_create("trace", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        __builtin_trap();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!trace_reader_open(path, &r, NULL)) {
        read_facts(r);
        read_chains(r);
        read_types(r);
        for (uint32_t i = 0; i < trace_reader_stream_count(r); i++)
            read_stream(r, i);
        read_merged(r);
        trace_reader_free(r);
    }
    close(fd);
    return 0;
}
