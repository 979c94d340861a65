/* The copy of a space that fork() needs: it holds exactly the mappings made before the fork. */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "guest.h"
#include "patch/install.h"
#include "patch/space_lifecycle.h"
#include "target/memory.h"

#define TESTS                                                                                      \
    TEST(fork_copies_what_is_mapped)                                                               \
    TEST(early_fork_has_the_first_slab_only)                                                       \
    TEST(unmapped_parts_forgotten)                                                                 \
    TEST(unpatched_process_forgets_nothing)

static void unmap(const struct guest *g, taddr_t at, size_t size) {
    const struct remote_call call = {SYS_munmap, {at, size}};
    int64_t result;
    assert_int_equal(thread_call(g->pid, &g->space->remote, &call, &result, NULL), 0);
    assert_int_equal(result, 0);
}

/* A mapping that the program made there after the copy. */
static void map_other(const struct guest *g, taddr_t at, size_t size) {
    const struct remote_call call = {
        SYS_mmap,
        {at, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1, 0}};
    int64_t result;
    assert_int_equal(thread_call(g->pid, &g->space->remote, &call, &result, NULL), 0);
    assert_int_equal(result, at);
}

static size_t modules_with_code(const struct space *s) {
    size_t count = 0;
    for (size_t i = 0; i < s->modules.count; i++)
        count += s->modules.at[i].code != NULL;
    return count;
}

/* Takes lanes until there is another slab. */
static void add_slab(const struct guest *g) {
    size_t before = g->space->slabs.count;
    for (uint32_t stream = 1; g->space->slabs.count == before; stream++) {
        struct lane_handle *handle = space_take_lane(&g->context, g->space, g->pid, stream);
        assert_false(handle->unread);
        atomic_store(&handle->state, LANE_ACTIVE);
    }
}

static void free_lanes(const struct guest *g) {
    for (size_t i = 0; i < g->space->slabs.count; i++)
        for (uint32_t k = 0; k < g->space->slabs.at[i]->lane_count; k++)
            atomic_store(&g->space->slabs.at[i]->handles[k].state, LANE_FREE);
}

static void fork_copies_what_is_mapped(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    add_slab(g);
    struct space *copy = space_fork(g->space, g->pid, NULL);
    assert_non_null(copy);
    assert_int_equal(copy->slabs.count, 2);
    assert_int_equal(copy->modules.count, g->space->modules.count);
    assert_int_equal(modules_with_code(copy), modules_with_code(g->space));
    space_unref(copy);
    free_lanes(g);
    guest_free(g);
}

/* The bare guest is such a copy: both are forked from this process, which has no slab mapped yet.
 */
static void early_fork_has_the_first_slab_only(void **state) {
    (void)state;
    struct guest *before = guest_new_bare(), *g = guest_new(OVERFLOW_WAIT);
    add_slab(g);
    size_t modules = g->space->modules.count, patched = modules_with_code(g->space);
    assert_true(patched > 0);
    struct space *copy = space_fork(g->space, before->pid, NULL);
    assert_non_null(copy);
    assert_int_equal(copy->slabs.count, 1);
    assert_ptr_equal(copy->slabs.at[0], g->space->slabs.at[0]);
    assert_int_equal(modules_with_code(copy), 0);
    assert_int_equal(copy->modules.count, modules - patched); /* the copy has no areas */
    assert_int_equal(g->space->slabs.count, 2);               /* the parent's slabs stay its own */
    assert_int_equal(g->space->modules.count, modules);
    space_unref(copy);
    free_lanes(g);
    guest_free(g);
    guest_free(before);
}

/* Of three slabs the middle one is unmapped, and another mapping is there; then the module is
 * unmapped. */
static void unmapped_parts_forgotten(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    add_slab(g);
    add_slab(g);
    const struct slab *middle = g->space->slabs.at[1], *last = g->space->slabs.at[2];
    const struct patched *p = g->space->modules.at;
    while (!p->code)
        p++;
    taddr_t area = p->area;
    size_t area_size = p->area_size, modules = g->space->modules.count;
    struct space *copy = space_fork(g->space, g->pid, NULL);
    unmap(g, middle->at, middle->size);
    map_other(g, middle->at, middle->size);
    space_forget_unmapped(copy);
    assert_int_equal(copy->slabs.count, 2);
    assert_ptr_equal(copy->slabs.at[1], last);
    assert_int_equal(copy->modules.count, modules);
    unmap(g, area, area_size);
    space_forget_unmapped(copy);
    assert_int_equal(copy->slabs.count, 2);
    assert_int_equal(copy->modules.count, modules - 1);
    assert_null(space_area_at(copy, area));
    assert_non_null(space_area_at(g->space, area));
    space_unref(copy);
    free_lanes(g);
    guest_free(g);
}

static void unpatched_process_forgets_nothing(void **state) {
    (void)state;
    struct guest *bare = guest_new_bare();
    struct space *untraced = space_new_untraced(bare->pid);
    assert_int_equal(memory_open(bare->pid, &untraced->remote.memory_fd, NULL), 0);
    space_forget_unmapped(untraced);
    assert_int_equal(untraced->slabs.count, 0);
    assert_int_equal(untraced->modules.count, 0);
    space_unref(untraced);
    guest_free(bare);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
