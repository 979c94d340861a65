/* The drainer's thread: looks at all lanes, writes their events, and sleeps as long as rings
 * allow. */
#include "ring/drain.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

#include "arch/clock.h"
#include "base/clock.h"
#include "ring/callers.h"
#include "ring/flight.h"
#include "ring/rings.h"
#include "ring/thin.h"

enum {
    NAP_SHORT_NS = 400 * 1000,     /* between looks while there are events */
    NAP_LONG_NS = 4 * 1000 * 1000, /* after IDLE_LOOKS looks without events */
    NAP_WATCH_NS = 1000 * 1000,    /* the same with triggers: a burst must not lap the reader */
    IDLE_LOOKS = 200,
    NAP_LEAST_NS = 30 * 1000,
    TARGET_PERCENT = 40,
    TIMER_SLACK_NS = 1000,
    CLOCK_EVERY_NS = 1000 * 1000 * 1000,
    CHUNK_BYTES = 1 << 18, /* the limit moves at least this often while a full ring is read */
    UNPACK = 512,          /* events written at a time */
};

struct open_calls { /* that a lane's thread had when tracing began */
    struct lane_handle *handle;
    struct trace_frames frames; /* owns its list */
};

struct drain {
    struct drain_options options;
    pthread_t thread;
    pthread_mutex_t lock; /* guards `incoming` and `frames` */
    ARRAY(struct lane_handle *) incoming;
    ARRAY(struct open_calls) frames;
    ARRAY(struct lane_handle *) active; /* drainer only */
    _Atomic bool finish;
    struct chains *chains;
    struct trace_event unpacked[UNPACK]; /* of one lane; empty between pieces */
    size_t unpacked_count;
};

/* Writes the unpacked events, which are of HANDLE's lane. */
static void flush(struct drain *d, struct lane_handle *handle) {
    size_t count = d->unpacked_count;
    d->unpacked_count = 0;
    chains_write_new(d->chains);
    if (handle->thin)
        thin_events(handle->thin, d->unpacked, count);
    else if (count)
        trace_writer_events(d->options.writer, handle->stream, d->unpacked, count);
}

/* Makes room for what callers_pass() may write. */
static inline void reserve(struct drain *d, struct lane_handle *handle) {
    if (d->unpacked_count + CALLERS_EVENTS > UNPACK)
        flush(d, handle);
}

static void unpack_pauses(struct drain *d, struct lane_handle *handle, uint64_t ticks) {
    while (pauses_next(&handle->pauses, ticks, &d->unpacked[d->unpacked_count])) {
        d->unpacked_count++;
        reserve(d, handle);
    }
}

static inline void unpack(struct drain *d, struct lane_handle *handle, struct trace_event event) {
    reserve(d, handle);
    if (pauses_precede(&handle->pauses, event.site >> 2))
        unpack_pauses(d, handle, event.ticks);
    if (!pauses_follow(&handle->pauses, &event))
        return;
    if (handle->callers)
        d->unpacked_count += callers_pass(handle->callers, &handle->slice, d->chains, &event,
                                          d->unpacked + d->unpacked_count);
    else
        d->unpacked[d->unpacked_count++] = event;
}

/* Unpacks events for which there is nothing else to do, for handle->thin. Returns how many of
 * COUNT. */
static size_t unpack_plain(struct drain *d, struct lane_handle *handle, const struct event *at,
                           size_t count, uint64_t latest) {
    struct trace_event *to = d->unpacked + d->unpacked_count;
    uint64_t newest = handle->pauses.newest;
    size_t n = 0, room = UNPACK - d->unpacked_count;
    if (count > room)
        count = room;
    for (; n < count && at[n].site >> 2 != WAIT_EVENT; n++) {
        uint64_t ticks = event_ticks(&at[n], latest);
        newest = ticks > newest ? ticks : newest;
        to[n] = (struct trace_event){newest, at[n].site, event_sp(&at[n])};
    }
    handle->pauses.newest = newest;
    d->unpacked_count += n;
    if (d->unpacked_count == UNPACK)
        flush(d, handle);
    return n;
}

/* The fast path: writes events for which there is nothing else to do, from the ring. Returns how
 * many of COUNT. */
static size_t write_plain(struct drain *d, struct lane_handle *handle, const struct event *at,
                          size_t count, uint64_t latest) {
    if (handle->callers || pauses_wait(&handle->pauses))
        return 0;
    if (handle->thin)
        return unpack_plain(d, handle, at, count, latest);
    flush(d, handle);
    size_t n = trace_writer_ring(d->options.writer, handle->stream, at, count, &latest);
    if (n)
        handle->pauses.newest = latest;
    return n;
}

/* Writes COUNT events at AT, written until LATEST. `shared` is set before another thread can come
 * to a stack of these events. */
static void write_events(struct drain *d, struct lane_handle *handle, const struct event *at,
                         size_t count, uint64_t latest) {
    if (handle->thin && atomic_load(&handle->shared))
        thin_share(handle->thin);
    for (const struct event *e = at, *end = at + count; e < end;) {
        size_t n = write_plain(d, handle, e, (size_t)(end - e), latest);
        e += n;
        if (n || e == end)
            continue;
        unpack(d, handle, (struct trace_event){event_ticks(e, latest), e->site, event_sp(e)});
        e++;
    }
    flush(d, handle);
    handle->last_clock = event_ticks(&at[count - 1], latest);
}

static void write_lost(struct drain *d, struct lane_handle *handle, uint64_t ticks,
                       uint64_t count) {
    if (handle->thin)
        thin_lost(handle->thin, ticks, count);
    else
        trace_writer_lost(d->options.writer, handle->stream, ticks, count);
}

/* Writes the gaps up to position END, up to which all events are written. */
static void write_gaps(struct drain *d, struct lane_handle *handle, uint64_t end) {
    for (const struct stall *gap; (gap = stalls_first_gap(&handle->stalls)) && gap->at <= end;) {
        uint64_t newest = handle->pauses.newest;
        write_lost(d, handle, newest ? newest : handle->last_clock, gap->lost);
        stalls_remove_first_gap(&handle->stalls);
    }
}

/* The thread has come to LIMIT, and lost events there, if its lane says so now. */
static void look_for_losses(struct lane_handle *handle, uint64_t limit) {
    uint64_t lost = __atomic_load_n(&handle->lane->lost, __ATOMIC_ACQUIRE);
    uint64_t head = __atomic_load_n(&handle->lane->head, __ATOMIC_ACQUIRE);
    stalls_look(&handle->stalls, limit, lost, head);
}

static void move_limit(struct lane_handle *handle, uint64_t limit) {
    uint64_t before = handle->limit;
    handle->limit = limit;
    __atomic_store_n(&handle->lane->limit, limit, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    look_for_losses(handle, before);
}

/* The ring was empty for long: next events are compared with a younger clock. It leaves some time,
 * as a stub may have read its clock a while ago. */
static void refresh_last_clock(struct lane_handle *handle) {
    uint64_t now = clock_ticks();
    if (now - handle->last_clock > EPOCH_TICKS)
        handle->last_clock = now - EPOCH_TICKS / 2;
}

/* The ring was overwritten: events that it does not hold any more were lost before its first
 * event. */
static void skip_overwritten(struct drain *d, struct lane_handle *handle, uint64_t head,
                             uint64_t slice_slots) {
    uint64_t oldest = ring_oldest(handle, head), ticks = clock_ticks();
    if (oldest <= handle->tail)
        return;
    if (oldest < head)
        ticks = event_ticks(&ring_of(handle)[(oldest & (handle->ring_bytes - 1)) / EVENT_BYTES],
                            epochs_of(&handle->epochs, oldest).ticks);
    uint64_t lost = ring_events_before(handle, oldest, head, slice_slots);
    pauses_forget_before(&handle->pauses, ticks);
    if (lost)
        write_lost(d, handle, ticks, lost);
    handle->tail = oldest;
}

/* The target may write anything into the lane. If no thread can have come to HEAD, takes HEAD as it
 * is and counts the ring's events as lost. */
static uint64_t check_head(struct drain *d, struct lane_handle *handle, uint64_t head,
                           uint32_t ring_bytes) {
    if (head - handle->tail > ring_bytes) {
        handle->tail = head;
        move_limit(handle, head + ring_bytes);
        stalls_forget(&handle->stalls);
        write_lost(d, handle, clock_ticks(), ring_bytes / EVENT_BYTES);
    }
    return head;
}

/* Notes the time of a ring that is not read yet. */
static void note_epoch(struct lane_handle *handle) {
    uint64_t head = __atomic_load_n(&handle->lane->head, __ATOMIC_ACQUIRE) & ~(uint64_t)15;
    epochs_note(&handle->epochs, head, clock_ticks() + SKEW_TICKS);
}

/* How many bytes to read at the tail, at once: up to END, the next gap, or the ring's end. */
static uint64_t next_piece(const struct lane_handle *handle, uint64_t end) {
    const struct stall *gap = stalls_first_gap(&handle->stalls);
    uint64_t to_wrap = handle->ring_bytes - (handle->tail & (handle->ring_bytes - 1));
    uint64_t n = (gap && gap->at < end ? gap->at : end) - handle->tail;
    if (n > to_wrap)
        n = to_wrap;
    return n > CHUNK_BYTES ? CHUNK_BYTES : n;
}

/* Reads all events of the lane; returns in percent how full the ring was. */
static unsigned drain_lane(struct drain *d, struct lane_handle *handle, uint32_t ring_bytes,
                           bool limitless) {
    uint64_t slice_slots = __atomic_load_n(&handle->lane->slice_slots, __ATOMIC_ACQUIRE);
    uint64_t head = ring_head(handle, handle->tail, handle->last_clock);
    struct epoch epoch = {head, clock_ticks() + SKEW_TICKS};
    pauses_take(&handle->pauses);
    if (limitless) {
        epochs_note(&handle->epochs, epoch.head, epoch.ticks);
        skip_overwritten(d, handle, head, slice_slots);
    } else if (head == handle->tail) {
        refresh_last_clock(handle);
    } else {
        head = check_head(d, handle, head, ring_bytes);
        epoch.head = head;
    }
    if (!limitless) {
        look_for_losses(handle, handle->limit);
        stalls_pass(&handle->stalls, head);
    }
    uint64_t fill = head - handle->tail;
    while (handle->tail < head) {
        write_gaps(d, handle, handle->tail);
        uint64_t at = handle->tail & (ring_bytes - 1);
        if (limitless)
            epoch = epochs_of(&handle->epochs, handle->tail);
        uint64_t n = next_piece(handle, epoch.head < head ? epoch.head : head);
        write_events(d, handle, ring_of(handle) + at / EVENT_BYTES, n / EVENT_BYTES, epoch.ticks);
        handle->tail += n;
        if (!limitless)
            move_limit(handle, handle->tail + ring_bytes);
    }
    return (unsigned)(fill * 100 / ring_bytes) + (fill != 0);
}

/* Applies the open calls that the tracer has found meanwhile. */
static void take_frames(struct drain *d) {
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->frames.count; i++) {
        struct open_calls *calls = &d->frames.at[i];
        bool same = calls->handle->stream == calls->frames.stream;
        if (same && calls->handle->thin)
            thin_frames(calls->handle->thin, &calls->frames);
        if (same && d->options.flight)
            lane_handle_note_open(calls->handle, &calls->frames);
        free((void *)calls->frames.frames);
    }
    d->frames.count = 0;
    pthread_mutex_unlock(&d->lock);
}

static void write_pauses_left(struct drain *d, struct lane_handle *handle) {
    pauses_take(&handle->pauses);
    while (pauses_next_left(&handle->pauses, &d->unpacked[d->unpacked_count])) {
        d->unpacked_count++;
        reserve(d, handle);
    }
    flush(d, handle);
}

/* Open calls for the lane came before it was closed. Once freed, the handle may vanish. */
static void retire(struct drain *d, struct lane_handle *handle) {
    take_frames(d);
    flight_retire(d->options.flight, handle);
    write_gaps(d, handle, UINT64_MAX);
    write_pauses_left(d, handle);
    if (handle->thin)
        thin_free(handle->thin, handle->end_ticks);
    handle->thin = NULL;
    trace_writer_thread_end(d->options.writer, handle->stream, handle->end_ticks);
    callers_unref(handle->callers);
    handle->callers = NULL;
    lane_handle_free(handle);
}

static void take_incoming(struct drain *d) {
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->incoming.count; i++)
        ARRAY_PUSH(&d->active, d->incoming.at[i]);
    d->incoming.count = 0;
    pthread_mutex_unlock(&d->lock);
    take_frames(d);
}

static void wake_tracer(struct drain *d) {
    uint64_t one = 1;
    ssize_t n = write(d->options.hook_event, &one, sizeof one);
    (void)n;
}

static bool awaits_frames(const struct lane_handle *handle) {
    return handle->thin && thin_holds(handle->thin);
}

/* Looks once at every lane; returns in percent how full the fullest ring was (0: no events). */
static unsigned look_at_lanes(struct drain *d) {
    bool overwrite = d->options.overflow == OVERFLOW_OVERWRITE;
    size_t kept = 0;
    bool hook = false;
    take_incoming(d);
    unsigned fullest = flight_look(d->options.flight, d->active.at, d->active.count);
    for (size_t i = 0; i < d->active.count; i++) {
        struct lane_handle *handle = d->active.at[i];
        int state = atomic_load_explicit(&handle->state, memory_order_acquire);
        unsigned fill = 0;
        if (overwrite)
            note_epoch(handle);
        if (!overwrite || state == LANE_CLOSING)
            fill = drain_lane(d, handle, handle->ring_bytes, overwrite);
        if (fill > fullest)
            fullest = fill;
        hook |= state == LANE_ACTIVE && (__atomic_load_n(&handle->lane->hook, __ATOMIC_RELAXED) ||
                                         __atomic_load_n(&handle->sink->hook, __ATOMIC_RELAXED));
        if (state == LANE_CLOSING && (!awaits_frames(handle) || atomic_load(&d->finish)))
            retire(d, handle);
        else
            d->active.at[kept++] = handle;
    }
    d->active.count = kept;
    flight_settle(d->options.flight, d->active.at, kept);
    if (hook)
        wake_tracer(d);
    return fullest;
}

/*
 * Sleeps until the ring that fills fastest should be at TARGET_PERCENT: FULLEST percent came in the
 * last PERIOD_NS. Does not sleep for less than NAP_LEAST_NS.
 */
static void nap(const struct drain *d, unsigned idle, unsigned fullest, uint64_t period_ns) {
    uint64_t longest = flight_watches(d->options.flight) ? NAP_WATCH_NS : NAP_LONG_NS;
    uint64_t ns = idle < IDLE_LOOKS ? NAP_SHORT_NS : longest;
    if (fullest && period_ns * TARGET_PERCENT / fullest < ns)
        ns = period_ns * TARGET_PERCENT / fullest;
    if (ns >= NAP_LEAST_NS)
        clock_sleep_ns(ns);
}

static void *run(void *arg) {
    struct drain *d = arg;
    uint64_t last = clock_monotonic_ns(), next_clock = last + CLOCK_EVERY_NS;
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    for (unsigned idle = 0;;) {
        bool finish = atomic_load(&d->finish);
        uint64_t period = clock_monotonic_ns() - last;
        last += period;
        unsigned fullest = look_at_lanes(d);
        idle = fullest ? 0 : idle + 1;
        if (finish && d->active.count == 0 && d->incoming.count == 0)
            return NULL;
        uint64_t ns = clock_monotonic_ns();
        if (ns >= next_clock) {
            trace_writer_clock(d->options.writer, &(struct trace_clock){clock_ticks(), ns});
            trace_writer_flush(d->options.writer);
            next_clock = ns + CLOCK_EVERY_NS;
        }
        if (!finish)
            nap(d, idle, fullest, period);
    }
}

int drain_start(const struct drain_options *options, struct drain **ret, struct err *err) {
    struct drain *d = mem_alloc(sizeof *d);
    d->options = *options;
    d->chains = chains_new(options->writer);
    pthread_mutex_init(&d->lock, NULL);
    int rc = pthread_create(&d->thread, NULL, run, d);
    if (rc) {
        chains_free(d->chains);
        free(d);
        return err_set(err, rc, "thread", "cannot start a thread: %s", strerror(rc));
    }
    *ret = d;
    return 0;
}

void drain_add(struct drain *d, struct lane_handle *handle) {
    atomic_store_explicit(&handle->state, LANE_ACTIVE, memory_order_release);
    pthread_mutex_lock(&d->lock);
    ARRAY_PUSH(&d->incoming, handle);
    pthread_mutex_unlock(&d->lock);
}

void drain_add_running(struct drain *d, struct lane_handle *handle) {
    if (handle->thin)
        thin_hold(handle->thin);
    drain_add(d, handle);
}

void drain_frames(struct drain *d, struct lane_handle *handle, const struct trace_frames *frames) {
    if (!handle->thin)
        trace_writer_frames(d->options.writer, frames);
    if (!handle->thin && !d->options.flight)
        return;
    struct open_calls calls = {handle, *frames};
    struct trace_frame *copy = mem_alloc(frames->count * sizeof *copy);
    if (frames->count)
        memcpy(copy, frames->frames, frames->count * sizeof *copy);
    calls.frames.frames = copy;
    pthread_mutex_lock(&d->lock);
    ARRAY_PUSH(&d->frames, calls);
    pthread_mutex_unlock(&d->lock);
}

void drain_close(struct drain *d, struct lane_handle *handle, uint64_t ticks) {
    (void)d;
    handle->end_ticks = ticks;
    atomic_store_explicit(&handle->state, LANE_CLOSING, memory_order_release);
}

void drain_finish(struct drain *d) {
    if (!d)
        return;
    atomic_store(&d->finish, true);
    pthread_join(d->thread, NULL);
    pthread_mutex_destroy(&d->lock);
    ARRAY_FREE(&d->incoming);
    ARRAY_FREE(&d->frames);
    ARRAY_FREE(&d->active);
    chains_free(d->chains);
    free(d);
}
