/* src/analyze/digests.h: blocks that are summed up in threads give what walks of all items give. */
#include "programs.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "../trace/support.h"
#include "analyze/digest_plan.h"
#include "analyze/digest_tree.h"
#include "analyze/stats.h"
#include "analyze/tree.h"
#include "base/checksum.h"
#include "trace/layout.h"
#include "trace/records.h"

#define TESTS                                                                                      \
    TEST(calls_in_and_across_blocks)                                                               \
    TEST(calls_left_by_exceptions)                                                                 \
    TEST(events_that_disturb_calls)                                                                \
    TEST(stack_of_a_signal_handler)                                                                \
    TEST(stack_inside_a_stack)                                                                     \
    TEST(children_of_forks)                                                                        \
    TEST(damaged_blocks)                                                                           \
    TEST(block_without_items)                                                                      \
    TEST(frames_behind_the_last_item_of_a_block)                                                   \
    TEST(bounds_of_a_stack_inside_a_stack)                                                         \
    TEST(few_steps)

enum { EVENTS = 20000, BLOCK = 1500 };

static struct lab lab;
static struct machine machine;

static void emit(uint32_t stream, uint32_t id, enum event_kind kind, uint64_t sp) {
    machine_emit(&machine, stream, id, kind, sp);
}

static void run(uint32_t stream, const struct program *p) {
    machine_run(&machine, stream, EVENTS, BLOCK, p);
}

static int set_up(void **state) {
    (void)state;
    lab_init(&lab);
    machine = (struct machine){.writer = lab.writer, .dice = 7, .now = 1000};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    forks_free(lab.source.forks);
    lab_done(&lab);
    return 0;
}

/* ---- comparison ---- */

static char *messages;

static void on_damage(void *ctx, const struct err *err) {
    (void)ctx;
    AUTO_FREE char *old = messages;
    messages = mem_printf("%s%s\n", old ? old : "", err->text);
}

/* All that views show of the trace, as text. LINE as for lab_open(). */
static char *describe(const char *line, unsigned workers) {
    forks_free(lab.source.forks);
    lab.source.forks = NULL;
    lab_open(&lab, line);
    lab.source.forks = forks_new(lab.source.reader, lab.source.stream_groups);
    lab.source.workers = workers;
    lab.source.on_damage = on_damage;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct stats *stats = stats_new(&lab.source, NULL);
    stats_add_all(stats);
    for (uint32_t i = 0; i < names_count(lab.source.names); i++) {
        const struct function_stats *f = stats_of(stats, i);
        fprintf(out, "%u: %ju %ju %ju %ju %ju %ju %ju %ju %ju %ju %ju", i, f->calls, f->total_ns,
                f->self_ns, f->paused_ns, f->min_ns, f->max_ns, f->unwound, f->inferred, f->cut,
                f->clipped, f->before);
        for (unsigned percent = 1; percent <= 100; percent++)
            fprintf(out, " %ju", stats_percentile(f, percent));
        fprintf(out, "\n");
    }
    stats_free(stats);
    struct tree tree;
    tree_init(&tree);
    tree_read(&tree, &lab.source);
    tree_sort(&tree, lab.source.names);
    for (uint32_t node = 0, depth = 0; node != TREE_NONE; node = tree_next(&tree, node, &depth)) {
        const struct tree_node *n = &tree.nodes[node];
        fprintf(out, "%u %u: %ju %ju %ju %ju %ju %ju %ju\n", depth, n->function, n->calls,
                n->total_ns, n->self_ns, n->paused_ns, n->inferred, n->cut, n->before);
    }
    tree_done(&tree);
    fprintf(out, "%s", messages ? messages : "");
    free(messages);
    messages = NULL;
    fclose(out);
    return text;
}

/* A limit of depth makes walks read all items. */
static void expect_the_same(void) {
    AUTO_FREE char *expected = describe("-D 1000000", 1);
    static const unsigned workers[] = {1, 2, 8};
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        AUTO_FREE char *text = describe("", workers[i]);
        assert_string_equal(text, expected);
    }
}

/* How many blocks have a digest. *RET_STEPS, *RET_ITEMS: the sums of all. */
static size_t count_digests(size_t *ret_steps, size_t *ret_items) {
    lab_open(&lab, "");
    const struct source *s = &lab.source;
    struct digests *digests =
        digest_plan(s, 0, stream_groups_count(s->stream_groups), &digest_tree_ops, NULL);
    size_t count = 0;
    *ret_steps = *ret_items = 0;
    for (size_t i = 0; i < trace_reader_end_block(s->reader, STREAMS - 1); i++) {
        const struct digest *d = digests_take(digests, i);
        count += d != NULL;
        *ret_steps += d ? d->steps.count : 0;
        *ret_items += d ? d->items : 0;
    }
    digests_free(digests);
    return count;
}

static void expect_digests(size_t least) {
    size_t steps, items;
    assert_true(count_digests(&steps, &items) >= least);
}

/* ---- tests ---- */

static void calls_in_and_across_blocks(void **state) {
    (void)state;
    for (uint32_t stream = 0; stream < STREAMS; stream++)
        run(stream, &(struct program){0});
    expect_the_same();
    expect_digests(STREAMS * EVENTS / BLOCK);
}

static void calls_left_by_exceptions(void **state) {
    (void)state;
    for (uint32_t stream = 0; stream < STREAMS; stream++)
        run(stream, &(struct program){.exceptions = 20});
    expect_the_same();
    expect_digests(STREAMS * EVENTS / BLOCK);
}

static void events_that_disturb_calls(void **state) {
    (void)state;
    for (uint32_t stream = 0; stream < STREAMS; stream++)
        run(stream, &(struct program){.exceptions = 2, .oddities = 5 + 40 * stream});
    expect_the_same();
    expect_digests(EVENTS / BLOCK);
}

static void stack_of_a_signal_handler(void **state) {
    (void)state;
    run(1, &(struct program){.exceptions = 2, .signals = 10});
    expect_the_same();
    expect_digests(EVENTS / BLOCK);
}

/* A coroutine's stack in a variable of `main`, above the calls that `main` makes. */
static void stack_inside_a_stack(void **state) {
    (void)state;
    run(0, &(struct program){0});
    emit(1, MAIN, EVENT_ENTRY, 0x1ff00);
    for (unsigned i = 0; i < EVENTS / 6; i++) {
        emit(1, FIB, EVENT_ENTRY, 0x11000);
        emit(1, DRAW, EVENT_ENTRY, 0x10f00);
        emit(1, LEAF, EVENT_ENTRY, i % 40 ? 0x10e00 : 0x19000);
        emit(1, LEAF, EVENT_RETURN, i % 40 ? 0x10e00 : 0x19000);
        emit(1, DRAW, EVENT_RETURN, 0x10f00);
        emit(1, FIB, EVENT_RETURN, 0x11000);
        if (i % (BLOCK / 6) == 0)
            trace_writer_flush(lab.writer);
    }
    run(2, &(struct program){0});
    expect_the_same();
}

static void children_of_forks(void **state) {
    (void)state;
    uint64_t begin = machine.now;
    run(0, &(struct program){.exceptions = 2});
    uint64_t middle = begin + (machine.now - begin) / 2;
    struct trace_thread child = {.stream = 2,
                                 .pid = 200,
                                 .tid = 200,
                                 .start = middle,
                                 .maker = 1,
                                 .stack_low = 0x10000,
                                 .stack_high = TOP,
                                 .name = "child"};
    trace_writer_thread(lab.writer, &child);
    machine.now = middle + 1;
    run(2, &(struct program){.exceptions = 2});
    expect_the_same();
    expect_digests(2 * EVENTS / BLOCK - 1);
}

static void damaged_blocks(void **state) {
    (void)state;
    for (uint32_t stream = 0; stream < STREAMS; stream++)
        run(stream, &(struct program){.exceptions = 2, .oddities = 1});
    lab_open(&lab, "");
    damage_blocks(lab.path);
    AUTO_FREE char *text = describe("", 2);
    assert_non_null(strstr(text, "is damaged at byte"));
    expect_the_same();
}

/* Eight blocks of calls in MAIN, with long times between them. A record of frames is behind block
 * FRAMES_BEHIND. */
static void write_calls(unsigned frames_behind) {
    struct trace_frame open = {MAIN, TOP - 16};
    emit(0, MAIN, EVENT_ENTRY, TOP - 16);
    for (unsigned block = 0; block < 8; block++) {
        for (unsigned i = 0; i < BLOCK; i++)
            emit(0, LEAF, i % 2 ? EVENT_RETURN : EVENT_ENTRY, TOP - 64);
        trace_writer_flush(lab.writer);
        machine.now += 1000;
        if (block == frames_behind)
            trace_writer_frames(lab.writer, &(struct trace_frames){0, machine.now, 1, &open});
        machine.now += 1000;
    }
    emit(0, MAIN, EVENT_RETURN, TOP - 16);
    trace_writer_thread_end(lab.writer, 0, machine.now);
    lab_open(&lab, "");
}

/* Changes the head of the second block of events, with a valid checksum. The index, which has a
 * copy of it, is dropped. */
static void change_second_block(void (*change)(struct disk_block *head)) {
    size_t size, blocks = 0, at = sizeof(struct disk_header);
    AUTO_FREE uint8_t *bytes = must_load(lab.path, &size);
    for (struct disk_block head;; at += sizeof head + head.stored) {
        memcpy(&head, bytes + at, sizeof head);
        assert_int_equal(head.magic, DISK_BLOCK_MAGIC);
        if (head.type != DISK_EVENTS || blocks++ != 1)
            continue;
        change(&head);
        head.check = checksum(&head, offsetof(struct disk_block, check));
        memcpy(bytes + at, &head, sizeof head);
        break;
    }
    must_store(lab.path, bytes, size - sizeof(struct disk_trailer));
}

static void remove_items(struct disk_block *head) { head->items = head->entries = head->exits = 0; }

static void block_without_items(void **state) {
    (void)state;
    write_calls(8);
    change_second_block(remove_items);
    expect_the_same();
}

static void end_later(struct disk_block *head) { head->last += 1500; }

static void frames_behind_the_last_item_of_a_block(void **state) {
    (void)state;
    write_calls(1);
    change_second_block(end_later);
    expect_the_same();
    expect_digests(7);
}

/* Adds a record that says that stream 0 uses no stack but its thread's own. */
static void deny_other_stacks(void) {
    size_t size;
    AUTO_FREE uint8_t *bytes = must_load(lab.path, &size);
    struct block *block = record_extents(&(struct trace_extent){0, 0x10010, TOP - 16, false}, 1);
    struct disk_block *head = &block->head;
    const struct bytes *payload = &block->parts[0];
    head->raw = head->stored = (uint32_t)payload->count;
    head->payload_check = checksum(payload->at, payload->count);
    head->check = checksum(head, offsetof(struct disk_block, check));
    size -= sizeof(struct disk_trailer);
    AUTO_FREE uint8_t *longer = mem_alloc(size + sizeof *head + payload->count);
    memcpy(longer, bytes, size);
    memcpy(longer + size, head, sizeof *head);
    memcpy(longer + size + sizeof *head, payload->at, payload->count);
    must_store(lab.path, longer, size + sizeof *head + payload->count);
    block_free(block);
}

static void bounds_of_a_stack_inside_a_stack(void **state) {
    (void)state;
    enum { LOW = 0x14000, HIGH = 0x15000 };
    emit(0, MAIN, EVENT_ENTRY, TOP - 16);
    emit(0, STACK_MADE_LOW, EVENT_CONTROL, LOW);
    emit(0, STACK_MADE_HIGH, EVENT_CONTROL, HIGH);
    trace_writer_flush(lab.writer);
    emit(0, FIB, EVENT_ENTRY, LOW);
    for (unsigned i = 0; i < BLOCK; i++)
        emit(0, LEAF, i % 2 ? EVENT_RETURN : EVENT_ENTRY, LOW - 64);
    trace_writer_thread_end(lab.writer, 0, machine.now);
    lab_open(&lab, "");
    deny_other_stacks();
    expect_digests(1);
    free(describe("", 1));
}

/* Else digests would save no time. */
static void few_steps(void **state) {
    (void)state;
    size_t steps, items;
    run(0, &(struct program){0});
    assert_true(count_digests(&steps, &items) >= EVENTS / BLOCK);
    assert_true(items >= EVENTS - BLOCK);
    assert_true(steps < items / 10);
}

int main(void) {
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
