/*
 * A checkpoint has the calls that are open where its block begins, as they are after reading the
 * stream from its beginning: of random calls with exceptions, jumps, missing exits, tail calls,
 * pauses, chains and records of frames.
 */
#include "support.h"

#include "generate.h"
#include "trace/calls.h"

#define TOP ((uint64_t)0x7ffe00000000 + 0x100000)
#define LOW (TOP - 0x800000)

enum { MOST_DEPTH = 200, BLOCKS = 40, FUNCTIONS = 300 };

struct thread {
    struct trace_writer *w;
    uint32_t stream;
    uint64_t random, ticks, pushed; /* `pushed`: ticks of the last event that was pushed */
    bool chains, pauses, frames;
    bool large; /* some of its calls have large variables, and no call ends unseen */
    unsigned depth;
    struct trace_frame stack[MOST_DEPTH];
};

static uint32_t below(struct thread *t, uint32_t limit) { return random_below(&t->random, limit); }

static void emit(struct thread *t, uint32_t id, enum event_kind kind, uint64_t sp) {
    t->ticks += below(t, 8) ? below(t, 100) : below(t, 100000);
    trace_writer_events(t->w, t->stream, &(struct trace_event){t->ticks, id << 2 | kind, sp}, 1);
}

static struct trace_frame *top(struct thread *t) { return &t->stack[t->depth - 1]; }

static void enter(struct thread *t) {
    uint64_t above = t->depth ? top(t)->sp : TOP - 64;
    uint32_t caller = t->depth ? top(t)->id : 0;
    struct trace_frame f = {(caller * 7 + below(t, 12)) % FUNCTIONS, above};
    f.sp -= 16 * (1 + caller % 23) + (t->large && !below(t, 4000) ? 70000 : 0);
    if (f.sp <= LOW + 100000)
        return;
    if (t->chains && !below(t, 4))
        emit(t, CHAIN_EVENT, EVENT_CONTROL, below(t, 1000));
    emit(t, f.id, EVENT_ENTRY, f.sp);
    t->stack[t->depth++] = f;
}

static void leave(struct thread *t) {
    struct trace_frame f = *top(t);
    t->depth--;
    uint32_t how = below(t, t->large ? 95 : 100);
    if (how < 2) /* a shared end of another function */
        emit(t, f.id + FUNCTIONS, EVENT_RETURN, f.sp);
    else if (how < 5)
        emit(t, f.id, EVENT_TAIL, f.sp);
    else if (how < 95) /* else its exit is not patched */
        emit(t, f.id, EVENT_RETURN, f.sp);
}

/* An exception or a jump leaves some calls. */
static void unwind(struct thread *t) {
    uint32_t count = below(t, t->depth);
    t->depth -= count;
    if (count && below(t, 2))
        emit(t, top(t)->id, EVENT_CONTROL, below(t, 2) ? top(t)->sp : top(t)->sp - 8);
}

static void stand_still(struct thread *t) {
    uint64_t length = below(t, 5000);
    t->ticks += length;
    emit(t, PAUSE_EVENT + below(t, 2) + (below(t, 4) ? 0 : PAUSE_IN_CALL), EVENT_CONTROL, length);
}

/* Some of the open calls have ended unseen, and others have begun. */
static void list_frames(struct thread *t) {
    struct trace_frames frames = {t->stream, t->ticks + 1, 0, t->stack};
    if (below(t, 2) && t->depth)
        t->depth -= below(t, t->depth);
    frames.count = t->depth;
    if (frames.count && below(t, 2))
        t->stack[t->depth - 1].id += FUNCTIONS;
    trace_writer_frames(t->w, &frames);
    t->ticks += 2;
}

static void step(struct thread *t) {
    uint32_t dice = below(t, 100000);
    if (dice < 10 && t->depth > 3 && !t->large)
        unwind(t);
    else if (dice < 15 && t->pauses)
        stand_still(t);
    else if (dice < 17 && t->frames)
        list_frames(t);
    else if (dice < 20 && t->depth)
        emit(t, 5, EVENT_RETURN, top(t)->sp - 8); /* of a call that nobody saw */
    else if (t->depth && (t->depth == MOST_DEPTH || dice >= 60000 - t->depth * 100))
        leave(t);
    else
        enter(t);
}

static void write_trace(const char *path, struct thread *threads, uint32_t count) {
    struct trace_writer *w = must_open_writer(path);
    for (uint32_t i = 0; i < count; i++) {
        struct trace_thread thread = {
            .stream = i, .pid = 1, .tid = i, .stack_low = LOW, .stack_high = TOP, .name = "t"};
        threads[i].w = w;
        trace_writer_thread(w, &thread);
    }
    for (int block = 0; block < BLOCKS; block++) {
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t n = 2000 + below(&threads[i], 40000); n; n--)
                step(&threads[i]);
        trace_writer_flush(w);
    }
    must_finish(w);
}

/* ---- comparing ---- */

struct compared {
    struct trace_checkpoint at;
    uint32_t next;
};

static void compare(void *ctx, struct call *call, struct call *parent, uint64_t paused) {
    struct compared *c = ctx;
    (void)parent;
    (void)paused;
    assert_true(c->next < c->at.count);
    const struct trace_open_call *open = &c->at.calls[c->next++];
    assert_int_equal(open->sp, call->sp);
    assert_int_equal(open->id, call->id);
    assert_int_equal(open->start, call->start);
    assert_int_equal(open->chain, call->chain);
    assert_int_equal(open->before, call->before);
    assert_int_equal(open->child_ticks, call->child_ticks);
}

/* Of frames whose time lies between two blocks. */
static void take(struct calls *calls, const struct trace_item *item) {
    if (item->kind == TRACE_FRAMES)
        calls_frames(calls, item->ticks, item->frames);
    else if (item->event == EVENT_CONTROL && is_pause_event(item->id) && item->id & PAUSE_IN_CALL)
        return;
    else if (item->event == EVENT_CONTROL && is_pause_event(item->id))
        calls_pause(calls, item->ticks, item->sp);
    else
        calls_event(calls, item->ticks, item->id, item->event, item->sp);
}

/* Returns how many blocks have checkpoints. */
static size_t check_stream(struct trace_reader *r, uint32_t stream) {
    struct compared c = {0};
    struct calls *calls = calls_new(trace_reader_thread(r, stream), &(struct calls_ops){0}, &c);
    struct trace_seeker *s = trace_seeker_new(r);
    struct trace_cursor *cursor;
    const struct trace_item *items;
    struct err err;
    size_t found = 0, block = trace_reader_first_block(r, stream);
    size_t end = trace_reader_end_block(r, stream);
    uint32_t left = 0; /* items of the block */
    bool compared = false;
    assert_int_equal(trace_cursor_open(r, stream, &cursor, &err), 0);
    for (ptrdiff_t n; (n = trace_cursor_batch(cursor, &items, &err)) > 0;)
        for (ptrdiff_t i = 0; i < n; i++) {
            c.next = 0;
            if (!left && !compared && block < end && trace_seeker_at(s, stream, block, &c.at)) {
                found++;
                calls_each_open(calls, compare);
                assert_int_equal(c.next, c.at.count);
            }
            compared = items[i].kind == TRACE_FRAMES; /* these may come before the block */
            if (items[i].kind != TRACE_FRAMES && !left)
                left = trace_reader_block(r, block++).items;
            left -= items[i].kind != TRACE_FRAMES;
            take(calls, &items[i]);
        }
    assert_int_equal(block, end);
    trace_cursor_free(cursor);
    trace_seeker_free(s);
    calls_free(calls);
    return found;
}

static void checkpoints_have_what_is_open(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        char *path = scratch_new();
        struct thread *threads = mem_alloc(4 * sizeof *threads);
        for (uint32_t i = 0; i < 4; i++)
            threads[i] = (struct thread){.stream = i,
                                         .random = seed * 64 + i + 1,
                                         .ticks = 1000,
                                         .chains = i == 1,
                                         .pauses = i != 0,
                                         .frames = i == 2,
                                         .large = i == 3};
        write_trace(path, threads, 4);
        struct trace_reader *r = must_open_reader(path);
        for (uint32_t i = 0; i < 4; i++) {
            assert_true(check_stream(r, i) >= (i < 3 ? 10 : 1)); /* large frames: inner stacks */
        }
        trace_reader_free(r);
        scratch_free(path);
        free(threads);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(checkpoints_have_what_is_open)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
