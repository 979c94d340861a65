/*
 * Writes a long trace of one thread, for measuring views on it:
 *
 *     make-trace FILE [MILLIONS [SHAPE]]
 *
 * SHAPE is "fib", "tree", "coroutines" or "noise". Default: 100 million events of a tree of calls.
 */
#include <stdio.h>
#include <string.h>

#include "../trace/generate.h"
#include "base/mem.h"
#include "trace/writer.h"

enum { FUNCTIONS = 501, PIECE = 1000000, FEED = 4096 };

static void write_names(struct trace_writer *w) {
    static struct trace_function functions[FUNCTIONS];
    for (int i = 0; i < FUNCTIONS; i++)
        functions[i] = (struct trace_function){.address = 0x1000 + 64 * (uint64_t)i,
                                               .size = 64,
                                               .name = mem_printf("_ZN4deep8functionILi%dEEEvv", i),
                                               .instrumented = true};
    struct trace_module m = {.first_id = 1,
                             .path = "/bin/deep",
                             .name = "deep",
                             .functions = functions,
                             .function_count = FUNCTIONS};
    trace_writer_module(w, &m);
    for (int i = 0; i < FUNCTIONS; i++)
        free((void *)functions[i].name);
}

/* Clocks continue where they stopped in the piece before. */
static uint64_t write_piece(struct trace_writer *w, enum shape shape, uint64_t seed,
                            uint64_t ticks) {
    AUTO_FREE struct trace_event *events = generate(shape, PIECE, seed, 1);
    for (size_t i = 0; i < PIECE; i++)
        events[i].ticks += ticks;
    for (size_t i = 0; i < PIECE; i += FEED)
        trace_writer_events(w, 0, events + i, PIECE - i < FEED ? PIECE - i : FEED);
    return events[PIECE - 1].ticks;
}

static enum shape shape_of(const char *text) {
    for (enum shape s = 0; s < SHAPE_COUNT; s++)
        if (strcmp(shape_name(s), text) == 0)
            return s;
    return SHAPE_TREE;
}

int main(int argc, char **argv) {
    static const char *const command[] = {"deep", NULL};
    struct trace_session session = {.version = "1", .arch = "x86_64", .command = command};
    struct trace_thread thread = {
        .pid = 1, .tid = 1, .stack_low = 0xff000000, .stack_high = 0x100000000, .name = "deep"};
    struct trace_writer *w;
    struct err err;
    uint64_t ticks = 0, millions = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
    if (argc < 2 || trace_writer_open(argv[1], &session, &w, &err))
        return 1;
    trace_writer_clock(w, &(struct trace_clock){0, 0});
    trace_writer_thread(w, &thread);
    write_names(w);
    for (uint64_t i = 0; i < millions; i++)
        ticks = write_piece(w, argc > 3 ? shape_of(argv[3]) : SHAPE_TREE, i, ticks);
    trace_writer_clock(w, &(struct trace_clock){ticks, ticks / 2});
    return trace_writer_finish(w, &(struct trace_end){.ticks = ticks}, NULL, &err) ? 1 : 0;
}
