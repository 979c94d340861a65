/* Slabs of lanes: made, mapped beside the robust-futex list, given to threads, and freed. */
#include "ring/lanes.h"

#include <assert.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <unistd.h>

#include "arch/bridge.h"
#include "arch/clock.h"
#include "base/clock.h"
#include "base/page.h"
#include "ring/kept_calls.h"
#include "target/thread.h"
#include "wire/undo.h"

/*
 * A slab: a page of 4 KB with the control words and slab_saved(); HANDLER_ROOM; REMOTE_FRAME_BYTES
 * for remote calls; the sink; the lanes. Remote calls have their stack pointer at the frame: if the
 * tool is killed just before it blocks the thread's signals, a handler runs in HANDLER_ROOM below.
 *
 * The control word is a robust futex owned by the tracer's thread. When that thread dies, however
 * it dies, the kernel walks its robust list and sets FUTEX_OWNER_DIED in each word. The kernel
 * finds a word at node + futex_offset (Documentation/locking/robust-futexes.rst). Targets can write
 * to the slab, so the node precedes it, in memory of the tool.
 */
enum {
    CONTROL_BYTES = 4096,
    HANDLER_ROOM = 64 << 10,
    NARROW = REGS_WORD_BYTES < 8, /* 3 GiB of addresses or so */
    USUAL_BYTES = NARROW ? 16 << 20 : 64 << 20,
    MOST_BYTES = NARROW ? USUAL_BYTES : 256 << 20, /* if many threads are known to need lanes */
    SAVED_AT = 64,
    LEAST_LANES = NARROW ? 2 : 8,
    USUAL_LANES = 64,
    MOST_LANES = 256
};

struct control_page {
    struct control control;
    struct control dead; /* the sink's: not read from the start */
    struct undo_sign sign;
};
_Static_assert(sizeof(struct control_page) <= SAVED_AT, "stands before slab_saved()");
_Static_assert(BRIDGE_WORDS * sizeof(uint64_t) <= SLAB_SAVED_BYTES, "holds what the gate saves");
_Static_assert(CONTROL_OWNER_DIED == FUTEX_OWNER_DIED, "linux/futex.h");
_Static_assert(offsetof(struct control_page, control.owner) == 0, "futex_offset");
_Static_assert(offsetof(struct control_page, sign) == UNDO_SIGN_AT, "wire/undo.h");

static struct robust_list_head robust_futexes = {
    .list = {&robust_futexes.list},
    .futex_offset = sizeof(struct robust_list),
};

static struct robust_list *node_of(const struct slab *s) {
    return (struct robust_list *)(void *)s->local - 1;
}

/* All slabs mapped here, in use or waiting until their last lane is drained. */
static ARRAY(struct slab *) slabs;

static void own_control_words(void) {
    robust_futexes.list.next = &robust_futexes.list;
    for (size_t i = 0; i < slabs.count; i++) {
        struct control_page *page = (struct control_page *)slabs.at[i]->local;
        page->control.owner = (uint32_t)gettid();
        node_of(slabs.at[i])->next = robust_futexes.list.next;
        robust_futexes.list.next = node_of(slabs.at[i]);
    }
    syscall(SYS_set_robust_list, &robust_futexes, sizeof robust_futexes);
}

/* Maps a private page, directly followed by the slab. Returns the slab's address, or NULL. */
static uint8_t *map_slab(int fd, size_t size) {
    const size_t before = page_bytes();
    uint8_t *page = mmap(NULL, before + size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    if (mmap(page + before, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) !=
        MAP_FAILED)
        return page + before;
    munmap(page, before + size);
    return NULL;
}

static void unmap_slab(struct slab *s) { munmap(s->local - page_bytes(), page_bytes() + s->size); }

static uint32_t clamp(uint32_t least, size_t n, uint32_t most) {
    return n < least ? least : n > most ? most : (uint32_t)n;
}

uint32_t slab_lane_count(uint32_t ring_bytes, size_t threads) {
    const size_t lane = LANE_RING + (size_t)ring_bytes + KEPT_BYTES;
    uint32_t usual = clamp(LEAST_LANES, USUAL_BYTES / lane, USUAL_LANES);
    return clamp(usual, threads, clamp(usual, MOST_BYTES / lane, MOST_LANES));
}

/* Lane 0 is the sink. */
static size_t lane_offset(uint32_t ring_bytes, uint32_t i) {
    return CONTROL_BYTES + HANDLER_ROOM + REMOTE_FRAME_BYTES +
           (size_t)i * (LANE_RING + (size_t)ring_bytes + KEPT_BYTES);
}

size_t slab_bytes(uint32_t ring_bytes, uint32_t lanes) {
    return page_up(lane_offset(ring_bytes, 1 + lanes));
}

static struct lane_handle handle_of_lane(const struct slab *s, uint32_t lane) {
    size_t offset = lane_offset(s->ring_bytes, lane);
    return (struct lane_handle){
        .lane = (void *)(s->local + offset), .at = s->at + offset, .ring_bytes = s->ring_bytes};
}

static void init_sink(struct slab *s) {
    s->sink = handle_of_lane(s, 0);
    s->sink.unread = true;
    s->sink.lane->limit = INT64_MAX; /* largest signed number, too */
    s->sink.lane->control = s->at + offsetof(struct control_page, dead);
    ((struct control_page *)s->local)->dead.owner = CONTROL_OWNER_DIED;
}

struct slab *slab_new(int fd, taddr_t at, uint32_t ring_bytes, uint32_t lanes) {
    size_t size = slab_bytes(ring_bytes, lanes);
    uint8_t *local = map_slab(fd, size);
    if (!local)
        return NULL;
    struct slab *s = mem_alloc(sizeof *s);
    *s = (struct slab){.refs = 1, .local = local, .size = size, .at = at, .ring_bytes = ring_bytes};
    s->lane_count = lanes;
    s->handles = mem_alloc(s->lane_count * sizeof *s->handles);
    for (uint32_t i = 0; i < s->lane_count; i++)
        s->handles[i] = handle_of_lane(s, 1 + i);
    init_sink(s);
    for (uint32_t i = 0; i < s->lane_count; i++)
        s->handles[i].sink = s->sink.lane;
    ARRAY_PUSH(&slabs, s);
    own_control_words();
    return s;
}

void slab_sign(struct slab *s, taddr_t agent) {
    struct undo_sign *sign = &((struct control_page *)s->local)->sign;
    *sign = (struct undo_sign){.self = s->at, .agent = agent};
    __atomic_store_n(&sign->magic, UNDO_MAGIC, __ATOMIC_RELEASE);
}

struct slab *slab_ref(struct slab *s) {
    s->refs++;
    return s;
}

/* Whether the drainer still reads S for a lane of IN. */
static bool is_read_for(const struct slab *s, struct slab *in) {
    for (struct lane_handle *k = in->handles; k < in->handles + in->lane_count; k++)
        if ((in == s || k->sink == s->sink.lane) &&
            atomic_load_explicit(&k->state, memory_order_acquire) != LANE_FREE)
            return true;
    return false;
}

/* All lanes of a space have one sink, that of its first slab, which is looked at with each lane. */
static bool is_drained(const struct slab *s, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (is_read_for(s, slabs.at[i]))
            return false;
    return true;
}

struct slab *slab_of_another(taddr_t at, size_t size) {
    struct slab *s = mem_alloc(sizeof *s);
    *s = (struct slab){.refs = 1, .size = size, .at = at};
    s->sink.at = at + lane_offset(0, 0);
    return s;
}

void slab_unref(struct slab *s) {
    if (s && !--s->refs && !s->local)
        free(s);
}

static void handle_done(struct lane_handle *handle) {
    ARRAY_FREE(&handle->epochs.notes);
    slice_done(&handle->slice);
    value_slots_done(&handle->values);
    stalls_done(&handle->stalls);
    pauses_done(&handle->pauses);
    free((void *)handle->opened.frames);
}

void slabs_reap(void) {
    size_t kept = 0, all = slabs.count;
    ARRAY(struct slab *) dead = {0};
    for (size_t i = 0; i < all; i++) {
        struct slab *s = slabs.at[i];
        if (s->refs || !is_drained(s, all))
            slabs.at[kept++] = s;
        else
            ARRAY_PUSH(&dead, s);
    }
    slabs.count = kept;
    if (kept != all)
        own_control_words();
    for (size_t i = 0; i < dead.count; i++) {
        unmap_slab(dead.at[i]);
        for (uint32_t k = 0; k < dead.at[i]->lane_count; k++)
            handle_done(&dead.at[i]->handles[k]);
        free(dead.at[i]->handles);
        free(dead.at[i]);
    }
    ARRAY_FREE(&dead);
}

taddr_t slab_frame(const struct slab *s) { return s->at + CONTROL_BYTES + HANDLER_ROOM; }

/* The upper part of the first page. */
taddr_t slab_scratch(const struct slab *s) { return s->at + CONTROL_BYTES - SLAB_SCRATCH_BYTES; }
void *slab_scratch_here(const struct slab *s) {
    return s->local + CONTROL_BYTES - SLAB_SCRATCH_BYTES;
}

taddr_t slab_saved(const struct slab *s, pid_t pid) {
    enum { PLACES = (CONTROL_BYTES - SLAB_SCRATCH_BYTES - SAVED_AT) / SLAB_SAVED_BYTES };
    return s->at + SAVED_AT + (taddr_t)(pid % PLACES) * SLAB_SAVED_BYTES;
}

struct lane_handle *slab_sink(struct slab *s) {
    return &s->sink;
}

uint64_t slab_sink_lost(struct lane_handle *sink) {
    uint64_t all = __atomic_load_n(&sink->lane->head, __ATOMIC_RELAXED) / EVENT_BYTES;
    uint64_t lost = all - sink->lost;
    sink->lost = all;
    return lost;
}

static bool is_free(const struct lane_handle *handle) {
    return atomic_load_explicit(&handle->state, memory_order_acquire) == LANE_FREE;
}

void lane_handle_set_state(struct lane_handle *handle, enum lane_state state) {
    const int before = atomic_load_explicit(&handle->state, memory_order_relaxed);
    assert((int)state == (before == LANE_CLOSING ? LANE_FREE : before + 1));
    atomic_store_explicit(&handle->state, state, memory_order_release);
}

bool slab_has_lane(const struct slab *s) {
    bool any = false;
    for (uint32_t i = 0; i < s->lane_count && !any; i++)
        any = is_free(&s->handles[i]);
    return any;
}

struct lane_handle *slab_take(struct slab *s, uint32_t stream, bool limitless) {
    for (uint32_t i = 0; i < s->lane_count; i++) {
        struct lane_handle *handle = &s->handles[i];
        if (!is_free(handle))
            continue;
        struct lane *lane = handle->lane;
        memset(lane, 0, sizeof *lane);
        kept_calls_begin(handle);
        lane->limit = handle->limit = limitless ? INT64_MAX : s->ring_bytes;
        lane->control = s->at;
        lane->ring_mask = s->ring_bytes - 1;
        handle->stream = stream;
        handle->tail = 0;
        stalls_begin(&handle->stalls);
        slice_forget(&handle->slice);
        handle->values.capture = NULL;
        atomic_store(&handle->shared, false);
        handle->last_clock = clock_ticks(); /* old events in the ring are older */
        pauses_begin(&handle->pauses);
        epochs_begin(&handle->epochs, handle->last_clock);
        return handle;
    }
    return NULL;
}

void lane_handle_note_open(struct lane_handle *handle, struct trace_frames *frames) {
    free((void *)handle->opened.frames);
    handle->opened = *frames;
    *frames = (struct trace_frames){0};
}

void lane_handle_assign(struct lane_handle *handle, const struct trace_thread *thread) {
    handle->thread = *thread;
    snprintf(handle->name, sizeof handle->name, "%s", thread->name);
    handle->thread.name = handle->name;
}

void lane_handle_set_slices(struct lane_handle *handle, uint32_t bytes, struct span stack) {
    struct lane *lane = handle->lane;
    lane->stack_low = stack.start;
    lane->stack_bytes = stack.end - stack.start;
    lane->slice_bytes = bytes;
}

void lane_handle_free(struct lane_handle *handle) {
    struct lane *lane = handle->lane;
    __atomic_store_n(&lane->control, handle->sink->control, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->limit, INT64_MAX, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->hook, 0, __ATOMIC_RELAXED);
    lane_handle_set_state(handle, LANE_FREE);
}

uint64_t lane_handle_wait_since(const struct lane_handle *handle, uint64_t otherwise) {
    struct event begin = {.clock_sp = handle->lane->wait_since};
    return begin.clock_sp ? event_ticks(&begin, clock_ticks()) : otherwise;
}

void lane_handle_end_wait(struct lane_handle *handle, enum pause_cause cause) {
    uint64_t since = lane_handle_wait_since(handle, 0);
    handle->lane->wait_since = 0;
    if (since)
        pauses_add(&handle->pauses,
                   &(struct pause){since, clock_ticks(), PAUSE_EVENT + (uint32_t)cause});
}

/* Above the limit are unread events, which no stub overwrites. */
void lane_handle_forget_begun(struct lane_handle *handle) {
    struct event *ring = (struct event *)((uint8_t *)handle->lane + LANE_RING);
    const uint64_t limit = __atomic_load_n(&handle->lane->limit, __ATOMIC_ACQUIRE);
    const unsigned longest = captures_longest(handle->values.captures);
    const uint64_t size = (longest ? longest : 1) * EVENT_BYTES, head = handle->lane->head;
    for (uint64_t at = head; at < head + size && at < limit; at += EVENT_BYTES)
        __atomic_store_n(&ring[(at & (handle->ring_bytes - 1)) / EVENT_BYTES].clock_sp, 0,
                         __ATOMIC_RELAXED);
}

/* Waits for room for COUNT slots. False: there is none, and the thread would not wait either. */
static bool await_room(const struct lane *lane, size_t count, enum overflow overflow) {
    for (;;) {
        const uint64_t limit = __atomic_load_n(&lane->limit, __ATOMIC_ACQUIRE);
        if (lane->head < limit && limit - lane->head >= count * EVENT_BYTES)
            return true;
        if (overflow == OVERFLOW_DROP)
            return false;
        clock_sleep_ns(50000); /* the drainer may need this processor */
    }
}

/* Writes the slot that is NUMBER slots above the head. */
static void put_slot(struct lane_handle *handle, size_t number, struct event e) {
    uint8_t *ring = (uint8_t *)handle->lane + LANE_RING;
    const uint64_t at = handle->lane->head + number * EVENT_BYTES;
    memcpy(ring + (at & (handle->ring_bytes - 1)), &e, sizeof e);
}

static struct event slot_of(uint64_t ticks, const struct captured_slot *s) {
    if (CAPTURE_WHOLE && s->id - CAPTURE_WORD < CAPTURE_MOST_WORDS)
        return event_of_word(ticks, s->id - CAPTURE_WORD, s->value);
    return event_make(ticks, s->id << 2 | EVENT_CONTROL, s->value);
}

void lane_handle_put_values(struct lane_handle *handle, const struct lane_event *event) {
    struct lane *lane = handle->lane;
    size_t count = event->slot_count;
    if ((count + 1) * EVENT_BYTES > handle->ring_bytes ||
        (count && !await_room(lane, count + 1, event->overflow)))
        count = 0;
    if (!count && !await_room(lane, 1, event->overflow)) {
        lane->lost++;
        return;
    }
    const uint64_t ticks = clock_ticks();
    for (size_t i = 0; i < count; i++)
        put_slot(handle, i, slot_of(ticks, &event->slots[i]));
    put_slot(handle, count, event_make(ticks, event->site, event->sp));
    __atomic_store_n(&lane->head, lane->head + (count + 1) * EVENT_BYTES, __ATOMIC_RELEASE);
}

void lane_handle_put(struct lane_handle *handle, uint32_t site, uint64_t sp,
                     enum overflow overflow) {
    const struct lane_event event = {.site = site, .sp = sp, .overflow = overflow};
    lane_handle_put_values(handle, &event);
}
