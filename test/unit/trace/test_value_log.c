/* Values go through a trace and come back; those whose event is left out are dropped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/value_log.h"
#include "trace/values.h"
#include "trace/writer.h"

enum { CALLS = 70000, ID = 5, TEXT = 12, SIZE = CAPTURE_TEXT_BYTES };
enum { TEXT_AT = 3, WORDS = TEXT_AT + (TEXT + 1 + SIZE - 1) / SIZE };

static struct capture_value values[] = {
    {.from = FROM_REGISTER, .bytes = 4, .name = "a", .length_of = -1},
    {.from = FROM_REGISTER, .bytes = 16, .name = "wide", .length_of = -1},
    {.from = FROM_REGISTER,
     .string = true,
     .unit = 1,
     .most = TEXT,
     .name = "text",
     .length_of = -1},
    {.from = FROM_NOTHING, .missing = VALUE_OPTIMIZED_OUT, .name = "gone", .length_of = -1},
    {.from = FROM_NOTHING, .name = "empty", .length_of = -1}, /* an object without members */
    {.from = FROM_CONSTANT, .constant = 42, .bytes = 4, .name = "constant", .length_of = -1}};

/* Words: a, two of wide, then those of the text. Every seventh call lacks wide's second one. */
static void make(uint32_t i, uint64_t words[WORDS], uint64_t *there) {
    char text[24] = {0};
    snprintf(text, sizeof text, "%u text", i * 1237);
    words[0] = 0xabcd00000000 | (i * 2654435761u);
    words[1] = UINT64_MAX - i;
    words[2] = (uint64_t)i << 40;
    for (size_t k = TEXT_AT; k < WORDS; k++) {
        words[k] = 0;
        memcpy(&words[k], text + (k - TEXT_AT) * SIZE, SIZE);
    }
    *there = ((1 << WORDS) - 1) & (i % 7 ? ~0 : ~4);
}

static void check(uint32_t i, const struct trace_occurrence *o) {
    uint64_t words[WORDS], there;
    char text[16] = {0};
    make(i, words, &there);
    snprintf(text, sizeof text, "%u text", i * 1237);
    assert_int_equal(o->capture->count, 6);
    assert_string_equal(o->capture->values[0].name, "a");
    assert_int_equal(o->values[0].length, 4);
    assert_memory_equal(o->values[0].bytes, &words[0], 4);
    assert_int_equal(o->values[1].missing, i % 7 ? VALUE_THERE : VALUE_UNREADABLE);
    if (i % 7)
        assert_memory_equal(o->values[1].bytes, &words[1], 16);
    assert_int_equal(o->values[2].length, strlen(text) < TEXT ? strlen(text) : TEXT);
    assert_int_equal(o->values[2].cut, strlen(text) > TEXT);
    assert_memory_equal(o->values[2].bytes, text, o->values[2].length);
    assert_int_equal(o->values[3].missing, VALUE_OPTIMIZED_OUT);
    assert_int_equal(o->values[4].missing, VALUE_THERE);
    assert_int_equal(o->values[4].length, 0);
    assert_int_equal(o->values[5].missing, VALUE_THERE);
    assert_int_equal(o->values[5].length, 4);
    assert_memory_equal(o->values[5].bytes, &(const int){42}, 4);
}

static void values_come_back(void **state) {
    static const char *const command[] = {"program", NULL};
    const struct trace_session session = {.version = "1", .arch = "x86_64", .command = command};
    const struct capture capture = {.kind = EVENT_ENTRY, .values = values, .count = 6};
    char path[] = "/tmp/value-log-XXXXXX";
    struct captures *captures = captures_new();
    struct value_batch batch = {0};
    struct trace_writer *w;
    struct err err;
    (void)state;
    close(mkstemp(path));
    const uint32_t number = captures_add(captures, ID, &capture, NULL);
    assert_int_equal(trace_writer_open(path, &session, &w, &err), 0);
    trace_writer_thread(w, &(struct trace_thread){.pid = 1, .tid = 1, .name = "t"});
    for (uint32_t i = 0; i < CALLS; i++) {
        uint64_t words[WORDS], there;
        make(i, words, &there);
        value_batch_put(&batch,
                        &(struct event_values){1000 + i * 10ull, number,
                                               captures_get(captures, number), words, &there});
        trace_writer_values(w, 0, &batch);
        batch.list.count = batch.words.count = 0;
        const struct trace_event events[] = {{1000 + i * 10ull, ID << 2 | EVENT_ENTRY, 4096},
                                             {1005 + i * 10ull, ID << 2 | EVENT_RETURN, 4096}};
        if (i % 10) /* the others are left out */
            trace_writer_events(w, 0, events, 2);
    }
    assert_int_equal(trace_writer_finish(w, &(struct trace_end){.ticks = 1}, NULL, &err), 0);
    value_batch_done(&batch);
    captures_free(captures);

    struct trace_reader *r;
    assert_int_equal(trace_reader_open(path, &r, &err), 0);
    assert_true(trace_reader_has_values(r));
    assert_int_equal(trace_reader_capture_count(r), 1);
    struct trace_values *v = trace_values_new(r);
    for (uint32_t k = 0; k < 2 * CALLS; k++) { /* forward, then here and there */
        const uint32_t i = k < CALLS ? k : k * 7919 % CALLS;
        if (k >= CALLS && k % 512)
            continue;
        struct trace_event_key key = {0, ID, EVENT_ENTRY, 1000 + i * 10ull};
        struct trace_occurrence o;
        const bool found = trace_values_find(v, &key, &o);
        assert_int_equal(found, i % 10 != 0);
        if (found)
            check(i, &o);
        key.kind = EVENT_RETURN;
        key.ticks += 5;
        assert_false(trace_values_find(v, &key, &o));
    }
    trace_values_free(v);
    trace_reader_free(r);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_come_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
