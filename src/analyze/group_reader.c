/* See group_reader.h: a heap of streams, the one with the earliest next item first. */
#include "analyze/group_reader.h"

#include "base/mem.h"

/* A stream of the group. */
struct input {
    uint32_t stream;
    uint32_t thread; /* its index in the group */
    struct trace_cursor *cursor;
    const struct trace_item *items; /* [next … count): decoded, not yet given out */
    size_t next, count;
    uint64_t ticks; /* of the next item */
};

struct group_reader {
    struct trace_reader *reader;
    struct input *inputs; /* all streams of the group */
    struct input **heap;  /* streams with items left, earliest next item first */
    uint32_t count;       /* of `heap` */
    uint32_t input_count; /* all */
};

static bool before(const struct input *a, const struct input *b) {
    return a->ticks < b->ticks || (a->ticks == b->ticks && a->stream < b->stream);
}

static void sift_down(struct group_reader *r, uint32_t i) {
    struct input *moved = r->heap[i];
    for (uint32_t child; (child = 2 * i + 1) < r->count; i = child) {
        if (child + 1 < r->count && before(r->heap[child + 1], r->heap[child]))
            child++;
        if (!before(r->heap[child], moved))
            break;
        r->heap[i] = r->heap[child];
    }
    r->heap[i] = moved;
}

/* The stream with the next item after the first one's; NULL: there is no other. */
static const struct input *second(const struct group_reader *r) {
    if (r->count < 2)
        return NULL;
    bool right = r->count > 2 && before(r->heap[2], r->heap[1]);
    return r->heap[right ? 2 : 1];
}

/* The reader knows the time of each stream's first item. */
struct group_reader *group_reader_new(struct trace_reader *reader, struct stream_group group) {
    struct group_reader *r = mem_alloc(sizeof *r);
    r->reader = reader;
    r->inputs = mem_alloc(group.count * sizeof *r->inputs);
    r->heap = mem_alloc(group.count * sizeof *r->heap);
    for (uint32_t i = 0; i < group.count; i++) {
        r->inputs[i] = (struct input){.stream = group.streams[i], .thread = i};
        r->inputs[i].ticks = trace_reader_first_ticks(reader, group.streams[i]);
        r->heap[i] = &r->inputs[i];
    }
    r->count = r->input_count = group.count;
    for (uint32_t i = r->count / 2; i-- > 0;)
        sift_down(r, i);
    return r;
}

void group_reader_free(struct group_reader *r) {
    if (!r)
        return;
    for (uint32_t i = 0; i < r->input_count; i++)
        trace_cursor_free(r->inputs[i].cursor);
    free(r->inputs);
    free(r->heap);
    free(r);
}

static void open_cursor(struct group_reader *r, struct input *input) {
    if (!input->cursor)
        trace_cursor_open(r->reader, input->stream, &input->cursor, NULL);
}

/* The cursor, if all that it has returned was passed on; else NULL. */
static struct trace_cursor *idle_cursor(struct group_reader *r) {
    struct input *only = r->inputs;
    if (r->count != 1 || r->input_count != 1 || only->next != only->count)
        return NULL;
    open_cursor(r, only);
    return only->cursor;
}

size_t group_reader_block(struct group_reader *r) {
    struct trace_cursor *cursor = idle_cursor(r);
    return cursor ? trace_cursor_block(cursor) : NO_BLOCK;
}

size_t group_reader_next_block(struct group_reader *r) {
    struct trace_cursor *cursor = idle_cursor(r);
    return cursor ? trace_cursor_next_block(cursor) : NO_BLOCK;
}

size_t group_reader_damaged_block(struct group_reader *r, uint32_t *ret_lost) {
    struct trace_cursor *cursor = idle_cursor(r);
    return cursor ? trace_cursor_damaged_block(cursor, ret_lost) : NO_BLOCK;
}

void group_reader_seek(struct group_reader *r, size_t block) {
    struct input *only = r->inputs;
    open_cursor(r, only);
    trace_cursor_seek(only->cursor, block);
    only->next = only->count = 0;
    only->ticks = trace_reader_block(r->reader, block).first;
}

void group_reader_skip_block(struct group_reader *r, uint32_t damaged) {
    trace_cursor_skip_block(r->inputs->cursor, damaged);
}

/* Decodes more items of INPUT. 0: it has ended. */
static ptrdiff_t refill(struct group_reader *r, struct input *input, struct err *err) {
    open_cursor(r, input);
    ptrdiff_t count = trace_cursor_batch(input->cursor, &input->items, err);
    input->next = 0;
    input->count = count > 0 ? (size_t)count : 0;
    if (count > 0)
        input->ticks = input->items[0].ticks;
    return count;
}

static void end_first(struct group_reader *r) {
    trace_cursor_free(r->heap[0]->cursor);
    r->heap[0]->cursor = NULL;
    r->heap[0] = r->heap[--r->count];
    if (r->count)
        sift_down(r, 0);
}

/* Counts INPUT's items up to the next item of OTHER. */
static size_t count_run(const struct input *input, const struct input *other) {
    const struct trace_item *item = input->items + input->next, *end = input->items + input->count;
    if (!other)
        return (size_t)(end - item);
    while (item < end && item->ticks <= other->ticks)
        item++;
    return (size_t)(item - input->items) - input->next;
}

int group_reader_next(struct group_reader *r, struct item_run *ret, struct err *err) {
    while (r->count) {
        struct input *input = r->heap[0];
        if (input->next == input->count) {
            ptrdiff_t rc = refill(r, input, err);
            if (rc < 0)
                return (int)rc;
            if (!rc) {
                *ret = (struct item_run){input->thread, input->stream, .ended = true};
                end_first(r);
                return 1;
            }
        }
        size_t count = count_run(input, second(r));
        *ret = (struct item_run){.thread = input->thread,
                                 .stream = input->stream,
                                 .items = input->items + input->next,
                                 .count = count};
        input->next += count;
        if (input->next < input->count)
            input->ticks = input->items[input->next].ticks;
        sift_down(r, 0);
        if (count)
            return 1;
    }
    return 0;
}

struct calls *group_calls_new(const struct trace_reader *reader, const struct names *names,
                              struct stream_group group, const struct calls_ops *ops, void *ctx) {
    struct calls *calls = calls_new(trace_reader_thread(reader, group.streams[0]), ops, ctx);
    for (uint32_t i = 1; i < group.count; i++)
        calls_add_thread(calls, trace_reader_thread(reader, group.streams[i]));
    if (names_grow_stacks(names))
        calls_expect_split_stacks(calls);
    return calls;
}
