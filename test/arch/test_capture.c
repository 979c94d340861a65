/*
 * Stubs with captures (x86_64/capture.h), run in this process. They change no register, and write
 * the values that registers, stack and memory have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture_lane.h"

#define TESTS                                                                                      \
    TEST(registers_flags_and_red_zone_preserved)                                                   \
    TEST(plain_captures_preserve_as_much)                                                          \
    TEST(numbers_of_the_x87_stack)                                                                 \
    TEST(memory_of_the_module)                                                                     \
    TEST(words_of_registers_and_stack)                                                             \
    TEST(values_behind_pointers)                                                                   \
    TEST(texts_up_to_their_end)                                                                    \
    TEST(lengths_of_few_bytes)                                                                     \
    TEST(texts_at_the_end_of_a_page)                                                               \
    TEST(no_load_from_impossible_addresses)                                                        \
    TEST(no_load_without_tool)                                                                     \
    TEST(no_load_where_it_was_withdrawn)                                                           \
    TEST(event_alone_where_values_have_no_room)                                                    \
    TEST(full_ring_drops_and_counts)                                                               \
    TEST(registers_are_right_after_a_wait)                                                         \
    TEST(slots_stand_in_one_piece)                                                                 \
    TEST(nothing_is_reserved_before_the_end)

static uint64_t word(uint32_t number) {
    uint64_t found = 0;
    assert_true(find_word(number, &found));
    return found;
}

static struct capture_value behind_next(size_t at, uint16_t bytes) {
    return (struct capture_value){.from = FROM_REGISTER,
                                  .reg = RDI,
                                  .steps = 2,
                                  .step = {{offsetof(struct node, next)}, {(int32_t)at}},
                                  .bytes = bytes,
                                  .length_of = NO_LENGTH};
}

static uint64_t number_at(const uint8_t *bytes) {
    uint64_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

static void registers_flags_and_red_zone_preserved(void **state) {
    struct vectors vectors;
    fill_vectors(&vectors);
    struct node n = {.id = 5, .next = &n};
    const uint64_t registers[16] = {[7] = (uintptr_t)&n, [6] = (uintptr_t) "a text of some length"};
    struct capture_value values[] = {
        of_register(RAX, 8),
        of_register(R15, 4),
        {.from = FROM_VECTOR, .reg = 3, .bytes = 8, .length_of = NO_LENGTH},
        {.from = FROM_VECTOR, .reg = 12, .part = 8, .bytes = 8, .length_of = NO_LENGTH},
        {.from = FROM_STACK, .stack_offset = 0, .bytes = 16, .length_of = NO_LENGTH},
        behind_next(offsetof(struct node, odd), 7),
        text_at(RSI, 1, 64)};
    const struct capture c = {.values = values, .count = sizeof values / sizeof *values};
    for (uint8_t v = 0; v < VARIANTS; v++)
        for (int o = 0; o < OVERFLOWS; o++) {
            fresh_lane(state);
            struct cpu cpu = run_with(v, (enum overflow)o, &c, registers);
            assert_int_equal(word(2), number_at(vectors.xmm[3]));
            assert_int_equal(word(3), number_at(vectors.xmm[12] + 8));
            assert_int_equal(slot(SLOT_AT)->site >> 2, CAPTURE_BEGIN);
            assert_int_equal(event_sp(slot(SLOT_AT)), NUMBER);
            assert_int_equal(slot(lane->head - EVENT_BYTES)->site, SITE);
            assert_int_equal(event_sp(slot(lane->head - EVENT_BYTES)), cpu.sp);
            for (uint64_t at = SLOT_AT; at < lane->head; at += EVENT_BYTES)
                assert_int_equal(slot(at)->clock_sp >> 16, slot(SLOT_AT)->clock_sp >> 16);
            assert_true(lane->head - SLOT_AT <= capture_slots(&c) * EVENT_BYTES);
            if (o == OVERFLOW_OVERWRITE)
                assert_int_equal(lane->slice_slots, (lane->head - SLOT_AT) / EVENT_BYTES - 1);
        }
}

/* Those that leave no value out: their stubs save fewer registers. */
static void plain_captures_preserve_as_much(void **state) {
    struct vectors vectors;
    fill_vectors(&vectors);
    struct capture_value values[] = {
        of_register(RDX, 8),
        {.from = FROM_NOTHING, .length_of = NO_LENGTH},
        {.from = FROM_VECTOR, .reg = 3, .bytes = 8, .length_of = NO_LENGTH},
        {.from = FROM_VECTOR, .reg = 12, .part = 8, .bytes = 8, .length_of = NO_LENGTH},
        {.from = FROM_STACK, .stack_offset = 0, .bytes = 8, .length_of = NO_LENGTH},
        of_register(R15, 4)};
    const struct capture c = {.values = values, .count = sizeof values / sizeof *values};
    const uint64_t registers[16] = {[2] = 22, [15] = 15};
    for (uint8_t v = 0; v < VARIANTS; v++)
        for (int o = 0; o < OVERFLOWS; o++) {
            fresh_lane(state);
            const struct cpu cpu = run_with(v, (enum overflow)o, &c, registers);
            assert_int_equal(word(0), 22);
            assert_int_equal(word(1), number_at(vectors.xmm[3]));
            assert_int_equal(word(2), number_at(vectors.xmm[12] + 8));
            assert_int_equal(word(3), run_code_returns_to());
            assert_int_equal(word(4), 15);
            assert_int_equal(lane->head, SLOT_AT + capture_slots(&c) * EVENT_BYTES);
            assert_int_equal(event_sp(slot(SLOT_AT)), NUMBER);
            assert_int_equal(slot(lane->head - EVENT_BYTES)->site, SITE);
            assert_int_equal(event_sp(slot(lane->head - EVENT_BYTES)), cpu.sp);
            for (uint64_t at = SLOT_AT; at < lane->head; at += EVENT_BYTES)
                assert_int_equal(slot(at)->clock_sp >> 16, slot(SLOT_AT)->clock_sp >> 16);
            if (o == OVERFLOW_OVERWRITE)
                assert_int_equal(lane->slice_slots, capture_slots(&c) - 1);
        }
}

static struct capture_value of_x87(uint8_t number) {
    return (struct capture_value){
        .from = FROM_X87, .part = number, .bytes = 10, .length_of = NO_LENGTH};
}

static void check_x87(uint32_t first, const uint8_t *number) {
    const uint64_t words[] = {word(first), word(first + 1)};
    assert_memory_equal(words, number, of_x87(0).bytes);
}

/* By both kinds of stubs; the second number alone, too. */
static void numbers_of_the_x87_stack(void **state) {
    struct vectors vectors;
    fill_vectors(&vectors);
    const uint64_t registers[16] = {[2] = 22, [7] = (uintptr_t) "a text"};
    struct capture_value values[] = {of_register(RDX, 8), of_x87(0), of_x87(1), of_register(RDX, 8),
                                     text_at(RDI, 1, 16)};
    const struct capture plain = {.values = values, .count = 4},
                         all = {.values = values, .count = 5},
                         second = {.values = &values[2], .count = 1};
    assert_true(capture_is_plain(&plain) && !capture_is_plain(&all));
    for (uint8_t v = 0; v < VARIANTS; v++)
        for (int o = 0; o < OVERFLOWS; o++) {
            for (int i = 0; i < 2; i++) {
                fresh_lane(state);
                run_with(v, (enum overflow)o, i ? &all : &plain, registers);
                check_x87(1, vectors.x87[0]);
                check_x87(3, vectors.x87[1]);
                assert_true(word(0) == 22 && word(5) == 22);
            }
            fresh_lane(state);
            run_with(v, (enum overflow)o, &second, registers);
            check_x87(0, vectors.x87[1]);
        }
}

/* make() says that the module begins a page before the end of the code. Too far: the value is left
 * out. */
static void memory_of_the_module(void **state) {
    enum { AT = 0x40, FAR = 1 << 30 };
    struct capture_value values[] = {{.from = FROM_MODULE,
                                      .constant = AT - 8,
                                      .steps = 1,
                                      .step = {{8}},
                                      .bytes = 4,
                                      .length_of = NO_LENGTH},
                                     of_register(R15, 8)};
    const struct capture c = {.values = values, .count = 2};
    const uint64_t registers[16] = {[15] = 15};
    const uint32_t number = 0x13579bdf;
    uint64_t found;
    for (uint64_t far = 0; far <= 2; far += 2)
        for (uint8_t v = 0; v < VARIANTS; v++)
            for (int o = 0; o < OVERFLOWS; o++) {
                fresh_lane(state);
                memcpy(code + CODE_BYTES - PAGE + AT, &number, sizeof number);
                values[0].constant = AT - 8 + far * FAR;
                run_with(v, (enum overflow)o, &c, registers);
                assert_int_equal(word(1), 15);
                assert_true(find_word(0, &found) == !far && (far || (uint32_t)found == number));
            }
}

/* DROP: by a stub that saves more registers. */
static void words_of_registers_and_stack(void **state) {
    (void)state;
    for (uint8_t reg = 0; reg < 16; reg++) {
        if (reg == 7) /* rsp */
            continue;
        for (size_t i = 0; i < 2 * sizeof patterns / sizeof *patterns; i++) {
            const uint64_t pattern = patterns[i / 2];
            uint64_t registers[16] = {[0] = 3};
            struct capture_value values[] = {of_register(reg, 8), of_register(reg, 4)};
            const struct capture c = {.values = values, .count = 2};
            registers[code_register(reg)] = pattern;
            fresh_lane(state);
            run_with(STUB_SAVE_FLAGS, i & 1 ? OVERFLOW_DROP : OVERFLOW_WAIT, &c, registers);
            assert_int_equal(word(0), pattern);
            assert_int_equal((uint32_t)word(1), (uint32_t)pattern);
        }
    }
    struct capture_value values[] = {
        {.from = FROM_STACK, .bytes = 8, .length_of = NO_LENGTH},
        {.from = FROM_STACK_ADDRESS, .stack_offset = 8, .bytes = 8, .length_of = NO_LENGTH}};
    const struct capture c = {.values = values, .count = 2};
    for (uint8_t v = 0; v < VARIANTS; v++) {
        fresh_lane(state);
        struct cpu cpu = run_with(v, OVERFLOW_WAIT, &c, NULL);
        assert_int_equal(word(0), run_code_returns_to());
        assert_int_equal(word(1), cpu.sp + 8);
    }
}

static void values_behind_pointers(void **state) {
    struct node second = {.id = -7, .odd = {1, 2, 3, 4, 5, 6, 7}, .words = {~0ull, 2, 3}};
    struct node first = {.id = 9, .next = &second};
    const uint64_t registers[16] = {[7] = (uintptr_t)&first};
    (void)state;
    for (uint16_t bytes = 1; bytes <= 7; bytes++) {
        struct capture_value v = behind_next(offsetof(struct node, odd), bytes);
        const struct capture c = {.values = &v, .count = 1};
        fresh_lane(state);
        run_with(0, OVERFLOW_WAIT, &c, registers);
        uint64_t found = word(0);
        assert_memory_equal(&found, second.odd, bytes);
    }
    struct capture_value v = behind_next(offsetof(struct node, words), 24);
    const struct capture c = {.values = &v, .count = 1};
    fresh_lane(state);
    run_with(0, OVERFLOW_WAIT, &c, registers);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(word(i), second.words[i]);
}

/* Puts the text of words FIRST … together in OUT; returns its bytes. */
static size_t text(uint32_t first, unsigned size, char *out) {
    size_t n = 0;
    uint64_t found;
    while (find_word(first++, &found)) {
        memcpy(out + n, &found, size);
        n += size;
    }
    return n;
}

static void texts_up_to_their_end(void **state) {
    static const char *const texts[] = {"",
                                        "a",
                                        "12345",
                                        "1234567",
                                        "12345678",
                                        "123456789",
                                        "\xff\xfe\x80 no UTF-8, and longer than sixteen bytes"};
    char out[128];
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct capture_value v = text_at(RDI, 1, 64);
        const struct capture c = {.values = &v, .count = 1};
        const uint64_t registers[16] = {[7] = (uintptr_t)texts[i]};
        fresh_lane(state);
        run_with(0, OVERFLOW_WAIT, &c, registers);
        size_t n = text(0, CAPTURE_TEXT_BYTES, out);
        assert_true(n > strlen(texts[i]) && n <= strlen(texts[i]) + CAPTURE_TEXT_BYTES);
        assert_string_equal(out, texts[i]);
    }
    struct capture_value values[] = {text_at(RDI, 4, 64), text_at(RDI, 1, 12)};
    const struct capture c = {.values = values, .count = 2};
    const uint64_t registers[16] = {[7] = (uintptr_t)L"wide \x10ffff"};
    fresh_lane(state);
    run_with(0, OVERFLOW_WAIT, &c, registers);
    assert_int_equal(text(0, 4, out), sizeof L"wide \x10ffff");
    assert_memory_equal(out, L"wide \x10ffff", sizeof L"wide \x10ffff");
}

/* The upper part of a register that holds a narrow argument is not its. */
static void lengths_of_few_bytes(void **state) {
    static const char long_text[] = "twelve bytes and more";
    enum { LENGTH = 12 };
    (void)state;
    for (uint16_t bytes = 1; bytes <= 8; bytes *= 2) {
        struct capture_value values[] = {of_register(RSI, bytes), text_at(RDI, 1, 24)};
        values[1].length_of = 0;
        const struct capture c = {.values = values, .count = 2};
        const uint64_t above = bytes < 8 ? UINT64_MAX << 8 * bytes : 0;
        const uint64_t registers[16] = {[7] = (uintptr_t)long_text, [6] = above | LENGTH};
        char out[64] = {0};
        fresh_lane(state);
        run_with(0, OVERFLOW_WAIT, &c, registers);
        assert_int_equal(text(1, CAPTURE_TEXT_BYTES, out), 2 * CAPTURE_TEXT_BYTES);
        assert_memory_equal(out, long_text, LENGTH);
    }
}

static void texts_at_the_end_of_a_page(void **state) {
    uint8_t *page =
        mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char out[128];
    (void)state;
    assert_int_equal(munmap(page + PAGE, PAGE), 0);
    for (size_t length = 0; length < 30; length++) {
        char *at = (char *)page + PAGE - length - 1;
        struct capture_value v = text_at(RDI, 1, 64);
        const struct capture c = {.values = &v, .count = 1};
        const uint64_t registers[16] = {[7] = (uintptr_t)at};
        memset(at, 'x', length);
        at[length] = '\0';
        fresh_lane(state);
        run_with(0, OVERFLOW_WAIT, &c, registers);
        text(0, CAPTURE_TEXT_BYTES, out);
        assert_string_equal(out, at);
        struct capture_value counted[] = {of_register(RSI, 8), text_at(RDI, 1, 64)};
        counted[1].length_of = 0;
        const struct capture d = {.values = counted, .count = 2};
        const uint64_t with_length[16] = {[7] = (uintptr_t)at, [6] = length + 1};
        fresh_lane(state);
        run_with(0, OVERFLOW_WAIT, &d, with_length);
        text(1, CAPTURE_TEXT_BYTES, out);
        assert_memory_equal(out, at, length + 1);
    }
    munmap(page, PAGE);
}

static void no_load_from_impossible_addresses(void **state) {
    static const uint64_t addresses[] = {8, 4095, 1ull << 63, 0x8000000001000, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        struct capture_value values[] = {
            {.from = FROM_REGISTER, .reg = RDI, .steps = 1, .bytes = 4, .length_of = NO_LENGTH},
            text_at(RDI, 1, 12),
            of_register(RDI, 8)};
        const struct capture c = {.values = values, .count = 3};
        const uint64_t registers[16] = {[7] = addresses[i]};
        uint64_t ignored;
        fresh_lane(state);
        run_with(0, OVERFLOW_WAIT, &c, registers);
        for (uint32_t k = 0; k < 3; k++)
            assert_false(find_word(k, &ignored));
        assert_int_equal(word(3), addresses[i]);
    }
}

static void no_load_without_tool(void **state) {
    struct capture_value values[] = {text_at(RDI, 1, 12), of_register(RDI, 8)};
    const struct capture c = {.values = values, .count = 2};
    const uint64_t registers[16] = {[7] = 0x123456789000}; /* would fault */
    uint64_t ignored;
    (void)state;
    control.owner = CONTROL_OWNER_DIED;
    run_with(0, OVERFLOW_WAIT, &c, registers);
    assert_false(find_word(0, &ignored));
    assert_int_equal(word(2), 0x123456789000);
}

static void no_load_where_it_was_withdrawn(void **state) {
    static const char *const texts[] = {"first", "other"};
    struct capture_value values[] = {text_at(RDI, 1, 7), text_at(RSI, 1, 7)};
    const struct capture c = {.values = values, .count = 2};
    (void)state;
    for (uint8_t v = 0; v < VARIANTS; v++)
        for (int withdrawn = 0; withdrawn < 2; withdrawn++) {
            uint64_t registers[16] = {[7] = (uintptr_t)texts[0], [6] = (uintptr_t)texts[1]},
                     ignored;
            uint8_t byte, unused;
            fresh_lane(state);
            const struct made m = make(v, OVERFLOW_WAIT, &c);
            const uint32_t last = capture_read_switch(m.at, (uint32_t)m.size, &byte);
            const uint32_t first = capture_read_switch(m.at, last, &unused);
            assert_true(first && last > first);
            assert_int_equal(capture_read_switch(m.at, first, &unused), 0);
            m.at[withdrawn ? last : first] = byte;
            registers[withdrawn ? 6 : 7] = 0x123456789000; /* would fault */
            run_made(v, &m, registers);
            assert_int_equal(find_word(0, &ignored), withdrawn == 1);
            assert_int_equal(find_word(1, &ignored), withdrawn == 0);
        }
}

static void event_alone_where_values_have_no_room(void **state) {
    struct capture_value values[] = {of_register(RDI, 8), of_register(RSI, 8)};
    const struct capture c = {.values = values, .count = 2};
    (void)state;
    lane->limit = SLOT_AT + (capture_slots(&c) - 1) * EVENT_BYTES;
    run_with(STUB_SAVE_FLAGS, OVERFLOW_DROP, &c, NULL);
    assert_int_equal(lane->head, SLOT_AT + EVENT_BYTES);
    assert_int_equal(slot(SLOT_AT)->site, SITE);
    assert_int_equal(lane->lost, 0);
}

static void full_ring_drops_and_counts(void **state) {
    struct capture_value v = of_register(RDI, 8);
    const struct capture c = {.values = &v, .count = 1};
    (void)state;
    lane->limit = SLOT_AT;
    run_with(STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE, OVERFLOW_DROP, &c, NULL);
    assert_int_equal(lane->head, SLOT_AT);
    assert_int_equal(lane->lost, 1);
}

/* Nobody makes room, so the ring is overwritten from now on. */
static void registers_are_right_after_a_wait(void **state) {
    struct capture_value values[] = {of_register(RDI, 8), of_register(RSI, 4), of_register(RCX, 8),
                                     of_register(R8, 8)};
    const struct capture c = {.values = values, .count = sizeof values / sizeof *values};
    const uint64_t registers[16] = {[7] = 0x1234567, [6] = 89, [1] = 0xabcdef, [8] = 4711};
    (void)state;
    lane->limit = SLOT_AT + EVENT_BYTES;
    control.owner = CONTROL_OWNER_DIED;
    run_with(STUB_SAVE_FLAGS, OVERFLOW_WAIT, &c, registers);
    assert_int_equal(lane->waits, 1);
    for (uint32_t i = 0; i < c.count; i++)
        assert_int_equal(word(i), registers[code_register(values[i].reg)]);
}

/* Where the ring ends first it is filled with beginnings of no capture. */
static void slots_stand_in_one_piece(void **state) {
    enum { SLOTS = 5, OLD = 0xee };
    struct capture_value values[] = {of_register(RDI, 4), of_register(RSI, 4), of_register(RBX, 4)};
    const struct capture c = {.values = values, .count = sizeof values / sizeof *values};
    const uint64_t registers[16] = {[7] = 71, [6] = 61, [3] = 31};
    assert_int_equal(capture_slots(&c), SLOTS);
    for (uint64_t left = 1; left <= SLOTS + 1; left++)
        for (int o = 0; o < OVERFLOWS; o++) {
            const uint64_t padding = left < SLOTS ? left : 0;
            fresh_lane(state);
            memset((char *)lane + LANE_RING, OLD, RING_BYTES);
            lane->head = start = 3 * RING_BYTES - left * EVENT_BYTES;
            lane->limit = start + RING_BYTES;
            run_with(STUB_SAVE_FLAGS, (enum overflow)o, &c, registers);
            assert_int_equal(lane->head, start + (padding + SLOTS) * EVENT_BYTES);
            for (uint64_t i = 0; i <= padding; i++) {
                const struct event *e = slot(start + i * EVENT_BYTES);
                assert_int_equal(e->site, (uint32_t)CAPTURE_BEGIN << 2 | EVENT_CONTROL);
                assert_int_equal(event_sp(e), i < padding ? UINT32_MAX : NUMBER);
                assert_true(e->clock_sp >> 16 <= slot(lane->head - EVENT_BYTES)->clock_sp >> 16);
            }
            for (uint32_t i = 0; i < c.count; i++)
                assert_int_equal(word(i), registers[code_register(values[i].reg)]);
            assert_int_equal(lane->slice_slots,
                             padding + (o == OVERFLOW_OVERWRITE ? SLOTS - 1 : 0));
        }
}

/* So a signal may come anywhere: the thread goes back to the site. */
static void nothing_is_reserved_before_the_end(void **state) {
    (void)state;
    for (uint8_t v = 0; v < 2 * VARIANTS; v++)
        for (int o = 0; o < OVERFLOWS; o++) {
            const bool plain = v >= VARIANTS;
            const uint8_t variant = v % VARIANTS | STUB_CAPTURE | (plain ? STUB_PLAIN : 0);
            const unsigned saved = (plain ? 3 : 6) + (v & STUB_SAVE_FLAGS);
            const uint32_t size = stub_size(variant, (enum overflow)o);
            const uint32_t at = stub_capture_at(variant, (enum overflow)o);
            struct stub_state s;
            unsigned states = 0, committed = 0;
            assert_true(stub_state_at(variant, (enum overflow)o, at, &s));
            assert_int_equal(s.pushed, saved);
            for (uint32_t i = 0; i < size; i++) {
                if (!stub_state_at(variant, (enum overflow)o, i, &s))
                    continue;
                states++;
                assert_false(s.reserved);
                assert_true(s.committed >= (committed > 0));
                committed += s.committed;
            }
            /* The pops, and what restores flags and red zone. */
            assert_int_equal(committed, saved + (v & STUB_SKIP_RED_ZONE) / 2);
            assert_true(states > committed);
        }
}

#define TEST(name) cmocka_unit_test_setup(name, fresh_lane),
int main(void) {
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, prepare, NULL);
}
