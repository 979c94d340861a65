/*
 * Stubs with captures of many values, of registers, stack, memory and texts, some of which cannot
 * be read: they write what is expected, wherever the ring ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture_lane.h"

enum { MOST_MIXED = 7, MIXED_WORDS = 8 };

struct mixture {
    struct capture_value values[MOST_MIXED];
    uint64_t words[MOST_MIXED][MIXED_WORDS]; /* what is expected */
    size_t word_count[MOST_MIXED];           /* of these; 0: the value is not there */
    size_t count;
};

static uint32_t random_number(uint32_t below) {
    static uint32_t seed = 4711;
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static const char *const mixed_texts[] = {
    "", "a", "1234567", "12345678", "more than twelve", "\xff\xfe\x80 no UTF-8 \xc3\xa4"};
static const struct node mixed_node = {.odd = {1, 2, 3, 4, 5, 6, 7},
                                       .words = {~0ull, 2, 0x8899aabbccddeeff}};

static void mix_register(struct mixture *m, uint64_t registers[16]) {
    uint8_t reg = (uint8_t)random_number(16);
    reg = reg == 7 /* rsp */ ? RDI : reg;
    const uint16_t bytes = (uint16_t)(1u << random_number(4));
    m->values[m->count] = of_register(reg, bytes);
    const uint64_t value = registers[code_register(reg)];
    m->words[m->count][0] = bytes == 8 ? value : value & ((1ull << 8 * bytes) - 1);
    m->word_count[m->count] = 1;
}

static void mix_memory(struct mixture *m, bool readable, uint8_t reg) {
    const uint16_t bytes = (uint16_t)(random_number(2) ? 1 + random_number(7) : 24);
    const size_t at = bytes == 24 ? offsetof(struct node, words) : offsetof(struct node, odd);
    m->values[m->count] = (struct capture_value){.from = FROM_REGISTER,
                                                 .reg = reg,
                                                 .steps = 1,
                                                 .step = {{(int32_t)at}},
                                                 .bytes = bytes,
                                                 .length_of = NO_LENGTH};
    memcpy(m->words[m->count], (const char *)&mixed_node + at, bytes);
    m->word_count[m->count] = readable ? (bytes + 7) / 8 : 0;
}

static void mix_text(struct mixture *m, const char *text, uint8_t reg) {
    m->values[m->count] = text_at(reg, 1, 24);
    const size_t length = text ? strlen(text) + 1 : 0;
    for (size_t i = 0; i * CAPTURE_TEXT_BYTES < length; i++) {
        const size_t at = i * CAPTURE_TEXT_BYTES, left = length - at;
        memcpy(&m->words[m->count][i], text + at,
               left < CAPTURE_TEXT_BYTES ? left : CAPTURE_TEXT_BYTES);
    }
    m->word_count[m->count] = (length + CAPTURE_TEXT_BYTES - 1) / CAPTURE_TEXT_BYTES;
}

/* r12 and r14 are addresses of an object and a text, r13 and r15 of nothing. */
static void make_mixture(struct mixture *m, uint64_t registers[16]) {
    enum { NODE = 12, NO_NODE, TEXT, NO_TEXT };
    const char *text = mixed_texts[random_number(sizeof mixed_texts / sizeof *mixed_texts)];
    memset(m, 0, sizeof *m);
    for (int i = 0; i < NODE; i++)
        registers[i] = patterns[random_number(sizeof patterns / sizeof *patterns)];
    registers[NODE] = (uintptr_t)&mixed_node;
    registers[TEXT] = (uintptr_t)text;
    registers[NO_NODE] = registers[NO_TEXT] = 1ull << 63;
    for (size_t count = 1 + random_number(MOST_MIXED); m->count < count; m->count++) {
        const uint32_t kind = random_number(8);
        if (kind < 2)
            mix_memory(m, !kind, kind ? NO_NODE : NODE);
        else if (kind < 4)
            mix_text(m, kind == 2 ? text : NULL, kind == 2 ? TEXT : NO_TEXT);
        else
            mix_register(m, registers);
    }
}

static void check_mixture(const struct mixture *m) {
    uint32_t first = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct capture_value *v = &m->values[i];
        const unsigned size = v->string ? CAPTURE_TEXT_BYTES : v->bytes > 8 ? 8 : v->bytes;
        const uint64_t mask = size == 8 ? UINT64_MAX : (1ull << 8 * size) - 1;
        uint64_t found;
        for (uint32_t k = 0; k < capture_value_words(v); k++) {
            const bool there = find_word(first + k, &found);
            assert_int_equal(there, k < m->word_count[i]);
            if (there && v->string && k + 1 == m->word_count[i]) /* what is behind its end varies */
                assert_int_equal(strncmp((char *)&found, (char *)&m->words[i][k], size), 0);
            else if (there)
                assert_int_equal(found & mask, m->words[i][k]);
        }
        first += capture_value_words(v);
    }
}

static void mixtures(void **state) {
    enum { ROUNDS = 3000 };
    for (int i = 0; i < ROUNDS; i++) {
        struct mixture m;
        uint64_t registers[16];
        make_mixture(&m, registers);
        const struct capture c = {.values = m.values, .count = m.count};
        fresh_lane(state);
        lane->head = start = random_number(2 * RING_BYTES / EVENT_BYTES) * EVENT_BYTES;
        lane->limit = start + RING_BYTES;
        run_with((uint8_t)random_number(VARIANTS), (enum overflow)random_number(OVERFLOWS), &c,
                 registers);
        check_mixture(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(mixtures, fresh_lane)};
    return cmocka_run_group_tests(tests, prepare, NULL);
}
