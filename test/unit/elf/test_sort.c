/* Records are sorted by address, and those of one address stay in the order they had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/types.h"
#include "elf/sort.h"

#define TESTS                                                                                      \
    TEST(short_and_long_lists)                                                                     \
    TEST(sorted_list_unchanged)                                                                    \
    TEST(appended_items_merged)                                                                    \
    TEST(words_in_place)

struct record {
    vaddr_t addr;
    uint32_t before; /* the number of earlier records */
};

static uint64_t state;

static uint64_t next_number(void) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 33;
}

/* Sorts ORDERED records in order and ADDED ones in random order. */
static void sort_some(size_t ordered, size_t added, uint64_t span) {
    size_t count = ordered + added;
    AUTO_FREE struct record *records = mem_alloc((count + 1) * sizeof *records);
    vaddr_t addr = 0x400000;
    for (size_t i = 0; i < count; i++) {
        addr += i < ordered ? next_number() % 3 : 0;
        records[i].addr = i < ordered ? addr : 0x400000 + next_number() % span;
        records[i].before = (uint32_t)i;
    }
    AUTO_FREE bool *seen = mem_alloc(count + 1);
    sort_by_address(records, count, sizeof *records);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(records[i].before, 0, count - 1);
        assert_false(seen[records[i].before]);
        seen[records[i].before] = true;
        if (!i)
            continue;
        assert_true(records[i - 1].addr <= records[i].addr);
        if (records[i - 1].addr == records[i].addr)
            assert_true(records[i - 1].before < records[i].before);
    }
}

static void short_and_long_lists(void **unused) {
    (void)unused;
    for (size_t count = 0; count < 40; count++)
        sort_some(0, count, 16);
    sort_some(0, 5000, 300);
    sort_some(0, 5000, UINT64_C(1) << 30);
}

static void sorted_list_unchanged(void **unused) {
    (void)unused;
    sort_some(1, 0, 1);
    sort_some(1000, 0, 1);
}

static void appended_items_merged(void **unused) {
    (void)unused;
    for (size_t added = 1; added < 40; added++)
        sort_some(100, added, 120);
    sort_some(5000, 700, 100);     /* the added ones belong before most of the others */
    sort_some(5000, 700, 1 << 20); /* they belong behind most of them */
    sort_some(5000, 700, 5000);    /* between */
}

static int compare_words(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* MASK: the bits in which words differ. */
static void sort_numbers(size_t count, uint64_t mask) {
    AUTO_FREE uint64_t *words = mem_alloc((count + 1) * sizeof *words);
    AUTO_FREE uint64_t *expected = mem_alloc((count + 1) * sizeof *expected);
    for (size_t i = 0; i < count; i++)
        expected[i] = words[i] = (next_number() << 33 ^ next_number()) & mask;
    words[count] = expected[count] = 1; /* not one of them */
    qsort(expected, count, sizeof *expected, compare_words);
    sort_words(words, count);
    assert_memory_equal(words, expected, (count + 1) * sizeof *words);
}

static void words_in_place(void **unused) {
    (void)unused;
    for (size_t count = 0; count < 100; count++)
        sort_numbers(count, UINT64_MAX);
    sort_numbers(30000, UINT64_MAX);
    sort_numbers(30000, 0xff00ff);
    sort_numbers(30000, UINT64_C(0xf) << 60);
    sort_numbers(30000, 0); /* all are equal */
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
