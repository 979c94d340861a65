/* Reading an address space's maps, and finding room in made-up ones. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "target/maps.h"

#define TESTS                                                                                      \
    TEST(room_near_a_pie_program)                                                                  \
    TEST(heap_growth_room)                                                                         \
    TEST(growth_room_of_a_missing_break)                                                           \
    TEST(growth_room_of_a_distant_break)                                                           \
    TEST(growth_room_with_none_before_the_break)                                                   \
    TEST(growth_room_below_a_program)                                                              \
    TEST(no_room_where_the_heap_may_grow)                                                          \
    TEST(stack_growth_room)                                                                        \
    TEST(lowest_address_of_fixed_programs)                                                         \
    TEST(gap_between_neighbours)                                                                   \
    TEST(full_neighbourhood)                                                                       \
    TEST(limit_of_the_reach)                                                                       \
    TEST(text_at_either_end_of_the_address_space)                                                  \
    TEST(many_maps_in_a_moment)                                                                    \
    TEST(own_maps)                                                                                 \
    TEST(unmapped_addresses)                                                                       \
    TEST(taken_room_not_given_again)                                                               \
    TEST(ended_process_has_no_maps)

static const uint64_t MIB = 1 << 20, GIB = 1 << 30, REACH = 0x7fff0000;
/* Below this address only the kernel knows whether memory may be mapped. */
static const taddr_t LOWEST = 0x100000;

/* ---- room ---- */

struct test_map {
    taddr_t start, end;
    const char *path;
};

static taddr_t break_start; /* 0: the break is far away, or a heap exists already */

static taddr_t find(const struct test_map *spans, size_t count, taddr_t low, taddr_t high,
                    uint64_t size) {
    struct maps maps = {0};
    for (size_t i = 0; i < count; i++) {
        struct map m = {.start = spans[i].start,
                        .end = spans[i].end,
                        .path = mem_strdup(spans[i].path ? spans[i].path : "")};
        ARRAY_PUSH(&maps.list, m);
    }
    taddr_t at = maps_find_room(&maps, (struct span){low, high}, size, REACH, break_start);
    for (size_t i = 0; at && i < count; i++)
        assert_true(at + size <= spans[i].start || at >= spans[i].end);
    if (at) { /* every byte of the room reaches every byte of the text */
        assert_int_equal(at % 4096, 0);
        assert_true(at >= LOWEST);
        assert_true(at > low ? at + size - low <= REACH : high - at <= REACH);
    }
    maps_done(&maps);
    return at;
}
#define FIND(spans, low, high, size) find(spans, sizeof(spans) / sizeof *(spans), low, high, size)

static const taddr_t PIE = 0x555555554000, PIE_END = 0x555555600000;

static void room_near_a_pie_program(void **state) {
    (void)state;
    const struct test_map spans[] = {{PIE, PIE_END, "/bin/x"}};
    assert_true(FIND(spans, PIE, PIE_END, 1 * MIB));
    assert_true(FIND(spans, PIE, PIE_END, 512 * MIB));
}

static void heap_growth_room(void **state) {
    (void)state;
    const taddr_t heap = 0x1000000;
    const struct test_map spans[] = {{0x400000, 0x500000, "/bin/x"}, {heap, heap + MIB, "[heap]"}};
    taddr_t at = FIND(spans, 0x400000, 0x500000, MIB);
    assert_true(at >= heap + MIB + GIB);
}

static void growth_room_of_a_missing_break(void **state) {
    (void)state;
    const struct test_map spans[] = {{0x400000, 0x500000, "/bin/x"}};
    assert_true(FIND(spans, 0x400000, 0x500000, MIB) >= 0x500000 + GIB);
}

/* Kernels place the break up to a gigabyte behind the program. */
static void growth_room_of_a_distant_break(void **state) {
    (void)state;
    const struct test_map spans[] = {{0x400000, 0x500000, "/bin/x"}};
    for (uint64_t gap = 2 * MIB; gap <= GIB; gap += 31 * MIB) {
        break_start = 0x500000 + gap;
        taddr_t at = FIND(spans, 0x400000, 0x500000, MIB);
        assert_true(at >= 0x500000 && at + MIB <= break_start);
    }
    break_start = 0;
}

static void growth_room_with_none_before_the_break(void **state) {
    (void)state;
    const uint64_t gap = 600 * MIB;
    const struct test_map spans[] = {{0x400000, 0x500000, "/bin/x"},
                                     {0x500000, 0x500000 + gap, "full"}};
    break_start = 0x500000 + gap;
    taddr_t at = FIND(spans, 0x400000, 0x500000, MIB);
    assert_true(at >= break_start + GIB);
    at = FIND(spans, 0x400000, 0x500000, 300 * MIB);
    assert_true(at >= break_start + GIB);
    assert_int_equal(FIND(spans, 0x400000, 0x500000, 500 * MIB), 0);
    break_start = 0;
}

static void growth_room_below_a_program(void **state) {
    (void)state;
    const struct test_map spans[] = {{PIE, PIE_END, "/bin/x"}};
    break_start = PIE - 700 * MIB;
    assert_true(FIND(spans, PIE, PIE_END, MIB) + MIB <= break_start);
    break_start = 0;
}

/* The heap grows over mappings above it, up to an address where memory could have been placed. */
static void no_room_where_the_heap_may_grow(void **state) {
    (void)state;
    const taddr_t heap = 0x1000000, map = heap + 512 * MIB;
    const struct test_map spans[] = {{0x400000, 0x500000, "/bin/x"},
                                     {heap, heap + MIB, "[heap]"},
                                     {map, map + MIB, "map"},
                                     {heap + MIB + GIB, 5 * GIB, "full"}};
    taddr_t at = FIND(spans, 0x400000, 0x500000, MIB);
    assert_true(at && at + MIB <= 0x400000);
    assert_int_equal(FIND(spans, 0x400000, 0x500000, 300 * MIB), 0);
}

static void stack_growth_room(void **state) {
    (void)state;
    const taddr_t lib = 0x7fff00000000, stack = 0x7fff20000000;
    const struct test_map spans[] = {{lib - 2 * GIB, lib - 1, "full"},
                                     {lib, lib + MIB, "/lib/x"},
                                     {stack, stack + MIB, "[stack]"},
                                     {stack + MIB, stack + 4 * GIB, "full"}};
    taddr_t at = FIND(spans, lib, lib + MIB, 64 * MIB);
    assert_true(!at || at + 64 * MIB <= stack - 256 * MIB);
    assert_int_equal(FIND(spans, lib, lib + MIB, 400 * MIB), 0);
}

static void lowest_address_of_fixed_programs(void **state) {
    (void)state;
    const struct test_map spans[] = {{0x400000, 0x500000, "/bin/x"}, {0x500000, 5 * GIB, "full"}};
    taddr_t at = FIND(spans, 0x400000, 0x500000, MIB);
    assert_true(at >= LOWEST && at + MIB <= 0x400000);
    assert_int_equal(FIND(spans, 0x400000, 0x500000, 4 * MIB), 0);
}

static void gap_between_neighbours(void **state) {
    (void)state;
    const taddr_t gap = PIE - 700 * MIB;
    const struct test_map spans[] = {{PIE - 4 * GIB, gap, "full"},
                                     {gap + 2 * MIB, PIE, "full"},
                                     {PIE, PIE_END, "/bin/x"},
                                     {PIE_END, PIE_END + 4 * GIB, "full"}};
    assert_int_equal(FIND(spans, PIE, PIE_END, 2 * MIB), gap);
    assert_int_equal(FIND(spans, PIE, PIE_END, 2 * MIB + 1), 0);
}

static void full_neighbourhood(void **state) {
    (void)state;
    const struct test_map spans[] = {{PIE - 4 * GIB, PIE, "full"},
                                     {PIE, PIE_END, "/bin/x"},
                                     {PIE_END, PIE_END + 4 * GIB, "full"}};
    assert_int_equal(FIND(spans, PIE, PIE_END, 4096), 0);
}

static void limit_of_the_reach(void **state) {
    (void)state;
    const struct test_map spans[] = {{PIE, PIE_END, "/bin/x"}};
    assert_int_equal(FIND(spans, PIE, PIE_END, 3 * GIB), 0);
    assert_int_equal(FIND(spans, PIE, PIE + 3 * GIB, MIB), 0);
    assert_int_equal(FIND(spans, PIE, PIE_END, UINT64_C(1) << 62), 0);
}

static void text_at_either_end_of_the_address_space(void **state) {
    (void)state;
    const taddr_t top = 0x7ffffffff000;
    const struct test_map spans[] = {{0x10000, 0x20000, "/low"}, {top - MIB, top, "/high"}};
    assert_true(FIND(spans, 0x10000, 0x20000, MIB));
    assert_true(FIND(spans, top - MIB, top, MIB));
}

/* The slowest case: every mapping touches the next. */
static void many_maps_in_a_moment(void **state) {
    (void)state;
    enum { COUNT = 60000 };
    struct test_map *spans = test_malloc(COUNT * sizeof *spans);
    for (size_t i = 0; i < COUNT; i++)
        spans[i] =
            (struct test_map){PIE - (COUNT - i) * 8192, PIE - (COUNT - i - 1) * 8192 - 4096, ""};
    clock_t start = clock();
    taddr_t at = find(spans, COUNT, PIE, PIE_END, 8192);
    assert_true(clock() - start < CLOCKS_PER_SEC);
    assert_true(at + 8192 <= PIE - (taddr_t)COUNT * 8192);
    test_free(spans);
}

/* ---- reading ---- */

static int wait_for_ever(void *arg) {
    (void)arg;
    return pause();
}

static void own_maps(void **state) {
    (void)state;
    char *page = mmap(NULL, 8192, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    mprotect(page + 4096, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    pid_t pid = child_start(wait_for_ever, NULL);
    struct maps maps;
    assert_int_equal(maps_read(pid, &maps, NULL), 0);
    const struct map *first = maps_at(&maps, (taddr_t)page);
    const struct map *second = maps_at(&maps, (taddr_t)page + 4096);
    assert_non_null(first);
    assert_non_null(second);
    assert_int_equal(first->end, page + 4096);
    assert_true(first->readable && !first->writable && !first->executable && first->shared);
    assert_true(second->readable && second->writable && second->executable && second->shared);
    const struct map *text = maps_at(&maps, (taddr_t)(uintptr_t)wait_for_ever);
    assert_true(text && text->executable && !text->shared && text->inode && text->path[0] == '/');
    char name[PATH_MAX + 1] = "";
    assert_true(readlink("/proc/self/exe", name, PATH_MAX) > 0);
    assert_string_equal(text->path, name);
    assert_true(text->offset > 0 && text->offset % 4096 == 0);
    for (size_t i = 1; i < maps.list.count; i++)
        assert_true(maps.list.at[i - 1].end <= maps.list.at[i].start);
    maps_done(&maps);
    child_kill(pid);
    munmap(page, 8192);
}

static void unmapped_addresses(void **state) {
    (void)state;
    struct maps maps;
    assert_int_equal(maps_read(getpid(), &maps, NULL), 0);
    assert_null(maps_at(&maps, 0));
    assert_null(maps_at(&maps, UINT64_MAX));
    maps_done(&maps);
}

static void taken_room_not_given_again(void **state) {
    (void)state;
    struct maps maps = {0};
    struct map program = {.start = PIE, .end = PIE_END, .path = mem_strdup("/bin/x")};
    ARRAY_PUSH(&maps.list, program);
    taddr_t first = maps_find_room(&maps, (struct span){PIE, PIE_END}, MIB, REACH, 0);
    maps_add(&maps, first, first + MIB);
    taddr_t second = maps_find_room(&maps, (struct span){PIE, PIE_END}, MIB, REACH, 0);
    assert_true(second && (second + MIB <= first || second >= first + MIB));
    assert_true(maps.list.at[0].start < maps.list.at[1].start);
    maps_done(&maps);
}

static void ended_process_has_no_maps(void **state) {
    (void)state;
    pid_t pid = child_start(wait_for_ever, NULL);
    child_kill(pid);
    struct maps maps;
    struct err err = {0};
    assert_int_equal(maps_read(pid, &maps, &err), -ENOENT);
    assert_string_equal(err.tag, "read-maps");
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("target maps", tests, NULL, NULL);
}
