/* Reading an address space's maps, and finding room in made-up ones. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "target/maps.h"

static const uint64_t MIB = 1 << 20, GIB = 1 << 30, REACH = 0x7fff0000;
static const taddr_t LOWEST = 0x100000; /* below it only the kernel knows what may be mapped */

/* ---- room ---- */

struct stretch {
    taddr_t start, end;
    const char *path;
};

static taddr_t break_start; /* 0: far away, or there is a heap already */

static taddr_t find(const struct stretch *spans, size_t count, taddr_t low, taddr_t high,
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
    if (at) { /* every byte of one reaches every byte of the other */
        assert_int_equal(at % 4096, 0);
        assert_true(at >= LOWEST);
        assert_true(at > low ? at + size - low <= REACH : high - at <= REACH);
    }
    maps_done(&maps);
    return at;
}
#define FIND(spans, low, high, size) find(spans, sizeof(spans) / sizeof *(spans), low, high, size)

static const taddr_t PIE = 0x555555554000, PIE_END = 0x555555600000;

static void a_pie_program_gets_room_near_its_text(void **state) {
    (void)state;
    const struct stretch spans[] = {{PIE, PIE_END, "/bin/x"}};
    assert_true(FIND(spans, PIE, PIE_END, 1 * MIB));
    assert_true(FIND(spans, PIE, PIE_END, 512 * MIB));
}

static void the_heap_keeps_a_gigabyte_to_grow(void **state) {
    (void)state;
    const taddr_t heap = 0x1000000;
    const struct stretch spans[] = {{0x400000, 0x500000, "/bin/x"}, {heap, heap + MIB, "[heap]"}};
    taddr_t at = FIND(spans, 0x400000, 0x500000, MIB);
    assert_true(at >= heap + MIB + GIB);
}

static void a_break_that_does_not_exist_yet_keeps_a_gigabyte(void **state) {
    (void)state;
    const struct stretch spans[] = {{0x400000, 0x500000, "/bin/x"}};
    assert_true(FIND(spans, 0x400000, 0x500000, MIB) >= 0x500000 + GIB);
}

/* Kernels put it up to a gigabyte behind the program. */
static void a_break_some_way_off_keeps_all_that_is_above_it(void **state) {
    (void)state;
    const struct stretch spans[] = {{0x400000, 0x500000, "/bin/x"}};
    for (uint64_t gap = 2 * MIB; gap <= GIB; gap += 31 * MIB) {
        break_start = 0x500000 + gap;
        taddr_t at = FIND(spans, 0x400000, 0x500000, MIB);
        assert_true(at >= 0x500000 && at + MIB <= break_start);
    }
    break_start = 0;
}

static void without_room_before_it_a_break_keeps_a_gigabyte(void **state) {
    (void)state;
    const uint64_t gap = 600 * MIB;
    const struct stretch spans[] = {{0x400000, 0x500000, "/bin/x"},
                                    {0x500000, 0x500000 + gap, "full"}};
    break_start = 0x500000 + gap;
    taddr_t at = FIND(spans, 0x400000, 0x500000, MIB);
    assert_true(at >= break_start + GIB);
    at = FIND(spans, 0x400000, 0x500000, 300 * MIB);
    assert_true(at >= break_start + GIB);
    assert_int_equal(FIND(spans, 0x400000, 0x500000, 500 * MIB), 0);
    break_start = 0;
}

static void below_a_program_the_break_keeps_its_room_too(void **state) {
    (void)state;
    const struct stretch spans[] = {{PIE, PIE_END, "/bin/x"}};
    break_start = PIE - 700 * MIB;
    assert_true(FIND(spans, PIE, PIE_END, MIB) + MIB <= break_start);
    break_start = 0;
}

/* The heap grows over maps above it, up to where something could have been placed. */
static void room_is_not_found_where_the_heap_may_grow_over_a_map(void **state) {
    (void)state;
    const taddr_t heap = 0x1000000, map = heap + 512 * MIB;
    const struct stretch spans[] = {{0x400000, 0x500000, "/bin/x"},
                                    {heap, heap + MIB, "[heap]"},
                                    {map, map + MIB, "map"},
                                    {heap + MIB + GIB, 5 * GIB, "full"}};
    taddr_t at = FIND(spans, 0x400000, 0x500000, MIB);
    assert_true(at && at + MIB <= 0x400000);
    assert_int_equal(FIND(spans, 0x400000, 0x500000, 300 * MIB), 0);
}

static void the_stack_keeps_room_to_grow_down(void **state) {
    (void)state;
    const taddr_t lib = 0x7fff00000000, stack = 0x7fff20000000;
    const struct stretch spans[] = {{lib - 2 * GIB, lib - 1, "full"},
                                    {lib, lib + MIB, "/lib/x"},
                                    {stack, stack + MIB, "[stack]"},
                                    {stack + MIB, stack + 4 * GIB, "full"}};
    taddr_t at = FIND(spans, lib, lib + MIB, 64 * MIB);
    assert_true(!at || at + 64 * MIB <= stack - 256 * MIB);
    assert_int_equal(FIND(spans, lib, lib + MIB, 400 * MIB), 0);
}

static void a_fixed_program_has_nothing_below_the_lowest_address(void **state) {
    (void)state;
    const struct stretch spans[] = {{0x400000, 0x500000, "/bin/x"}, {0x500000, 5 * GIB, "full"}};
    taddr_t at = FIND(spans, 0x400000, 0x500000, MIB);
    assert_true(at >= LOWEST && at + MIB <= 0x400000);
    assert_int_equal(FIND(spans, 0x400000, 0x500000, 4 * MIB), 0);
}

static void a_gap_between_neighbours_is_found(void **state) {
    (void)state;
    const taddr_t gap = PIE - 700 * MIB;
    const struct stretch spans[] = {{PIE - 4 * GIB, gap, "full"},
                                    {gap + 2 * MIB, PIE, "full"},
                                    {PIE, PIE_END, "/bin/x"},
                                    {PIE_END, PIE_END + 4 * GIB, "full"}};
    assert_int_equal(FIND(spans, PIE, PIE_END, 2 * MIB), gap);
    assert_int_equal(FIND(spans, PIE, PIE_END, 2 * MIB + 1), 0);
}

static void nothing_is_found_in_a_full_neighbourhood(void **state) {
    (void)state;
    const struct stretch spans[] = {{PIE - 4 * GIB, PIE, "full"},
                                    {PIE, PIE_END, "/bin/x"},
                                    {PIE_END, PIE_END + 4 * GIB, "full"}};
    assert_int_equal(FIND(spans, PIE, PIE_END, 4096), 0);
}

static void more_than_the_reach_is_never_found(void **state) {
    (void)state;
    const struct stretch spans[] = {{PIE, PIE_END, "/bin/x"}};
    assert_int_equal(FIND(spans, PIE, PIE_END, 3 * GIB), 0);
    assert_int_equal(FIND(spans, PIE, PIE + 3 * GIB, MIB), 0);
    assert_int_equal(FIND(spans, PIE, PIE_END, UINT64_C(1) << 62), 0);
}

static void text_at_either_end_of_the_address_space_is_no_trap(void **state) {
    (void)state;
    const taddr_t top = 0x7ffffffff000;
    const struct stretch spans[] = {{0x10000, 0x20000, "/low"}, {top - MIB, top, "/high"}};
    assert_true(FIND(spans, 0x10000, 0x20000, MIB));
    assert_true(FIND(spans, top - MIB, top, MIB));
}

/* The dearest case: every map touches the next. */
static void many_maps_are_searched_in_a_moment(void **state) {
    (void)state;
    enum { COUNT = 60000 };
    struct stretch *spans = test_malloc(COUNT * sizeof *spans);
    for (size_t i = 0; i < COUNT; i++)
        spans[i] =
            (struct stretch){PIE - (COUNT - i) * 8192, PIE - (COUNT - i - 1) * 8192 - 4096, ""};
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

static void maps_are_read_as_they_are(void **state) {
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

static void what_maps_do_not_cover_is_not_found(void **state) {
    (void)state;
    struct maps maps;
    assert_int_equal(maps_read(getpid(), &maps, NULL), 0);
    assert_null(maps_at(&maps, 0));
    assert_null(maps_at(&maps, UINT64_MAX));
    maps_done(&maps);
}

static void room_that_was_taken_since_is_not_given_again(void **state) {
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

static void a_process_that_is_gone_has_no_maps(void **state) {
    (void)state;
    pid_t pid = child_start(wait_for_ever, NULL);
    child_kill(pid);
    struct maps maps;
    struct err err = {0};
    assert_int_equal(maps_read(pid, &maps, &err), -ENOENT);
    assert_string_equal(err.tag, "read-maps");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pie_program_gets_room_near_its_text),
        cmocka_unit_test(the_heap_keeps_a_gigabyte_to_grow),
        cmocka_unit_test(a_break_that_does_not_exist_yet_keeps_a_gigabyte),
        cmocka_unit_test(a_break_some_way_off_keeps_all_that_is_above_it),
        cmocka_unit_test(without_room_before_it_a_break_keeps_a_gigabyte),
        cmocka_unit_test(below_a_program_the_break_keeps_its_room_too),
        cmocka_unit_test(room_is_not_found_where_the_heap_may_grow_over_a_map),
        cmocka_unit_test(the_stack_keeps_room_to_grow_down),
        cmocka_unit_test(a_fixed_program_has_nothing_below_the_lowest_address),
        cmocka_unit_test(a_gap_between_neighbours_is_found),
        cmocka_unit_test(nothing_is_found_in_a_full_neighbourhood),
        cmocka_unit_test(more_than_the_reach_is_never_found),
        cmocka_unit_test(text_at_either_end_of_the_address_space_is_no_trap),
        cmocka_unit_test(many_maps_are_searched_in_a_moment),
        cmocka_unit_test(maps_are_read_as_they_are),
        cmocka_unit_test(what_maps_do_not_cover_is_not_found),
        cmocka_unit_test(room_that_was_taken_since_is_not_given_again),
        cmocka_unit_test(a_process_that_is_gone_has_no_maps),
    };
    return cmocka_run_group_tests_name("target maps", tests, NULL, NULL);
}
