/*
 * Threads without a usable thread pointer, and the table by which their stubs find lanes. No
 * thread finds the lane of another, even if threads sleep, end or keep a pointer that an earlier
 * session lent. A thread that is awake and asks finds its own lane. The threads are simulated:
 * lane_lookup_install() writes their memory. On AArch64 pointers are also set while threads sleep.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../trace/support.h"
#include "arch/regs.h"
#include "patch/permits.h"
#include "patch/space.h"
#include "target/memory.h"
#include "wire/lane_lookup.h"

#define TESTS                                                                                      \
    TEST(sleeping_thread_served_on_waking)                                                         \
    TEST(sleeper_with_a_kept_pointer)                                                              \
    TEST(pointer_kept_by_several_threads)                                                          \
    TEST(vfork_child_pointer_not_assigned)                                                         \
    TEST(detached_thread_assigned_no_pointer)                                                      \
    TEST(thread_that_cannot_set_its_pointer)                                                       \
    TEST(random_threads_find_only_their_own)

enum { MOST = 40, LANE = 0x1000, SINK = 0x77, FRAME = 0x500000 };

struct thread {
    pid_t tid; /* 0: none */
    uint64_t pointer;
    bool asleep, confined;
    bool waits; /* it waits for its child of vfork, and looks for no lane */
};
static struct thread threads[MOST];
static pid_t last_tid;
static struct slab slab;
static struct slab *slabs[] = {&slab};
static struct space space;
static struct lane_key table[1 << LANES_BITS];

static struct thread *thread_of(pid_t tid) {
    for (size_t i = 0; i < MOST; i++)
        if (threads[i].tid == tid)
            return &threads[i];
    return NULL;
}

int __wrap_thread_get_pointer(pid_t tid, uint64_t *ret);
int __wrap_thread_get_pointer(pid_t tid, uint64_t *ret) {
    const struct thread *t = thread_of(tid);
    *ret = t ? t->pointer : 0;
    return t ? 0 : -ESRCH;
}

int __wrap_thread_set_pointer(pid_t tid, uint64_t pointer, const struct remote_site *site);
int __wrap_thread_set_pointer(pid_t tid, uint64_t pointer, const struct remote_site *site) {
    struct thread *t = thread_of(tid);
    bool itself = REGS_CALL_SET_POINTER >= 0;
    if (!t)
        return -ESRCH;
    if (itself && !site)
        return -ENOTSUP;
    if (itself && t->asleep)
        return -EAGAIN;
    t->pointer = pointer;
    return 0;
}

int __wrap_thread_get_regs(pid_t tid, struct regs *ret);
int __wrap_thread_get_regs(pid_t tid, struct regs *ret) {
    (void)tid;
    memset(ret, 0, sizeof *ret);
    return 0;
}

bool __wrap_permits(const struct space *s, pid_t caller, unsigned purposes);
bool __wrap_permits(const struct space *s, pid_t caller, unsigned purposes) {
    (void)s;
    assert_int_equal(purposes, PERMIT_POINTER);
    return !thread_of(caller)->confined;
}

int __wrap_memory_write(int fd, taddr_t at, const void *bytes, size_t size, struct err *err);
int __wrap_memory_write(int fd, taddr_t at, const void *bytes, size_t size, struct err *err) {
    (void)fd;
    (void)at;
    (void)err;
    if (size != sizeof table)
        return -EIO; /* the other data at an area's start */
    memcpy(table, bytes, size);
    return 0;
}

static void begin(void) {
    lane_lookup_done(&space.lookup);
    memset(&space, 0, sizeof space);
    memset(&slab, 0, sizeof slab);
    memset(threads, 0, sizeof threads);
    slab.sink.at = SINK;
    space.slabs.at = slabs;
    space.slabs.count = 1;
    space.remote.frame = FRAME;
}

static taddr_t lane_of(const struct thread *t) { return LANE + (taddr_t)t->tid * 16; }
static uint64_t assigned_pointer(uint64_t i) { return REGS_ASSIGNED_POINTER | i << LANES_SHIFT; }

/* The lane that its stubs find; 0: none, so it asks. */
static taddr_t found_by(const struct thread *t) {
    taddr_t found = 0;
    lane_lookup_install(&space, 0, NULL);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].thread_pointer == t->pointer)
            found = table[i].lane;
    return found;
}

static void assert_no_foreign_lane(void) {
    for (const struct thread *t = threads; t < threads + MOST; t++) {
        taddr_t found = t->tid && !t->waits ? found_by(t) : 0;
        assert_true(!found || found == SINK || found == lane_of(t));
    }
}

static struct thread *add(uint64_t pointer, bool asleep) {
    struct thread *t = thread_of(0);
    *t = (struct thread){.tid = ++last_tid, .pointer = pointer, .asleep = asleep};
    return t;
}

/* A new spoor attaches to all threads. */
static void attach(void) {
    for (const struct thread *t = threads; t < threads + MOST; t++)
        if (t->tid)
            lane_lookup_expect(&space, t->tid);
    for (const struct thread *t = threads; t < threads + MOST; t++)
        if (t->tid)
            lane_lookup_give_new(&space, t->tid, lane_of(t), 0);
    assert_no_foreign_lane();
}

/* All threads are stopped because one has asked. */
static void answer(void) {
    for (const struct thread *t = threads; t < threads + MOST; t++)
        if (t->tid)
            lane_lookup_give(&space, t->tid, lane_of(t));
    assert_no_foreign_lane();
}

static void assert_awake_threads_find_their_lanes(void) {
    for (const struct thread *t = threads; t < threads + MOST; t++)
        if (t->tid && !t->asleep && !t->confined)
            assert_int_equal(found_by(t), lane_of(t));
}

static void make_vfork_child(const struct thread *maker) {
    const struct thread *t = add(maker->pointer, false);
    lane_lookup_give_new(&space, t->tid, lane_of(t), maker->tid);
    assert_no_foreign_lane();
}

static void end(struct thread *t) {
    lane_lookup_forget(&space, t->tid);
    memset(t, 0, sizeof *t);
}

static void sleeping_thread_served_on_waking(void **state) {
    (void)state;
    begin();
    add(0, false);
    struct thread *sleeper = add(0, true);
    add(0, false);
    attach();
    answer();
    assert_awake_threads_find_their_lanes();
    sleeper->asleep = false;
    answer();
    assert_awake_threads_find_their_lanes();
}

/* An earlier spoor assigned it this pointer. The pointer is not assigned to others, and no thread
 * is hidden for it again and again. */
static void sleeper_with_a_kept_pointer(void **state) {
    (void)state;
    for (unsigned at = 0; at < 4; at++) {
        begin();
        for (unsigned i = 0; i < 4; i++)
            add(i == at ? assigned_pointer(0) : 0, i == at || i == (at + 1) % 4);
        attach();
        for (int i = 0; i < 3; i++) {
            answer();
            assert_awake_threads_find_their_lanes();
        }
    }
}

static void pointer_kept_by_several_threads(void **state) {
    (void)state;
    begin();
    add(assigned_pointer(0), true);
    add(assigned_pointer(0), true);
    add(0, false);
    add(assigned_pointer(0), false);
    attach();
    for (int i = 0; i < 3; i++) {
        answer();
        assert_awake_threads_find_their_lanes();
    }
}

/* Its child has ended. Their shared pointer belongs to the parent, which is still in vfork(). */
static void vfork_child_pointer_not_assigned(void **state) {
    (void)state;
    begin();
    const struct thread *first = add(0, false);
    attach();
    make_vfork_child(first);
    struct thread *maker = thread_of(last_tid);
    assert_int_not_equal(maker->pointer, 0);
    maker->asleep = maker->waits = true;
    struct thread *child = add(maker->pointer, false);
    lane_lookup_pass(&space, child->tid, lane_of(child), maker->tid);
    assert_int_equal(found_by(child), lane_of(child));
    end(child);
    make_vfork_child(first);
    assert_int_not_equal(thread_of(last_tid)->pointer, maker->pointer);
    maker->asleep = maker->waits = false;
    lane_lookup_pass(&space, maker->tid, lane_of(maker), 0);
    assert_no_foreign_lane();
    assert_awake_threads_find_their_lanes();
}

static void detached_thread_assigned_no_pointer(void **state) {
    (void)state;
    begin();
    add(0, false);
    add(0, true);
    const struct thread *t = add(0, false);
    attach();
    answer();
    assert_int_not_equal(t->pointer, 0);
    lane_lookup_unassign(&space, t->tid);
    assert_int_equal(t->pointer, 0);
    lane_lookup_leave(&space, t->tid, SINK);
    assert_int_equal(t->pointer, 0);
}

/* Its events are lost, but other threads are answered. */
static void thread_that_cannot_set_its_pointer(void **state) {
    (void)state;
    if (REGS_CALL_SET_POINTER < 0)
        return; /* the thread need not set it itself */
    begin();
    add(0, true)->confined = true;
    add(0, true);
    const struct thread *confined = add(0, false);
    thread_of(confined->tid)->confined = true;
    add(0, false);
    add(0, true);
    attach();
    for (int i = 0; i < 3; i++) {
        answer();
        assert_awake_threads_find_their_lanes();
        assert_int_equal(found_by(confined), SINK);
    }
}

static struct thread *any(void) {
    struct thread *t;
    do
        t = &threads[rand() % MOST];
    while (!t->tid);
    return t;
}

static size_t alive(void) {
    size_t count = 0;
    for (size_t i = 0; i < MOST; i++)
        count += threads[i].tid != 0;
    return count;
}

static void live(void) {
    struct thread *t = any();
    switch (rand() % 4) {
    case 0:
        t->asleep = !t->asleep;
        break;
    case 1:
        if (!t->asleep && alive() < MOST)
            make_vfork_child(t);
        break;
    case 2:
        if (alive() > 1)
            end(t);
        break;
    default:
        answer();
        assert_awake_threads_find_their_lanes();
    }
    assert_no_foreign_lane();
}

static void random_threads_find_only_their_own(void **state) {
    (void)state;
    srand(1);
    for (int round = 0; round < 60; round++) {
        begin();
        for (int i = rand() % 8; i >= 0; i--)
            add(rand() % 2 ? assigned_pointer((uint64_t)rand() % 4) : 0, rand() % 2);
        attach();
        for (int i = 0; i < 60; i++)
            live();
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
