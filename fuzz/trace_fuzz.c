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

#include "base/mem.h"
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
        touch(print_missing(&printer, &item));
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

/* Calls lie below their callers, and begin later. */
static void check_open_calls(const struct trace_checkpoint *c, uint64_t ticks) {
    for (uint32_t i = 0; i < c->count; i++) {
        const struct trace_open_call *call = &c->calls[i], *up = i ? call - 1 : call;
        if (call->start > ticks || call->start < up->start || (i && call->sp >= up->sp))
            __builtin_trap();
    }
}

/* Looks for the end of each open call of C. */
static void find_ends(struct trace_reader *r, struct trace_seeker *s, uint32_t stream,
                      const struct trace_checkpoint *c) {
    struct trace_checkpoint last;
    AUTO_FREE struct open_call_key *keys = mem_alloc(c->count * sizeof *keys + 1);
    for (uint32_t i = 0; i < c->count; i++)
        keys[i] = (struct open_call_key){i, c->calls[i].id, c->calls[i].sp,
                                         trace_reader_ns(r, c->calls[i].start)};
    for (uint32_t i = 0, count = c->count; i < count; i++)
        sink += trace_seeker_last_open(s, stream, c->block, &keys[i], &last);
}

static void read_checkpoints(struct trace_reader *r, uint32_t stream) {
    struct trace_seeker *s = trace_seeker_new(r);
    struct trace_checkpoint c;
    size_t pauses;
    for (size_t i = trace_reader_first_block(r, stream); i < trace_reader_end_block(r, stream);
         i++) {
        uint64_t first = trace_reader_block(r, i).first;
        sink += trace_seeker_before(s, stream, first, &c);
        if (!trace_seeker_at(s, stream, i, &c))
            continue;
        check_open_calls(&c, first);
        find_ends(r, s, stream, &c);
    }
    trace_seeker_free(s);
    const struct trace_pause *list = trace_reader_pauses(r, stream, &pauses);
    for (size_t i = 0; i < pauses; i++)
        if (i && list[i].ticks < list[i - 1].ticks)
            __builtin_trap();
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
        for (uint32_t i = 0; i < trace_reader_stream_count(r); i++) {
            read_stream(r, i);
            read_checkpoints(r, i);
        }
        read_merged(r);
        trace_reader_free(r);
    }
    close(fd);
    return 0;
}
