#include "ring/drain.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "arch/clock.h"
#include "ring/callers.h"
#include "ring/flight.h"
#include "ring/rings.h"
#include "ring/thin.h"

enum {
    NAP_SHORT_NS = 400 * 1000,     /* between looks while there is work */
    NAP_LONG_NS = 4 * 1000 * 1000, /* after IDLE_LOOKS in vain */
    NAP_WATCH_NS =
        1000 * 1000, /* instead, while triggers are looked for: a burst must not lap the reader */
    IDLE_LOOKS = 200,
    NAP_LEAST_NS = 30 * 1000,
    TARGET_PERCENT = 40,
    TIMER_SLACK_NS = 1000,
    CLOCK_EVERY_NS = 1000 * 1000 * 1000,
    CHUNK_BYTES = 1 << 18, /* the limit moves at least this often while a full ring is read */
    UNPACK = 512,          /* events that are unpacked at a time */
};

struct handed { /* what a slot's thread had open */
    struct lane_handle *handle;
    struct trace_frames frames; /* owns its list */
};

struct drain {
    struct drain_options options;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what is incoming */
    ARRAY(struct lane_handle *) incoming;
    ARRAY(struct handed) frames;        /* also incoming */
    ARRAY(struct lane_handle *) active; /* drainer only */
    _Atomic bool finish;
    struct chains *chains;
    struct trace_event unpacked[UNPACK];
};

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* COUNT slots, at most UNPACK / CALLERS_EVENTS, as events: returns how many. */
static size_t unpack(struct drain *d, struct lane_handle *s, const struct event *at, size_t count,
                     uint64_t latest) {
    size_t n = 0;
    for (const struct event *e = at; e < at + count; e++) {
        struct trace_event event = {event_ticks(e, latest), e->site, event_sp(e)};
        if (s->callers)
            n += callers_pass(s->callers, &s->slice, d->chains, &event, d->unpacked + n);
        else
            d->unpacked[n++] = event;
    }
    return n;
}

/* COUNT events from AT on, written until LATEST. Before another thread comes to a stack that they
 * tell of, it is known that there is one. */
static void put(struct drain *d, struct lane_handle *s, const struct event *at, size_t count,
                uint64_t latest) {
    if (s->thin && atomic_load(&s->shared))
        thin_share(s->thin);
    for (size_t n, made; count; count -= n, at += n) {
        n = count < UNPACK / CALLERS_EVENTS ? count : UNPACK / CALLERS_EVENTS;
        made = unpack(d, s, at, n, latest);
        chains_tell(d->chains);
        if (s->thin)
            thin_events(s->thin, d->unpacked, made);
        else if (made)
            trace_writer_events(d->options.writer, s->stream, d->unpacked, made);
        s->last_clock = event_ticks(&at[n - 1], latest);
    }
}

static void report_lost(struct drain *d, struct lane_handle *s, uint64_t ticks, uint64_t lost) {
    if (lost > s->lost && s->thin)
        thin_lost(s->thin, ticks, lost - s->lost);
    else if (lost > s->lost)
        trace_writer_lost(d->options.writer, s->stream, ticks, lost - s->lost);
    s->lost = lost;
}

/* The ring has been empty for long: what comes is compared with something younger. It may have read
 * its clock some time ago. */
static void stay_near(struct lane_handle *s) {
    uint64_t now = clock_ticks();
    if (now - s->last_clock > EPOCH_TICKS)
        s->last_clock = now - EPOCH_TICKS / 2;
}

/* The ring went round unread (overwrite): what it no longer holds was lost before the first event
 * that it does. */
static void skip_overwritten(struct drain *d, struct lane_handle *s, uint64_t head,
                             uint64_t slots) {
    uint64_t oldest = ring_oldest(s, head), ticks = clock_ticks();
    if (oldest <= s->tail)
        return;
    if (oldest < head)
        ticks = event_ticks(&ring_of(s)[(oldest & (s->ring_bytes - 1)) / EVENT_BYTES],
                            epochs_of(&s->epochs, oldest).ticks);
    report_lost(d, s, ticks, s->lost + ring_events_before(s, oldest, head, slots));
    s->tail = oldest;
}

/* The lane belongs to the target, which may have written anything there. A head where no thread can
 * have come is taken as it is, so that things go on; what the ring holds is lost. */
static uint64_t check_head(struct drain *d, struct lane_handle *s, uint64_t head,
                           uint32_t ring_bytes) {
    if (head - s->tail > ring_bytes) {
        s->tail = head;
        __atomic_store_n(&s->lane->limit, head + ring_bytes, __ATOMIC_RELEASE);
        report_lost(d, s, clock_ticks(), s->lost + ring_bytes / EVENT_BYTES);
    }
    return head;
}

/* Remembers when a ring that is not read yet was written. */
static void look_on(struct lane_handle *s) {
    uint64_t head = __atomic_load_n(&s->lane->head, __ATOMIC_ACQUIRE) & ~(uint64_t)15;
    epochs_look(&s->epochs, head, clock_ticks() + SKEW_TICKS);
}

/* Reads what is there; returns how full the ring was, in percent. */
static unsigned drain_slot(struct drain *d, struct lane_handle *s, uint32_t ring_bytes,
                           bool limitless) {
    uint64_t slots = __atomic_load_n(&s->lane->slice_slots, __ATOMIC_ACQUIRE);
    uint64_t head = ring_head(s, s->tail, s->last_clock);
    struct epoch epoch = {head, clock_ticks() + SKEW_TICKS};
    if (limitless) {
        epochs_look(&s->epochs, epoch.head, epoch.ticks);
        skip_overwritten(d, s, head, slots);
    } else if (head == s->tail) {
        stay_near(s);
    } else {
        head = check_head(d, s, head, ring_bytes);
        epoch.head = head;
    }
    uint64_t fill = head - s->tail;
    while (s->tail < head) {
        uint64_t at = s->tail & (ring_bytes - 1);
        uint64_t n = head - s->tail;
        if (n > ring_bytes - at)
            n = ring_bytes - at;
        if (n > CHUNK_BYTES)
            n = CHUNK_BYTES;
        if (limitless)
            epoch = epochs_of(&s->epochs, s->tail);
        if (n > epoch.head - s->tail)
            n = epoch.head - s->tail;
        put(d, s, ring_of(s) + at / EVENT_BYTES, n / EVENT_BYTES, epoch.ticks);
        s->tail += n;
        if (!limitless)
            __atomic_store_n(&s->lane->limit, s->tail + ring_bytes, __ATOMIC_RELEASE);
    }
    if (!limitless)
        report_lost(d, s, clock_ticks(), __atomic_load_n(&s->lane->lost, __ATOMIC_RELAXED));
    return (unsigned)(fill * 100 / ring_bytes) + (fill != 0);
}

/* What threads had open, which the tracer has found out meanwhile. */
static void take_frames(struct drain *d) {
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->frames.count; i++) {
        struct handed *h = &d->frames.at[i];
        bool same = h->handle->stream == h->frames.stream;
        if (same && h->handle->thin)
            thin_frames(h->handle->thin, &h->frames);
        if (same && d->options.flight)
            lane_handle_note_open(h->handle, &h->frames);
        free((void *)h->frames.frames);
    }
    d->frames.count = 0;
    pthread_mutex_unlock(&d->lock);
}

/* What is handed over for S was so before its lane was closed; once it is free it may vanish. */
static void retire(struct drain *d, struct lane_handle *s) {
    take_frames(d);
    flight_retire(d->options.flight, s);
    if (s->thin)
        thin_free(s->thin, s->end_ticks);
    s->thin = NULL;
    trace_writer_thread_end(d->options.writer, s->stream, s->end_ticks);
    callers_unref(s->callers);
    s->callers = NULL;
    lane_handle_free(s);
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

static bool awaits_frames(const struct lane_handle *s) { return s->thin && thin_holds(s->thin); }

/* One look at every lane; returns how full the fullest ring was, in percent (0: nothing new). */
static unsigned look(struct drain *d) {
    bool overwrite = d->options.overflow == OVERFLOW_OVERWRITE;
    size_t kept = 0;
    bool hook = false;
    take_incoming(d);
    unsigned fullest = flight_look(d->options.flight, d->active.at, d->active.count);
    for (size_t i = 0; i < d->active.count; i++) {
        struct lane_handle *s = d->active.at[i];
        int state = atomic_load_explicit(&s->state, memory_order_acquire);
        unsigned fill = 0;
        if (overwrite)
            look_on(s);
        if (!overwrite || state == LANE_CLOSING)
            fill = drain_slot(d, s, s->ring_bytes, overwrite);
        if (fill > fullest)
            fullest = fill;
        hook |= state == LANE_ACTIVE && (__atomic_load_n(&s->lane->hook, __ATOMIC_RELAXED) ||
                                         __atomic_load_n(&s->sink->hook, __ATOMIC_RELAXED));
        if (state == LANE_CLOSING && (!awaits_frames(s) || atomic_load(&d->finish)))
            retire(d, s);
        else
            d->active.at[kept++] = s;
    }
    d->active.count = kept;
    flight_settle(d->options.flight, d->active.at, kept);
    if (hook)
        wake_tracer(d);
    return fullest;
}

/*
 * Sleeps until the ring that fills fastest is expected to be at TARGET_PERCENT: FULLEST percent
 * came in the last PERIOD_NS. Too short a sleep is none.
 */
static void nap(const struct drain *d, unsigned idle, unsigned fullest, uint64_t period_ns) {
    uint64_t longest = flight_watches(d->options.flight) ? NAP_WATCH_NS : NAP_LONG_NS;
    uint64_t ns = idle < IDLE_LOOKS ? NAP_SHORT_NS : longest;
    if (fullest && period_ns * TARGET_PERCENT / fullest < ns)
        ns = period_ns * TARGET_PERCENT / fullest;
    struct timespec t = {0, (long)ns};
    if (ns >= NAP_LEAST_NS)
        nanosleep(&t, NULL);
}

static void *run(void *arg) {
    struct drain *d = arg;
    uint64_t last = now_ns(), next_clock = last + CLOCK_EVERY_NS;
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    for (unsigned idle = 0;;) {
        bool finish = atomic_load(&d->finish);
        uint64_t period = now_ns() - last;
        last += period;
        unsigned fullest = look(d);
        idle = fullest ? 0 : idle + 1;
        if (finish && d->active.count == 0 && d->incoming.count == 0)
            return NULL;
        uint64_t ns = now_ns();
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
    struct handed h = {handle, *frames};
    struct trace_frame *copy = mem_alloc(frames->count * sizeof *copy);
    if (frames->count)
        memcpy(copy, frames->frames, frames->count * sizeof *copy);
    h.frames.frames = copy;
    pthread_mutex_lock(&d->lock);
    ARRAY_PUSH(&d->frames, h);
    pthread_mutex_unlock(&d->lock);
}

void drain_close(struct drain *d, struct lane_handle *handle) {
    (void)d;
    handle->end_ticks = clock_ticks();
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
