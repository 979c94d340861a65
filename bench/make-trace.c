/*
 * Writes a large trace, for measuring views on it:
 *
 *     make-trace FILE [--events=N] [--threads=N] [--seed=N]
 *
 * The threads walk through random trees of calls of 2000 functions, 1 to 60 calls deep. The times
 * between two events have a Pareto distribution. N may be like 1e9. Default: 1e8 events of 64
 * threads, seed 1. Equal options give equal events.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "trace/writer.h"

enum {
    FUNCTIONS = 2000,
    MOST_DEPTH = 60,
    MOST_THREADS = 4096,
    FEED = 4096,            /* events that are written at a time */
    SLICE_TICKS = 10000000, /* a thread's events of such a time come next to each other */
    SYNC_EVENTS = 1 << 22,  /* then the writer's threads catch up, so that all is compressed */
    STACK_BYTES = 8 << 20,
    QUANTILES = 4096, /* a power of two */
    LEAST_TICKS = 30
};
static const double ALPHA = 1.3;

struct thread {
    uint64_t clock, random;
    uint64_t top; /* the upper end of its stack */
    unsigned depth;
    struct {
        uint32_t id;
        uint64_t sp;
    } stack[MOST_DEPTH];
};

struct maker {
    struct trace_writer *writer;
    struct thread *threads;
    uint32_t thread_count;
    uint64_t events, made;
    uint64_t quantiles[QUANTILES];
    double tail; /* by how much times beyond the last quantile are longer */
    struct trace_event buffer[FEED];
    size_t buffered;
};

static uint64_t random_next(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

static void set_quantiles(struct maker *m) {
    for (int i = 0; i < QUANTILES; i++)
        m->quantiles[i] = (uint64_t)(LEAST_TICKS * pow(1 - (i + 0.5) / QUANTILES, -1 / ALPHA));
    m->tail = pow(QUANTILES, 1 / ALPHA);
}

/* Ticks until the next event. */
static uint64_t next_step(const struct maker *m, uint64_t *random) {
    uint64_t i = random_next(random) >> 32 & (QUANTILES - 1);
    if (i < QUANTILES - 1)
        return m->quantiles[i];
    return (uint64_t)((double)m->quantiles[random_next(random) & (QUANTILES - 1)] * m->tail);
}

static void flush(struct maker *m, uint32_t stream) {
    trace_writer_events(m->writer, stream, m->buffer, m->buffered);
    m->buffered = 0;
}

static void emit(struct maker *m, uint32_t stream, enum event_kind kind) {
    struct thread *t = &m->threads[stream];
    t->clock += next_step(m, &t->random);
    m->buffer[m->buffered++] = (struct trace_event){t->clock, t->stack[t->depth - 1].id << 2 | kind,
                                                    t->stack[t->depth - 1].sp};
    m->made++;
    if (m->buffered == FEED)
        flush(m, stream);
}

/* The callee of a random call of FUNCTION. Each function calls some others, a few of them often. */
static uint32_t callee(uint32_t function, uint64_t random) {
    uint32_t spread = (uint32_t)(random >> 40) % 16;
    return (function * 7 + spread * spread * (spread > 12 ? 5 : 1) + 1) % FUNCTIONS;
}

static void step(struct maker *m, uint32_t stream) {
    struct thread *t = &m->threads[stream];
    uint64_t random = random_next(&t->random);
    if (t->depth > 1 && (t->depth == MOST_DEPTH || random >> 63)) {
        emit(m, stream, EVENT_RETURN);
        t->depth--;
        return;
    }
    uint32_t id = t->depth ? callee(t->stack[t->depth - 1].id, random) : stream % FUNCTIONS;
    uint64_t above = t->depth ? t->stack[t->depth - 1].sp : t->top - 128;
    t->stack[t->depth].id = id;
    t->stack[t->depth].sp = above - 16 * (1 + (t->depth ? t->stack[t->depth - 1].id % 23 : 0)) - 8;
    t->depth++;
    emit(m, stream, EVENT_ENTRY);
}

static void make_events(struct maker *m) {
    uint64_t synced = 0;
    for (uint64_t until = SLICE_TICKS; m->made < m->events; until += SLICE_TICKS) {
        for (uint32_t i = 0; i < m->thread_count && m->made < m->events; i++) {
            while (m->threads[i].clock < until && m->made < m->events)
                step(m, i);
            flush(m, i);
        }
        if (m->made - synced < SYNC_EVENTS)
            continue;
        trace_writer_sync(m->writer);
        synced = m->made;
    }
}

static void write_names(struct trace_writer *w) {
    static struct trace_function functions[FUNCTIONS];
    for (int i = 0; i < FUNCTIONS; i++)
        functions[i] =
            (struct trace_function){.address = 0x1000 + 64 * (uint64_t)i,
                                    .size = 64,
                                    .name = mem_printf("_ZN5large8functionILi%dEEEvv", i),
                                    .instrumented = true,
                                    .exact = true};
    struct trace_module m = {.path = "/bin/large",
                             .name = "large",
                             .functions = functions,
                             .function_count = FUNCTIONS,
                             .seen = FUNCTIONS,
                             .instrumented = FUNCTIONS,
                             .exact_exit = FUNCTIONS};
    trace_writer_module(w, &m);
    trace_writer_map(w, &(struct trace_map){.pid = 1, .bias = 0x400000});
    for (int i = 0; i < FUNCTIONS; i++)
        free((void *)functions[i].name);
}

static void begin_threads(struct maker *m, uint64_t seed) {
    m->threads = mem_alloc(m->thread_count * sizeof *m->threads);
    trace_writer_process(m->writer,
                         &(struct trace_process){.pid = 1, .start = 1, .command = "large"});
    for (uint32_t i = 0; i < m->thread_count; i++) {
        struct thread *t = &m->threads[i];
        t->top = 0x7f0000000000 + (uint64_t)i * 2 * STACK_BYTES;
        t->random = (seed * MOST_THREADS + i) * 0x9e3779b97f4a7c15u | 1;
        t->clock = 1000 + i;
        AUTO_FREE char *name = mem_printf("worker-%u", i);
        struct trace_thread thread = {.stream = i,
                                      .pid = 1,
                                      .tid = 1 + i,
                                      .start = t->clock,
                                      .stack_low = t->top - STACK_BYTES,
                                      .stack_high = t->top,
                                      .name = name};
        trace_writer_thread(m->writer, &thread);
    }
}

/* A tick is 0.4 ns. */
static int finish(struct maker *m, struct err *err) {
    uint64_t last = 0;
    for (uint32_t i = 0; i < m->thread_count; i++)
        last = m->threads[i].clock > last ? m->threads[i].clock : last;
    trace_writer_clock(m->writer, &(struct trace_clock){last, last / 5 * 2});
    free(m->threads);
    return trace_writer_finish(m->writer, &(struct trace_end){.ticks = last}, NULL, err);
}

static uint64_t number(const char *text) { return (uint64_t)strtod(text, NULL); }

int main(int argc, char **argv) {
    static const struct option options[] = {{"events", required_argument, NULL, 'e'},
                                            {"threads", required_argument, NULL, 't'},
                                            {"seed", required_argument, NULL, 's'},
                                            {0}};
    static const char *const command[] = {"large", NULL};
    static struct maker m = {.events = 100000000, .thread_count = 64};
    struct trace_session session = {.version = SPOOR_VERSION, .arch = "x86_64", .command = command};
    struct err err = {0};
    uint64_t seed = 1;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'e')
            m.events = number(optarg);
        else if (c == 't')
            m.thread_count = (uint32_t)number(optarg);
        else if (c == 's')
            seed = number(optarg);
        else
            return 2;
    }
    if (optind != argc - 1 || !m.thread_count || m.thread_count > MOST_THREADS) {
        fprintf(stderr, "usage: make-trace FILE [--events=N] [--threads=N] [--seed=N]\n");
        return 2;
    }
    int rc = trace_writer_open(argv[optind], &session, &m.writer, &err);
    if (!rc) {
        trace_writer_clock(m.writer, &(struct trace_clock){0, 0});
        begin_threads(&m, seed);
        write_names(m.writer);
        set_quantiles(&m);
        make_events(&m);
        rc = finish(&m, &err);
    }
    if (rc)
        fprintf(stderr, "make-trace: %s\n", err.text);
    return rc != 0;
}
