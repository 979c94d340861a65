/*
 * Another spoor finds and undoes the changes that a killed spoor left in a process: with the
 * thread at any instruction, and the first spoor killed at any step.
 */
#include "patch/leftovers.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "patch/patcher.h"
#include "patch/settle.h"
#include "patch/space_lifecycle.h"
#include "patch/undolog.h"
#include "patch/unpatch.h"
#include "target/maps.h"
#include "target/memory.h"
#include "trial.h"

#define TESTS                                                                                      \
    TEST(undo_log_is_complete)                                                                     \
    TEST(nothing_found_without_leftovers)                                                          \
    TEST(tool_is_not_its_own_target)                                                               \
    TEST(log_of_another_version_ignored)                                                           \
    TEST(thread_brought_out_from_every_instruction)                                                \
    TEST(undo_at_every_instruction)                                                                \
    TEST(already_undone_steps_accepted)                                                            \
    TEST(agent_found_without_a_slab)                                                               \
    TEST(overwritten_island_stays)                                                                 \
    TEST(code_changed_by_others_stays)                                                             \
    TEST(handler_returns_to_interrupted_code)

/* ---- the guest's present and original state ---- */

static struct space *find(const struct guest *g) {
    struct space *left;
    struct err err = {0};
    if (leftovers_find(g->pid, &left, &err) < 0)
        fail_msg("%s", err.text);
    return left;
}

/* A tool that has died answers no thread. */
static void abandon(const struct guest *g) { *guest_owner(g) |= CONTROL_OWNER_DIED; }

/* All mappings of code. */
static char *maps_of_code(pid_t pid) {
    struct maps maps;
    char *text = mem_strdup("");
    assert_int_equal(maps_read(pid, &maps, NULL), 0);
    for (size_t i = 0; i < maps.list.count; i++) {
        const struct map *m = &maps.list.at[i];
        if (!m->executable)
            continue;
        char *more = mem_printf("%s%lx-%lx %s\n", text, m->start, m->end, m->path);
        free(text);
        text = more;
    }
    maps_done(&maps);
    return text;
}

static void read_text(const struct guest *g, const struct patched *p, uint8_t *out, size_t size) {
    assert_int_equal(memory_read(g->memory_fd, p->text, out, size, NULL), 0);
}

enum { TEXT_BYTES = 4096 };

static void expect_text_as_before(const struct guest *g, const struct guest *bare,
                                  const struct patched *p) {
    uint8_t now[TEXT_BYTES], before[TEXT_BYTES];
    read_text(g, p, now, sizeof now);
    read_text(bare, p, before, sizeof before);
    assert_memory_equal(now, before, sizeof now);
}

static void expect_as_before(const struct guest *g, const struct guest *bare) {
    expect_text_as_before(g, bare, guest_sites(g));
    AUTO_FREE char *now = maps_of_code(g->pid), *before = maps_of_code(bare->pid);
    uint8_t byte;
    assert_string_equal(now, before);
    assert_true(memory_read(g->memory_fd, space_sink(g->space), &byte, sizeof byte, NULL) < 0);
    struct space *left = find(g);
    assert_null(left);
}

static int take_over(const struct guest *g, struct err *err) {
    enum settled settled;
    abandon(g);
    assert_int_equal(leftovers_end_call(g->pid), 0);
    struct space *left = find(g);
    assert_non_null(left);
    assert_true(leftovers_is_lane(left, lane_lookup_lane(left, g->pid)));
    leftovers_keep_returns(left, g->pid);
    int rc = space_restore(left, g->pid, err);
    assert_int_equal(settle_out(left, g->pid, NULL, &settled), 0);
    assert_int_equal(settled, SETTLED_OUTSIDE);
    if (rc == 0)
        rc = space_uninstall(left, g->pid, err);
    if (rc == 0)
        thread_set_lane(g->pid, 0);
    space_unref(left);
    return rc;
}

static void take_over_all(const struct guest *g, const struct guest *bare) {
    struct err err = {0};
    if (take_over(g, &err) < 0)
        fail_msg("%s", err.text);
    expect_as_before(g, bare);
}

/* ---- damaged logs ---- */

static void expect_same_patches(const struct plan_code *a, const struct plan_code *b) {
    assert_int_equal(a->patch_count, b->patch_count);
    for (size_t i = 0; i < a->patch_count; i++) {
        const struct patch *p = &a->patches[i], *q = &b->patches[i];
        assert_int_equal(p->at, q->at);
        assert_int_equal(p->size, q->size);
        assert_int_equal(p->yields, q->yields);
        assert_memory_equal(p->before, q->before, p->size);
        assert_memory_equal(p->after, q->after, p->size);
    }
}

static void undo_log_is_complete(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    struct space *left = find(g);
    assert_int_equal(left->agent, g->space->agent);
    assert_int_equal(left->slabs.count, g->space->slabs.count);
    assert_int_equal(left->slabs.at[0]->at, g->space->slabs.at[0]->at);
    assert_int_equal(left->slabs.at[0]->size, g->space->slabs.at[0]->size);
    assert_int_equal(space_sink(left), space_sink(g->space));
    const struct patched *a = guest_sites(g), *b = space_area_at(left, a->area);
    assert_non_null(b);
    const struct plan_code *ca = &a->code->emitted, *cb = &b->code->emitted;
    assert_int_equal(a->area, b->area);
    assert_int_equal(a->area_size, b->area_size);
    assert_int_equal(a->bias, b->bias);
    assert_int_equal(a->text, b->text);
    assert_int_equal(a->inode, b->inode);
    assert_int_equal(a->device, b->device);
    expect_same_patches(ca, cb);
    assert_true(ca->way_count > 0 && ca->island_count > 0);
    assert_int_equal(ca->way_count, cb->way_count);
    assert_memory_equal(ca->ways, cb->ways, ca->way_count * sizeof *ca->ways);
    assert_int_equal(ca->island_count, cb->island_count);
    for (size_t i = 0; i < ca->island_count; i++)
        assert_int_equal(ca->islands[i].at, cb->islands[i].at);
    space_unref(left);
    guest_free(g);
}

static void nothing_found_without_leftovers(void **state) {
    (void)state;
    struct guest *bare = guest_new_bare();
    bool any = true;
    assert_null(find(bare));
    assert_int_equal(leftovers_exist(bare->pid, &any, NULL), 0);
    assert_false(any);
    guest_free(bare);
}

/* The test itself has its guest's slab mapped. */
static void tool_is_not_its_own_target(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    bool any = true;
    assert_int_equal(leftovers_exist(getpid(), &any, NULL), 0);
    assert_false(any);
    assert_int_equal(leftovers_exist(g->pid, &any, NULL), 0);
    assert_true(any);
    guest_free(g);
}

static void log_of_another_version_ignored(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    struct space *left;
    struct err err = {0};
    struct undo_head head;
    taddr_t at = g->space->agent + UNDO_AT;
    assert_int_equal(memory_read(g->memory_fd, at, &head, sizeof head, NULL), 0);
    head.version++;
    snprintf(head.maker, sizeof head.maker, "7.8.9");
    assert_int_equal(memory_write(g->memory_fd, at, &head, sizeof head, NULL), 0);
    assert_true(leftovers_find(g->pid, &left, &err) < 0);
    assert_string_equal(err.tag, "foreign-version");
    assert_non_null(strstr(err.text, "spoor 7.8.9,"));
    guest_free(g);
}

/* ---- undo at any instruction of a call ---- */

static void try_call(struct guest *g, const struct call *call, const struct conditions *c,
                     const struct reference *r, const struct space *left) {
    struct trial t = {g, call, c, r, 0};
    struct snapshot *before = mem_alloc(sizeof *before);
    trial_begin(&t);
    do {
        enum settled settled;
        struct regs regs;
        if (t.k == TRIAL_LATER)
            trial_change_conditions(&t);
        guest_save(g, before);
        abandon(g);
        assert_int_equal(settle_step_out(left, g->pid, NULL, &settled), 0);
        if (settled != SETTLED_OUTSIDE)
            trial_fail(&t, "its pc is still in an area");
        assert_int_equal(thread_get_regs(g->pid, &regs), 0);
        if (space_owner_at(g->space, regs_pc(&regs)) || !is_natural(r, &regs, regs_pc(&regs)))
            trial_fail(&t, "its registers differ from the program's");
        guest_finish(g);
        if (!is_at_end(g, r))
            trial_fail(&t, "the call ends with wrong registers");
        guest_restore(g, before);
        t.k++;
    } while (guest_step(g));
    assert_true(t.k > r->count);
    free(before);
}

static void try_calls(const struct conditions *c, const struct call *all, size_t count) {
    struct guest *bare = guest_new_bare(), *g = guest_new(c->overflow);
    struct space *left = find(g);
    struct reference *r = mem_alloc(sizeof *r);
    for (size_t i = 0; i < count; i++) {
        reference_record(bare, g, &all[i], r);
        try_call(g, &all[i], c, r, left);
    }
    free(r);
    space_unref(left);
    guest_free(g);
    guest_free(bare);
}

static void thread_brought_out_from_every_instruction(void **state) {
    (void)state;
    try_calls(&(struct conditions){.overflow = OVERFLOW_WAIT}, trial_calls, TRIAL_CALLS);
    try_calls(&(struct conditions){.overflow = OVERFLOW_WAIT}, &trial_hook_call, 1);
    try_calls(&(struct conditions){.overflow = OVERFLOW_DROP}, trial_calls, TRIAL_CALLS);
    try_calls(&(struct conditions){.overflow = OVERFLOW_DROP, .full = true}, trial_calls,
              TRIAL_CALLS);
}

/* Undoes everything before instruction K of a call; false: the call is shorter. */
static bool undo_before(const struct call *call, unsigned k, const struct guest *bare,
                        const struct reference *r) {
    struct guest *g = guest_new(OVERFLOW_WAIT);
    bool more = true;
    guest_enter(g, call);
    while (more && k--)
        more = guest_step(g);
    take_over_all(g, bare);
    guest_finish(g);
    assert_true(is_at_end(g, r));
    guest_free(g);
    return more;
}

static void undo_at_every_instruction(void **state) {
    (void)state;
    static const struct call calls[] = {
        {"site_hop", 5, 3, false}, {"site_pun", 2, 0, false}, {"site_flags", 5, 6, true}};
    struct guest *bare = guest_new_bare(), *g = guest_new(OVERFLOW_WAIT);
    struct reference *r = mem_alloc(sizeof *r);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        reference_record(bare, g, &calls[i], r);
        for (unsigned k = 0; undo_before(&calls[i], k, bare, r); k += 3)
            ;
    }
    free(r);
    guest_free(g);
    guest_free(bare);
}

/* ---- a tool that died in the middle of its work ---- */

static int64_t call_in(const struct guest *g, long number, uint64_t a, uint64_t b) {
    struct remote_call call = {number, {a, b}};
    int64_t result;
    assert_int_equal(thread_call(g->pid, &g->space->remote, &call, &result, NULL), 0);
    return result;
}

static void undo_half(const struct guest *g) {
    const struct patched *p = guest_sites(g);
    const struct plan_code *c = &p->code->emitted;
    for (size_t i = 0; i < c->patch_count; i += 2)
        memory_write(g->memory_fd, c->patches[i].at + p->bias, c->patches[i].before,
                     c->patches[i].size, NULL);
}

static void write_parts(const struct guest *g) {
    const struct patched *p = guest_sites(g);
    const struct plan_code *c = &p->code->emitted;
    for (size_t i = 0; i < c->patch_count; i++)
        if (!c->patches[i].yields)
            memory_write(g->memory_fd, c->patches[i].at + p->bias, c->patches[i].before,
                         (i + 1u) % c->patches[i].size, NULL);
}

static void unlink_log(const struct guest *g) {
    assert_int_equal(space_restore(g->space, g->pid, NULL), 0);
    assert_int_equal(undolog_unlink(g->space, guest_sites(g), NULL), 0);
}

static void unmap_islands(const struct guest *g) {
    const struct plan_code *c = &guest_sites(g)->code->emitted;
    unlink_log(g);
    for (size_t i = 0; i < c->island_count; i++)
        assert_int_equal(call_in(g, SYS_munmap, c->islands[i].at, ISLAND_BYTES), 0);
}

static void unmap_area(const struct guest *g) {
    const struct patched *p = guest_sites(g);
    unmap_islands(g);
    assert_int_equal(call_in(g, SYS_munmap, p->area, p->area_size), 0);
}

/* Makes it look as if the log was about to be written. */
static void forget_log(const struct guest *g) {
    const struct patched *p = guest_sites(g);
    AUTO_FREE uint8_t *zeros = mem_alloc(p->area_size);
    unmap_islands(g);
    memory_write(g->memory_fd, p->area, zeros, p->area_size, NULL);
    assert_int_equal(undolog_announce(g->space, p, NULL), 0);
}

static void unmap_slab(const struct guest *g) {
    const struct slab *slab = g->space->slabs.at[0];
    struct remote_site stack = {g->space->remote.memory_fd, g->space->remote.code, 0, 0};
    struct remote_call call = {SYS_munmap, {slab->at, slab->size}};
    int64_t result;
    unmap_area(g);
    assert_int_equal(undolog_end(g->space, NULL), 0);
    assert_int_equal(thread_call(g->pid, &stack, &call, &result, NULL), 0);
}

static void already_undone_steps_accepted(void **state) {
    (void)state;
    static void (*const deeds[])(const struct guest *) = {undo_half,     write_parts, unlink_log,
                                                          unmap_islands, unmap_area,  forget_log};
    struct guest *bare = guest_new_bare();
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        struct guest *g = guest_new(OVERFLOW_WAIT);
        deeds[i](g);
        take_over_all(g, bare);
        guest_free(g);
    }
    guest_free(bare);
}

static void agent_found_without_a_slab(void **state) {
    (void)state;
    struct guest *bare = guest_new_bare(), *g = guest_new(OVERFLOW_WAIT);
    unmap_slab(g);
    struct space *left = find(g);
    assert_non_null(left);
    assert_int_equal(space_undo(left, g->pid, NULL), 0);
    space_unref(left);
    expect_as_before(g, bare);
    guest_free(g);
    guest_free(bare);
}

static void overwritten_island_stays(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    const struct plan_code *c = &guest_sites(g)->code->emitted;
    taddr_t at = c->islands[0].at;
    uint8_t bytes[ISLAND_BYTES], after[ISLAND_BYTES];
    memset(bytes, 0xc3, sizeof bytes);
    memory_write(g->memory_fd, at, bytes, sizeof bytes, NULL);
    unlink_log(g);
    struct err err = {0};
    assert_int_equal(take_over(g, &err), 0);
    assert_int_equal(memory_read(g->memory_fd, at, after, sizeof after, NULL), 0);
    assert_memory_equal(bytes, after, sizeof bytes);
    guest_free(g);
}

static void code_changed_by_others_stays(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT), *bare = guest_new_bare();
    const struct patched *p = guest_sites(g);
    const struct patch *q = p->code->emitted.patches;
    uint8_t other[8], there[8];
    memset(other, 0xf4, sizeof other);
    while (q->size < 5 || q->yields)
        q++;
    memory_write(g->memory_fd, q->at + p->bias, other, q->size, NULL);
    struct err err = {0};
    assert_int_equal(take_over(g, &err), -EBUSY);
    assert_string_equal(err.tag, "text-changed");
    assert_int_equal(memory_read(g->memory_fd, q->at + p->bias, there, q->size, NULL), 0);
    assert_memory_equal(there, other, q->size);
    assert_int_equal(memory_read(g->memory_fd, p->area, there, sizeof there, NULL), 0);
    memory_write(g->memory_fd, q->at + p->bias, q->before, q->size, NULL);
    take_over_all(g, bare);
    guest_free(g);
    guest_free(bare);
}

/* ---- signal frames ---- */

static _Atomic uint32_t *gate; /* shared: 1 the handler has begun, 2 it may return */

static void wait_at_gate(int sig) {
    (void)sig;
    atomic_store(gate, 1);
    while (atomic_load(gate) != 2)
        ;
}

/* Brings the guest into a handler that has interrupted code in an area. */
static void interrupt_inside(struct guest *g) {
    struct regs regs;
    guest_enter(g, &(struct call){"site_plain", 5, 6, false});
    do {
        assert_true(guest_step(g));
        assert_int_equal(thread_get_regs(g->pid, &regs), 0);
    } while (!space_area_at(g->space, regs_pc(&regs)));
    atomic_store(gate, 0);
    assert_int_equal(thread_continue(g->pid, SIGUSR1), 0);
    await_word((const uint32_t *)gate);
    thread_interrupt(g->pid);
    child_await_stop(g->pid);
}

static void handler_returns_to_interrupted_code(void **state) {
    (void)state;
    struct sigaction action = {.sa_handler = wait_at_gate}, old;
    gate = shared_new(sizeof *gate);
    sigaction(SIGUSR1, &action, &old); /* guests inherit the action */
    struct guest *g = guest_new(OVERFLOW_WAIT), *bare = guest_new_bare();
    struct reference *r = mem_alloc(sizeof *r);
    struct err err = {0};
    sigaction(SIGUSR1, &old, NULL);
    reference_record(bare, g, &(struct call){"site_plain", 5, 6, false}, r);
    interrupt_inside(g);
    assert_int_equal(take_over(g, &err), -EBUSY);
    assert_string_equal(err.tag, "returns-later");
    expect_text_as_before(g, bare, guest_sites(g));
    atomic_store(gate, 2);
    guest_finish_with(g, 0);
    assert_true(is_at_end(g, r));
    take_over_all(g, bare);
    free(r);
    guest_free(g);
    guest_free(bare);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("patch leftovers", tests, NULL, NULL);
}
