/* Slabs and their lanes, and their state after a thread, a process or the tool has ended. */
#include "ring/kept_calls.h"
#include "ring/lanes.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../target/child.h"
#include "arch/clock.h"

#define TESTS                                                                                      \
    TEST(calls_that_the_tool_keeps)                                                                \
    TEST(calls_are_recorded_until_those_open_are_known)                                            \
    TEST(lanes_taken_once_and_apart)                                                               \
    TEST(new_lane_for_each_thread)                                                                 \
    TEST(slab_lives_until_released_and_read)                                                       \
    TEST(sink_outlives_lanes_that_use_it)                                                          \
    TEST(lanes_for_all_known_threads)                                                              \
    TEST(unmappable_memory_makes_no_slab)                                                          \
    TEST(sink_is_never_full)                                                                       \
    TEST(sink_events_counted)                                                                      \
    TEST(event_written_for_a_thread)                                                               \
    TEST(full_ring_drops_and_counts)                                                               \
    TEST(values_left_out_before_events)                                                            \
    TEST(full_ring_waits_for_room)                                                                 \
    TEST(owner_killed)                                                                             \
    TEST(owner_exits)                                                                              \
    TEST(owner_killed_after_slabs_were_overwritten)                                                \
    TEST(chain_without_a_removed_slab)

enum { RING = 4096 };
static const taddr_t AT = 0x7f0000000000;

static int new_memory(void) {
    int fd = memfd_create("lanes", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)slab_bytes(RING, slab_lane_count(RING, 0))), 0);
    return fd;
}

static struct slab *new_slab(void) {
    int fd = new_memory();
    struct slab *s = slab_new(fd, AT, RING, slab_lane_count(RING, 0));
    assert_non_null(s);
    close(fd);
    return s;
}

static bool is_mapped(const void *p) { return msync((void *)p, 1, MS_ASYNC) == 0; }

/* ---- lanes taken and returned ---- */

/* HANDLE's thread has begun and ended, and its events are read. */
static void give_back(struct lane_handle *handle) {
    lane_handle_set_state(handle, LANE_ACTIVE);
    lane_handle_set_state(handle, LANE_CLOSING);
    lane_handle_free(handle);
}

static void lanes_taken_once_and_apart(void **state) {
    (void)state;
    struct slab *s = new_slab();
    taddr_t end = s->sink.at + LANE_RING + RING + KEPT_BYTES;
    struct lane_handle *handle;
    unsigned count = 0;
    for (; (handle = slab_take(s, count, false)); count++) {
        assert_true(handle->at >= end);
        assert_int_equal(handle->at % 64, 0);
        assert_int_equal((uint8_t *)handle->lane - s->local, handle->at - AT);
        end = handle->at + LANE_RING + RING + KEPT_BYTES;
        atomic_store(&handle->state, LANE_ACTIVE);
    }
    assert_int_equal(count, s->lane_count);
    assert_true(end <= AT + s->size);
    for (unsigned i = 0; i < count; i++)
        atomic_store(&s->handles[i].state, LANE_FREE);
    slab_unref(s);
    slabs_reap();
}

static void calls_are_recorded_until_those_open_are_known(void **state) {
    (void)state;
    enum { LOW = 0x7000, HIGH = 0x9008 };
    struct slab *s = new_slab();
    struct lane_handle *handle = slab_take(s, 0, false);
    assert_false(kept_calls_has(handle, LOW));
    kept_calls_all(handle);
    assert_true(kept_calls_has(handle, LOW) && kept_calls_has(handle, HIGH));
    kept_calls_from(handle, HIGH);
    assert_true(kept_calls_has(handle, HIGH) && kept_calls_has(handle, HIGH + 8));
    assert_false(kept_calls_has(handle, HIGH - 8));
    kept_calls_from(handle, UINT64_MAX);
    assert_false(kept_calls_has(handle, HIGH));
    struct kept_calls *k = (void *)((uint8_t *)handle->lane + LANE_RING + RING);
    k->sets[((LOW ^ LOW >> 6) >> 4) % KEPT_SETS][KEPT_WAYS - 1] = LOW;
    assert_true(kept_calls_has(handle, LOW));
    assert_false(kept_calls_has(handle, LOW + 8));
    k->full = 1;
    assert_true(kept_calls_has(handle, LOW + 8));
    give_back(handle);
    handle = slab_take(s, 1, false);
    assert_false(kept_calls_has(handle, LOW));
    give_back(handle);
    slab_unref(s);
    slabs_reap();
}

static void calls_that_the_tool_keeps(void **state) {
    (void)state;
    enum { SP = 0x7ff0 };
    struct slab *s = new_slab();
    struct lane_handle *handle = slab_take(s, 0, false);
    const struct kept_calls *k = (void *)((uint8_t *)handle->lane + LANE_RING + RING);
    for (int i = 0; i < 2; i++)
        kept_calls_add(handle, SP);
    assert_true(kept_calls_has(handle, SP));
    assert_false(kept_calls_has(handle, SP + 16));
    assert_true(k->count == 1 && k->newest == ~(uint64_t)SP);
    for (taddr_t sp = SP + 16; !k->full; sp += 16)
        kept_calls_add(handle, sp);
    assert_true(k->count > KEPT_SETS && k->count <= KEPT_SETS * KEPT_WAYS + 1);
    assert_true(kept_calls_has(handle, SP - 16));
    give_back(handle);
    slab_unref(s);
    slabs_reap();
}

static void new_lane_for_each_thread(void **state) {
    (void)state;
    struct slab *s = new_slab();
    struct lane_handle *handle = slab_take(s, 1, false);
    memset(handle->lane, 0xff, sizeof *handle->lane);
    handle->tail = handle->stalls.lost = 99;
    struct lane_handle *again = slab_take(s, 2, false);
    assert_ptr_equal(again, handle); /* the lane was never active */
    assert_int_equal(handle->lane->head, 0);
    assert_int_equal(handle->lane->lost, 0);
    assert_int_equal(handle->lane->hook, 0);
    assert_int_equal(handle->lane->waits, 0);
    assert_int_equal(handle->lane->limit, RING);
    assert_int_equal(handle->lane->control, AT);
    assert_int_equal(handle->tail, 0);
    assert_int_equal(handle->stalls.lost, 0);
    assert_int_equal(handle->stream, 2);
    assert_int_equal(slab_take(s, 3, true)->lane->limit, INT64_MAX);
    slab_unref(s);
    slabs_reap();
}

static void slab_lives_until_released_and_read(void **state) {
    (void)state;
    struct slab *s = slab_ref(new_slab());
    struct lane_handle *handle = slab_take(s, 1, false);
    const uint8_t *memory = s->local;
    atomic_store(&handle->state, LANE_CLOSING);
    slab_unref(s);
    slabs_reap();
    assert_true(is_mapped(memory));
    slab_unref(s);
    slabs_reap();
    assert_true(is_mapped(memory)); /* the drainer may still read this memory */
    atomic_store(&handle->state, LANE_FREE);
    slabs_reap();
    assert_false(is_mapped(memory));
}

/* The drainer asks the sink of each lane whether a thread without a lane waits. */
static void sink_outlives_lanes_that_use_it(void **state) {
    (void)state;
    struct slab *first = new_slab(), *second = new_slab();
    struct lane_handle *handle = slab_take(second, 1, false);
    const struct lane *sink = first->sink.lane;
    handle->sink = first->sink.lane;
    atomic_store(&handle->state, LANE_CLOSING);
    slab_unref(first);
    slab_unref(second);
    slabs_reap();
    assert_true(is_mapped(sink));
    atomic_store(&handle->state, LANE_FREE);
    slabs_reap();
    assert_false(is_mapped(sink));
}

static void lanes_for_all_known_threads(void **state) {
    (void)state;
    enum { LARGE = 2 << 20, HUGE = 64 << 20, MOST_MB = 256 };
    const uint32_t usual = slab_lane_count(LARGE, 0);
    assert_int_equal(slab_lane_count(LARGE, usual - 1), usual);
    assert_int_equal(slab_lane_count(LARGE, usual + 1), usual + 1);
    assert_int_equal(slab_lane_count(HUGE, 100), slab_lane_count(HUGE, 0));
    assert_in_range(slab_lane_count(LARGE, 100000), usual + 1, MOST_MB / 2);
    assert_in_range(slab_lane_count(RING, 100000), slab_lane_count(RING, 0) + 1, 1000);
    assert_in_range(slab_bytes(LARGE, 100), (size_t)100 * LARGE, (size_t)110 * LARGE);
}

static void unmappable_memory_makes_no_slab(void **state) {
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_null(slab_new(fds[0], AT, RING, slab_lane_count(RING, 0)));
    close(fds[0]);
    close(fds[1]);
}

/* ---- the sink ---- */

static void sink_is_never_full(void **state) {
    (void)state;
    struct slab *s = new_slab();
    const struct lane_handle *sink = slab_sink(s);
    assert_true(sink->unread);
    assert_int_equal(sink->lane->limit, INT64_MAX);
    uint32_t *owner = (uint32_t *)(s->local + (sink->lane->control - AT));
    assert_true(*owner & CONTROL_OWNER_DIED);
    assert_false(*(uint32_t *)s->local & CONTROL_OWNER_DIED); /* the others' */
    slab_unref(s);
    slabs_reap();
}

static void sink_events_counted(void **state) {
    (void)state;
    struct slab *s = new_slab();
    struct lane_handle *sink = slab_sink(s);
    assert_int_equal(slab_sink_lost(sink), 0);
    for (int i = 0; i < 3 * RING / EVENT_BYTES; i++)
        lane_handle_put(sink, 4, 0, OVERFLOW_WAIT);
    assert_int_equal(slab_sink_lost(sink), 3 * RING / EVENT_BYTES);
    assert_int_equal(slab_sink_lost(sink), 0);
    slab_unref(s);
    slabs_reap();
}

/* ---- events on behalf of a thread ---- */

static void event_written_for_a_thread(void **state) {
    (void)state;
    struct slab *s = new_slab();
    struct lane_handle *handle = slab_take(s, 1, false);
    lane_handle_put(handle, 4711, 0x123456789abc, OVERFLOW_WAIT);
    const struct event *e = (const struct event *)((uint8_t *)handle->lane + LANE_RING);
    assert_int_equal(handle->lane->head, EVENT_BYTES);
    assert_int_equal(e->site, 4711);
    assert_int_equal(event_sp(e), 0x123456789abc);
    assert_true(event_ticks(e, clock_ticks()) > handle->last_clock);
    slab_unref(s);
    slabs_reap();
}

static void full_ring_drops_and_counts(void **state) {
    (void)state;
    struct slab *s = new_slab();
    struct lane_handle *handle = slab_take(s, 1, false);
    for (int i = 0; i < RING / EVENT_BYTES + 5; i++)
        lane_handle_put(handle, 4, 0, OVERFLOW_DROP);
    assert_int_equal(handle->lane->head, RING);
    assert_int_equal(handle->lane->lost, 5);
    slab_unref(s);
    slabs_reap();
}

/* With room for the event only, it has no values. */
static void values_left_out_before_events(void **state) {
    (void)state;
    struct slab *s = new_slab();
    struct lane_handle *handle = slab_take(s, 1, false);
    const struct captured_slot slots[] = {{CAPTURE_BEGIN, 7}, {CAPTURE_WORD, 0x123456789abc}};
    const struct lane_event event = {6, 0x7000, slots, 2, OVERFLOW_DROP};
    const struct event *at = (const struct event *)((uint8_t *)handle->lane + LANE_RING);
    lane_handle_put_values(handle, &event);
    assert_int_equal(handle->lane->head, 3 * EVENT_BYTES);
    assert_int_equal(at[0].site, (uint32_t)CAPTURE_BEGIN << 2 | EVENT_CONTROL);
    assert_int_equal(event_sp(&at[0]), 7);
    if (CAPTURE_WHOLE) {
        assert_true(is_whole_word(&at[1]) && event_word_number(&at[1]) == 0);
        assert_int_equal(event_word(&at[1]), 0x123456789abc);
    } else {
        assert_int_equal(at[1].site, (uint32_t)CAPTURE_WORD << 2 | EVENT_CONTROL);
        assert_int_equal(event_sp(&at[1]), 0x123456789abc);
    }
    assert_int_equal(at[2].site, 6);
    assert_true(at[0].clock_sp >> 16 == at[2].clock_sp >> 16);
    while (handle->lane->head < RING - EVENT_BYTES)
        lane_handle_put(handle, 4, 0, OVERFLOW_DROP);
    lane_handle_put_values(handle, &event);
    assert_int_equal(handle->lane->head, RING);
    assert_int_equal(at[RING / EVENT_BYTES - 1].site, 6);
    assert_int_equal(handle->lane->lost, 0);
    lane_handle_put_values(handle, &event);
    assert_int_equal(handle->lane->lost, 1);
    slab_unref(s);
    slabs_reap();
}

static void *make_room(void *arg) {
    struct lane_handle *handle = arg;
    while (__atomic_load_n(&handle->lane->head, __ATOMIC_ACQUIRE) < RING)
        ;
    __atomic_store_n(&handle->lane->limit, 2 * RING, __ATOMIC_RELEASE);
    return NULL;
}

static void full_ring_waits_for_room(void **state) {
    (void)state;
    struct slab *s = new_slab();
    struct lane_handle *handle = slab_take(s, 1, false);
    pthread_t drainer;
    pthread_create(&drainer, NULL, make_room, handle);
    for (int i = 0; i < RING / EVENT_BYTES + 5; i++)
        lane_handle_put(handle, 4, 0, OVERFLOW_WAIT);
    pthread_join(drainer, NULL);
    assert_int_equal(handle->lane->head, RING + 5 * EVENT_BYTES);
    assert_int_equal(handle->lane->lost, 0);
    slab_unref(s);
    slabs_reap();
}

/* ---- the owner's death ---- */

enum { SLABS = 3 };

struct owner {
    int fds[SLABS];
    uint32_t *ready;
    void (*end)(void);
};

static int own_slabs(void *arg) {
    struct owner *o = arg;
    for (int i = 0; i < SLABS; i++)
        if (!slab_new(o->fds[i], AT, RING, slab_lane_count(RING, 0)))
            return 1;
    __atomic_store_n(o->ready, 1, __ATOMIC_RELEASE);
    o->end();
    return 0;
}

static void wait_to_be_killed(void) {
    for (;;)
        pause();
}
static void exit_at_once(void) { _exit(3); }

/* A target overwrites all memory that it can reach. */
static int own_overwritten_slabs(void *arg) {
    struct owner *o = arg;
    for (int i = 0; i < SLABS; i++) {
        struct slab *s = slab_new(o->fds[i], AT, RING, slab_lane_count(RING, 0));
        if (!s)
            return 1;
        memset(s->local + 4, 0xee, 4096 - 4);
    }
    __atomic_store_n(o->ready, 1, __ATOMIC_RELEASE);
    wait_to_be_killed();
    return 0;
}

static void expect_owner_died(int (*body)(void *), void (*end)(void)) {
    struct owner o = {.ready = shared_new(4096), .end = end};
    uint32_t *words[SLABS];
    for (int i = 0; i < SLABS; i++) {
        o.fds[i] = new_memory();
        words[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, o.fds[i], 0);
    }
    pid_t pid = child_start(body, &o);
    await_word(o.ready);
    if (end == wait_to_be_killed)
        for (int i = 0; i < SLABS; i++)
            assert_false(*words[i] & CONTROL_OWNER_DIED);
    if (end == wait_to_be_killed)
        kill(pid, SIGKILL);
    child_end(pid);
    for (int i = 0; i < SLABS; i++) {
        assert_true(__atomic_load_n(words[i], __ATOMIC_ACQUIRE) & CONTROL_OWNER_DIED);
        munmap(words[i], 4096);
        close(o.fds[i]);
    }
    munmap(o.ready, 4096);
}

static void owner_killed(void **state) {
    (void)state;
    expect_owner_died(own_slabs, wait_to_be_killed);
}

static void owner_exits(void **state) {
    (void)state;
    expect_owner_died(own_slabs, exit_at_once);
}

static void owner_killed_after_slabs_were_overwritten(void **state) {
    (void)state;
    expect_owner_died(own_overwritten_slabs, wait_to_be_killed);
}

static int own_slabs_and_give_one_up(void *arg) {
    struct owner *o = arg;
    struct slab *first = slab_new(o->fds[0], AT, RING, slab_lane_count(RING, 0));
    slab_new(o->fds[1], AT, RING, slab_lane_count(RING, 0));
    slab_unref(first);
    slabs_reap();
    __atomic_store_n(o->ready, 1, __ATOMIC_RELEASE);
    wait_to_be_killed();
    return 0;
}

static void chain_without_a_removed_slab(void **state) {
    (void)state;
    struct owner o = {.ready = shared_new(4096)};
    o.fds[0] = new_memory();
    o.fds[1] = new_memory();
    uint32_t *word = mmap(NULL, 4096, PROT_READ, MAP_SHARED, o.fds[1], 0);
    pid_t pid = child_start(own_slabs_and_give_one_up, &o);
    await_word(o.ready);
    kill(pid, SIGKILL);
    child_end(pid);
    assert_true(__atomic_load_n(word, __ATOMIC_ACQUIRE) & CONTROL_OWNER_DIED);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("ring lanes", tests, NULL, NULL);
}
