/*
 * Threads of the test write events with real stubs into real lanes, and the drainer writes a real
 * trace. Events arrive in order; events that do not arrive are counted.
 */
#include "ring/drain.h"

#include <asm/prctl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../target/child.h"
#include "arch/arch.h"
#include "arch/clock.h"
#include "arch/x86_64/stub.h"
#include "recorded.h"
#include "ring/thin.h"

#define TESTS                                                                                      \
    TEST(order_through_tiny_rings)                                                                 \
    TEST(order_through_large_rings)                                                                \
    TEST(order_with_several_drainers)                                                              \
    TEST(waits_for_room_are_pauses)                                                                \
    TEST(stops_are_pauses)                                                                         \
    TEST(empty_stream_of_a_silent_thread)                                                          \
    TEST(reused_lanes_without_old_events)                                                          \
    TEST(dropped_events_counted)                                                                   \
    TEST(gaps_where_events_were_dropped)                                                           \
    TEST(newest_events_kept_on_overwrite)                                                          \
    TEST(kept_events_keep_their_times)                                                             \
    TEST(unwritten_slot_not_read)                                                                  \
    TEST(impossible_head)                                                                          \
    TEST(lane_of_a_running_thread_waits_for_frames)                                                \
    TEST(tracer_woken_from_the_hook)

/* ---- the code that writes ---- */

enum { KINDS = 64, STUB_ROOM = 256, CODE_BYTES = 1 << 15, STUBS_AT = 8192, SMALL_RING = 4096 };

static uint32_t site_of(unsigned kind) {
    return (kind / 2 + 1) << 2 | (kind % 2 ? EVENT_RETURN : EVENT_ENTRY);
}

/* KINDS functions that each write one event. */
static uint8_t *new_code(uint32_t ring_bytes, enum overflow overflow) {
    static const uint8_t ret = 0xc3;
    uint8_t *code =
        mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(code != MAP_FAILED);
    memcpy(code, agent_bytes, agent_size);
    for (unsigned i = 0; i < KINDS; i++) {
        int64_t at = STUBS_AT + (int64_t)i * STUB_ROOM;
        struct stub_spec spec = {.variant = i % 4 ? 0 : STUB_SAVE_FLAGS,
                                 .site = site_of(i),
                                 .ring_bytes = ring_bytes,
                                 .overflow = overflow,
                                 .agent = -at};
        code[at + (int64_t)stub_emit(code + at, &spec)] = ret;
    }
    assert_int_equal(mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC), 0);
    return code;
}

/* The kind of the next event: random, but the same in each run. */
static unsigned next_kind(uint64_t *x) {
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return *x >> 58;
}

static void produce(const uint8_t *code, uint64_t *sequence, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uintptr_t at = (uintptr_t)code + STUBS_AT + next_kind(sequence) * STUB_ROOM;
        ((void (*)(void))at)();
    }
}

static void use_lane(const struct lane_handle *handle) {
    assert_int_equal(syscall(SYS_arch_prctl, ARCH_SET_GS, handle->at), 0);
}

/* ---- a session without processes ---- */

struct rig {
    char *path;
    struct trace_writer *writer;
    struct drain *drain;
    struct slab *slab;
    uint8_t *target; /* the slab as the "target" maps it */
    uint8_t *code;
    int hook_event;
    bool limitless;
};

static struct rig *rig_with_drainers(uint32_t ring_bytes, enum overflow overflow, unsigned most) {
    struct rig *g = mem_alloc(sizeof *g);
    const uint32_t slots = slab_lane_count(ring_bytes, 0);
    size_t size = slab_bytes(ring_bytes, slots);
    int fd = memfd_create("lanes", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    g->target = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    g->slab = slab_new(fd, (taddr_t)g->target, ring_bytes, slots);
    close(fd);
    g->path = scratch_new();
    g->writer = must_open_writer(g->path);
    g->code = new_code(ring_bytes, overflow);
    g->hook_event = eventfd(0, EFD_NONBLOCK);
    g->limitless = overflow == OVERFLOW_OVERWRITE;
    struct drain_options options = {
        .writer = g->writer, .overflow = overflow, .hook_event = g->hook_event, .most = most};
    assert_int_equal(drain_start(&options, &g->drain, NULL), 0);
    return g;
}

static struct rig *rig_new(uint32_t ring_bytes, enum overflow overflow) {
    return rig_with_drainers(ring_bytes, overflow, 1);
}

static struct lane_handle *rig_take(struct rig *g, uint32_t stream) {
    struct lane_handle *handle = slab_take(g->slab, stream, g->limitless);
    assert_non_null(handle);
    recorded_thread(g->writer, stream);
    drain_add(g->drain, handle);
    return handle;
}

/* Ends draining and reads STREAM. */
static void rig_read(struct rig *g, uint32_t stream, struct recorded *ret) {
    drain_finish(g->drain);
    g->drain = NULL;
    recorded_read(g->writer, g->path, stream, ret);
    g->writer = NULL;
}

static void rig_free(struct rig *g) {
    drain_finish(g->drain);
    if (g->writer)
        trace_writer_abandon(g->writer);
    munmap(g->target, g->slab->size);
    slab_unref(g->slab);
    slabs_reap();
    munmap(g->code, CODE_BYTES);
    close(g->hook_event);
    scratch_free(g->path);
    free(g);
}

struct producer {
    struct rig *rig;
    struct lane_handle *handle;
    uint64_t sequence;
    size_t count;
    pthread_t thread;
};

static void *run_producer(void *arg) {
    struct producer *p = arg;
    use_lane(p->handle);
    produce(p->rig->code, &p->sequence, p->count);
    return NULL;
}

/* Writes COUNT events in a new thread, and waits for its end. */
static void produce_in_thread(struct rig *g, struct lane_handle *handle, uint64_t sequence,
                              size_t count) {
    struct producer p = {g, handle, sequence, count, 0};
    pthread_create(&p.thread, NULL, run_producer, &p);
    pthread_join(p.thread, NULL);
}

static void check_item(const struct trace_item *item, unsigned kind) {
    assert_int_equal(item->id << 2 | item->event, site_of(kind));
}

static void check_ticks(const struct recorded *r) {
    for (size_t i = 1; i < r->items.count; i++)
        assert_true(r->items.at[i].ticks >= r->items.at[i - 1].ticks);
}

/* The items are the last of the sequence's COUNT events. */
static void check_sequence(const struct recorded *r, uint64_t sequence, size_t count) {
    assert_true(r->items.count <= count);
    for (size_t i = 0; i < count; i++) {
        unsigned kind = next_kind(&sequence);
        if (i >= count - r->items.count)
            check_item(&r->items.at[i - (count - r->items.count)], kind);
    }
    check_ticks(r);
}

/* ---- complete ---- */

enum { THREADS = 3 };

static void run_threads(struct rig *g, struct producer *p, size_t count) {
    for (uint32_t i = 0; i < THREADS; i++) {
        p[i] = (struct producer){g, rig_take(g, i), i + 1, count, 0};
        pthread_create(&p[i].thread, NULL, run_producer, &p[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(p[i].thread, NULL);
        drain_close(g->drain, p[i].handle, clock_ticks());
    }
}

static void expect_all_arrives(uint32_t ring_bytes, unsigned drainers) {
    enum { COUNT = 100000 };
    for (uint32_t stream = 0; stream < THREADS; stream++) {
        struct rig *g = rig_with_drainers(ring_bytes, OVERFLOW_WAIT, drainers);
        struct producer p[THREADS];
        struct recorded r;
        run_threads(g, p, COUNT);
        rig_read(g, stream, &r);
        assert_int_equal(r.items.count, COUNT);
        assert_int_equal(r.lost, 0);
        assert_true(r.ended);
        check_sequence(&r, stream + 1, COUNT);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(p[i].handle->state, LANE_FREE);
        for (unsigned i = 0; i < THREADS; i++)
            assert_int_equal(p[i].handle->drainer, i < drainers ? i : 0);
        recorded_done(&r);
        rig_free(g);
    }
}

static void order_through_tiny_rings(void **state) {
    (void)state;
    expect_all_arrives(SMALL_RING, 1);
}

static void order_through_large_rings(void **state) {
    (void)state;
    expect_all_arrives(1 << 20, 1);
}

/* As many drainers as lanes, and fewer. */
static void order_with_several_drainers(void **state) {
    (void)state;
    expect_all_arrives(SMALL_RING, THREADS);
    expect_all_arrives(SMALL_RING, THREADS - 1);
}

/* When pause I ends: with the next item, or when the thread waits on, as there was room for the
 * event of its wait only. */
static uint64_t end_of_wait(const struct recorded *r, size_t i) {
    const struct recorded_pause *p = &r->pauses.at[i], *next = p + 1;
    bool waits_on = i + 1 < r->pauses.count && next->before == p->before;
    return waits_on ? next->begin : r->items.at[p->before].ticks;
}

/* With a tiny ring the thread waits most of the time. */
static void waits_for_room_are_pauses(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    struct rig *g = rig_new(SMALL_RING, OVERFLOW_WAIT);
    struct lane_handle *handle = rig_take(g, 0);
    struct recorded r;
    uint64_t begin = clock_ticks();
    produce_in_thread(g, handle, 1, COUNT);
    uint64_t all = clock_ticks() - begin, paused = 0;
    drain_close(g->drain, handle, clock_ticks());
    uint64_t waits = handle->lane->waits;
    rig_read(g, 0, &r);
    assert_int_equal(r.items.count, COUNT);
    assert_true(waits > 0 && r.pauses.count > 0 && r.pauses.count <= waits);
    for (size_t i = 0; i < r.pauses.count; i++) {
        const struct recorded_pause *p = &r.pauses.at[i];
        assert_int_equal(p->id, PAUSE_EVENT + PAUSE_RING);
        assert_true(p->before > 0 && p->before < COUNT);
        assert_true(p->begin >= r.items.at[p->before - 1].ticks);
        assert_int_equal(p->end, end_of_wait(&r, i));
        paused += p->end - p->begin;
    }
    assert_in_range(paused, 1, all);
    recorded_done(&r);
    rig_free(g);
}

static void stops_are_pauses(void **state) {
    (void)state;
    struct rig *g = rig_new(SMALL_RING, OVERFLOW_WAIT);
    struct lane_handle *handle = rig_take(g, 0);
    struct recorded r;
    produce_in_thread(g, handle, 1, 100);
    uint64_t begin = clock_ticks();
    pauses_add(&handle->pauses, &(struct pause){begin, begin + 1, PAUSE_EVENT + PAUSE_DLOPEN});
    produce_in_thread(g, handle, 2, 100);
    begin = clock_ticks();
    pauses_add(&handle->pauses,
               &(struct pause){begin, begin + 5, PAUSE_EVENT + PAUSE_FILTER + PAUSE_IN_CALL});
    drain_close(g->drain, handle, clock_ticks());
    rig_read(g, 0, &r);
    assert_int_equal(r.items.count, 200);
    assert_int_equal(r.pauses.count, 2);
    assert_int_equal(r.pauses.at[0].before, 100);
    assert_int_equal(r.pauses.at[0].id, PAUSE_EVENT + PAUSE_DLOPEN);
    assert_int_equal(r.pauses.at[1].before, 200);
    assert_int_equal(r.pauses.at[1].end - r.pauses.at[1].begin, 5);
    recorded_done(&r);
    rig_free(g);
}

static void empty_stream_of_a_silent_thread(void **state) {
    (void)state;
    struct rig *g = rig_new(SMALL_RING, OVERFLOW_WAIT);
    struct recorded r;
    drain_close(g->drain, rig_take(g, 0), clock_ticks());
    rig_read(g, 0, &r);
    assert_int_equal(r.items.count, 0);
    assert_true(r.ended);
    rig_free(g);
}

static void reused_lanes_without_old_events(void **state) {
    (void)state;
    enum { LIVES = 20, COUNT = 700 };
    struct rig *g = rig_new(SMALL_RING, OVERFLOW_WAIT);
    struct lane_handle *first = NULL;
    for (uint32_t i = 0; i < LIVES; i++) {
        struct lane_handle *handle = rig_take(g, i);
        first = first ? first : handle;
        assert_ptr_equal(handle, first);
        produce_in_thread(g, handle, i + 1, COUNT + i);
        drain_close(g->drain, handle, clock_ticks());
        while (atomic_load(&handle->state) != LANE_FREE)
            sched_yield();
    }
    struct recorded r;
    rig_read(g, LIVES - 1, &r);
    assert_int_equal(r.items.count, COUNT + LIVES - 1);
    check_sequence(&r, LIVES, r.items.count);
    recorded_done(&r);
    rig_free(g);
}

/* ---- incomplete ---- */

/* Checks that the items are a part of the sequence, in its order. */
static void check_some(const struct recorded *r, uint64_t sequence, size_t count) {
    size_t at = 0;
    for (size_t i = 0; i < count && at < r->items.count; i++) {
        const struct trace_item *item = &r->items.at[at];
        at += (item->id << 2 | item->event) == site_of(next_kind(&sequence));
    }
    assert_int_equal(at, r->items.count);
    check_ticks(r);
}

static void dropped_events_counted(void **state) {
    (void)state;
    enum { COUNT = 300000 };
    struct rig *g = rig_new(SMALL_RING, OVERFLOW_DROP);
    struct lane_handle *handle = rig_take(g, 0);
    struct recorded r;
    produce_in_thread(g, handle, 1, COUNT);
    drain_close(g->drain, handle, clock_ticks());
    rig_read(g, 0, &r);
    assert_true(r.lost > 0); /* at this speed, with this ring */
    assert_int_equal(r.items.count + r.lost, COUNT);
    check_some(&r, 1, COUNT);
    recorded_done(&r);
    rig_free(g);
}

static void list_kinds(uint64_t sequence, uint8_t *kinds, size_t count) {
    for (size_t i = 0; i < count; i++)
        kinds[i] = (uint8_t)next_kind(&sequence);
}

static bool is_run(const struct trace_item *items, size_t count, const uint8_t *kinds) {
    for (size_t i = 0; i < count; i++)
        if ((items[i].id << 2 | items[i].event) != site_of(kinds[i]))
            return false;
    return true;
}

/* Where the run of COUNT items begins in KINDS, at FROM or up to MOST events behind it. */
static size_t find_run(const struct trace_item *items, size_t count, const uint8_t *kinds,
                       size_t from, size_t most) {
    for (size_t k = 0; k <= most; k++)
        if (is_run(items, count, kinds + from + k))
            return from + k;
    fail_msg("%zu events are not in one piece", count);
    return 0;
}

/* No event is missing between two gaps. A gap's number of lost events may miss some, which a later
 * gap counts: the thread lost events at both before the drainer looked. */
static void gaps_where_events_were_dropped(void **state) {
    (void)state;
    enum { COUNT = 300000 };
    static uint8_t kinds[COUNT];
    struct rig *g = rig_new(SMALL_RING, OVERFLOW_DROP);
    struct lane_handle *handle = rig_take(g, 0);
    struct recorded r;
    list_kinds(1, kinds, COUNT);
    produce_in_thread(g, handle, 1, COUNT);
    drain_close(g->drain, handle, clock_ticks());
    rig_read(g, 0, &r);
    assert_true(r.gaps.count > 0);
    size_t at = 0, lost = 0, begin = 0;
    for (size_t i = 0; i <= r.gaps.count; i++) {
        size_t end = i < r.gaps.count ? r.gaps.at[i].before : r.items.count;
        size_t exact = at + lost > begin ? at + lost : begin;
        begin = find_run(r.items.at + at, end - at, kinds, exact, COUNT - (end - at) - exact);
        begin += end - at;
        if (i < r.gaps.count && end)
            assert_int_equal(r.gaps.at[i].ticks, r.items.at[end - 1].ticks);
        lost += i < r.gaps.count ? r.gaps.at[i].lost : 0;
        at = end;
    }
    assert_int_equal(at + lost, COUNT);
    recorded_done(&r);
    rig_free(g);
}

static void newest_events_kept_on_overwrite(void **state) {
    (void)state;
    const size_t room = SMALL_RING / EVENT_BYTES - 1; /* one slot may have been started again */
    const size_t counts[] = {10, room, room + 1, room + 2, 5000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const size_t kept = counts[i] < room ? counts[i] : room;
        struct rig *g = rig_new(SMALL_RING, OVERFLOW_OVERWRITE);
        struct lane_handle *handle = rig_take(g, 0);
        struct recorded r;
        produce_in_thread(g, handle, 1, counts[i]);
        drain_close(g->drain, handle, clock_ticks());
        rig_read(g, 0, &r);
        assert_int_equal(r.items.count, kept);
        assert_int_equal(r.lost, counts[i] - kept);
        check_sequence(&r, 1, counts[i]);
        recorded_done(&r);
        rig_free(g);
    }
}

static void kept_events_keep_their_times(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    struct rig *g = rig_new(SMALL_RING, OVERFLOW_OVERWRITE);
    struct lane_handle *handle = rig_take(g, 0);
    struct recorded r;
    produce_in_thread(g, handle, 1, COUNT);
    const struct event *ring = (const struct event *)((uint8_t *)handle->lane + LANE_RING);
    uint64_t clocks[SMALL_RING / EVENT_BYTES];
    for (size_t i = 0; i < SMALL_RING / EVENT_BYTES; i++)
        clocks[i] = ring[(COUNT + i) % (SMALL_RING / EVENT_BYTES)].clock_sp >> 16;
    drain_close(g->drain, handle, clock_ticks());
    rig_read(g, 0, &r);
    for (size_t i = 0; i < r.items.count; i++)
        assert_int_equal(r.items.at[i].ticks & EVENT_CLOCK_MASK, clocks[i + 1]);
    assert_true(r.items.at[0].ticks < r.items.at[r.items.count - 1].ticks);
    recorded_done(&r);
    rig_free(g);
}

/* Leaves the lane as a thread that is killed before it commits its newest slot. */
static void reserve(struct lane_handle *handle) {
    while (handle->lane->head >= __atomic_load_n(&handle->lane->limit, __ATOMIC_ACQUIRE))
        sched_yield();
    uint64_t at = handle->lane->head & (handle->ring_bytes - 1);
    struct event *e = (struct event *)((uint8_t *)handle->lane + LANE_RING + at);
    e->site = 0xbad;
    e->sp_low = 0xbad;
    handle->lane->head += EVENT_BYTES;
}

static void expect_reserved_is_not_read(enum overflow overflow, size_t count) {
    const size_t room = SMALL_RING / EVENT_BYTES;
    struct rig *g = rig_new(SMALL_RING, overflow);
    struct lane_handle *handle = rig_take(g, 0);
    struct recorded r;
    produce_in_thread(g, handle, 1, count);
    reserve(handle);
    drain_close(g->drain, handle, clock_ticks());
    rig_read(g, 0, &r);
    size_t kept = g->limitless && count >= room ? room - 1 : count;
    assert_int_equal(r.items.count, kept);
    assert_int_equal(r.lost, count - kept);
    check_sequence(&r, 1, count);
    recorded_done(&r);
    rig_free(g);
}

static void unwritten_slot_not_read(void **state) {
    (void)state;
    static const size_t counts[] = {0, 1, 255, 256, 257, 1000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        expect_reserved_is_not_read(OVERFLOW_WAIT, counts[i]);
        expect_reserved_is_not_read(OVERFLOW_OVERWRITE, counts[i]);
    }
}

/* ---- lanes that the program has overwritten ---- */

static void await_drained(const struct lane_handle *handle) {
    while (__atomic_load_n(&handle->lane->limit, __ATOMIC_ACQUIRE) !=
           handle->lane->head + handle->ring_bytes)
        sched_yield();
}

static void expect_draining_goes_on(uint64_t bad_head) {
    enum { BEFORE = 100, AFTER = 3000 };
    struct rig *g = rig_new(SMALL_RING, OVERFLOW_WAIT);
    struct lane_handle *handle = rig_take(g, 0);
    struct recorded r;
    produce_in_thread(g, handle, 1, BEFORE);
    await_drained(handle);
    __atomic_store_n(&handle->lane->head, bad_head, __ATOMIC_RELEASE);
    await_drained(handle);
    produce_in_thread(g, handle, 2, AFTER);
    drain_close(g->drain, handle, clock_ticks());
    rig_read(g, 0, &r);
    assert_int_equal(r.items.count, BEFORE + AFTER);
    assert_true(r.lost > 0);
    recorded_done(&r);
    rig_free(g);
}

static void impossible_head(void **state) {
    (void)state;
    expect_draining_goes_on(UINT64_C(1) << 60);
    expect_draining_goes_on(16);
    expect_draining_goes_on(2 * SMALL_RING);
}

/* ---- frames ---- */

/* Of function 1's call only the return is recorded. The frames show that it is not too deep, but
 * that its callees are. */
static void lane_of_a_running_thread_waits_for_frames(void **state) {
    (void)state;
    enum { DEPTH_ONE = 1 };
    struct rig *g = rig_new(SMALL_RING, OVERFLOW_WAIT);
    struct trace_thread thread = {.stream = 0, .name = "t"};
    struct thin_options options = {g->writer, DEPTH_ONE, 0};
    struct lane_handle *handle = slab_take(g->slab, 0, false);
    recorded_thread(g->writer, 0);
    handle->thin = thin_new(&options, &thread);
    drain_add_running(g->drain, handle);
    uint64_t before = clock_ticks();
    lane_handle_put(handle, 2 << 2 | EVENT_ENTRY, 0x7000, OVERFLOW_WAIT);
    lane_handle_put(handle, 2 << 2 | EVENT_RETURN, 0x7000, OVERFLOW_WAIT);
    lane_handle_put(handle, 1 << 2 | EVENT_RETURN, 0x7100, OVERFLOW_WAIT);
    await_drained(handle);
    drain_close(g->drain, handle, clock_ticks());
    struct lane_handle *other = rig_take(g, 1);
    assert_ptr_not_equal(other, handle); /* which waits */
    drain_close(g->drain, other, clock_ticks());
    struct trace_frame frame = {1, 0x7100};
    drain_frames(g->drain, handle, &(struct trace_frames){0, before, 1, &frame});
    while (atomic_load(&handle->state) != LANE_FREE)
        sched_yield();
    struct recorded r;
    rig_read(g, 0, &r);
    assert_int_equal(r.items.count, 1); /* the others are too deep */
    assert_int_equal(r.items.at[0].id, 1);
    assert_int_equal(r.items.at[0].event, EVENT_RETURN);
    recorded_done(&r);
    rig_free(g);
}

static void tracer_woken_from_the_hook(void **state) {
    (void)state;
    struct rig *g = rig_new(SMALL_RING, OVERFLOW_WAIT);
    struct lane_handle *handle = rig_take(g, 0);
    struct pollfd p = {.fd = g->hook_event, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 0), 0);
    __atomic_store_n(&handle->lane->hook, 1, __ATOMIC_RELEASE);
    assert_int_equal(poll(&p, 1, 10000), 1);
    drain_close(g->drain, handle, clock_ticks());
    rig_free(g);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("ring drain", tests, NULL, NULL);
}
