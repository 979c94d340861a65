/* The drainers: threads that look at all lanes, write their events, and rest as long as rings
 * allow. */
#include "ring/drain.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "arch/clock.h"
#include "base/clock.h"
#include "ring/callers.h"
#include "ring/conditions.h"
#include "ring/flight.h"
#include "ring/lane_reader.h"
#include "ring/pace.h"
#include "ring/rings.h"
#include "ring/thin.h"
#include "ring/within.h"
#include "target/timing.h"

enum {
    MOST_DRAINERS = 32,
    MOST_WITH_PRIORITY = 8,
    LANES_OF_ONE = 2, /* of a drainer without priority */
    REST_LEAST_NS = 400 * 1000,
    REST_MOST_NS = 4 * 1000 * 1000,
    REST_SPARE_NS = 10 * 1000 * 1000,
    REST_WATCH_NS = 1000 * 1000, /* with triggers: a burst must not lap the reader */
    BYTES_PER_US = 1600,         /* a thread hardly writes more */
    CLOCK_EVERY_NS = 1000 * 1000 * 1000,
};

struct open_calls { /* that a lane's thread had when tracing began */
    struct lane_handle *handle;
    struct trace_frames frames; /* owns its list */
};

struct drainer {
    const struct drain_options *options;
    struct drain *all;
    struct flight *flight; /* NULL: rings are not overwritten */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the fields up to `looked` */
    ARRAY(struct lane_handle *) incoming;
    ARRAY(struct open_calls) frames;
    struct timing looked; /* when the last look at all lanes, which has ended, began */
    bool writes_clock;
    bool is_spare; /* it is there since drainers lack priority */
    _Atomic bool finish;
    _Atomic size_t lanes; /* incoming and active ones */
    /* Only the thread uses these. */
    ARRAY(struct lane_handle *) active;
    struct lane_reader *reader;
    struct pace pace;
    const struct lane_handle *fullest; /* of the present look; NULL: all rings were empty */
    unsigned percent;                  /* how full it was */
};

/* A new lane goes to the drainer with the fewest lanes. A drainer is started when all others have a
 * lane, up to one for each two processors.
 *
 * If drainers may not be realtime threads, they get as much of the processors as any other thread.
 * Of one drainer and 64 busy threads that is a 65th, and the threads wait for it most of the time.
 * So there is one for each two lanes then. */
struct drain {
    struct drain_options options;
    struct drainer *drainers[MOST_DRAINERS];
    _Atomic unsigned count;
    unsigned most;
    sem_t begun; /* the first drainer knows … */
    bool lacks_priority;
};

/* Applies the open calls that the tracer has found meanwhile. */
static void take_frames(struct drainer *d) {
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->frames.count; i++) {
        struct open_calls *calls = &d->frames.at[i];
        bool same = calls->handle->stream == calls->frames.stream;
        if (same && calls->handle->within)
            within_frames(calls->handle->within, &calls->frames);
        if (same && calls->handle->within && !calls->handle->thin)
            trace_writer_frames(d->options->writer, &calls->frames);
        if (same && calls->handle->thin)
            thin_frames(calls->handle->thin, &calls->frames);
        if (same && d->flight)
            lane_handle_note_open(calls->handle, &calls->frames);
        free((void *)calls->frames.frames);
    }
    d->frames.count = 0;
    pthread_mutex_unlock(&d->lock);
}

/* Open calls for the lane came before it was closed. Once freed, the handle may vanish. */
static void retire(struct drainer *d, struct lane_handle *handle) {
    take_frames(d);
    flight_retire(d->flight, handle);
    lane_reader_end(d->reader, handle);
    if (handle->thin)
        thin_free(handle->thin, handle->end_ticks);
    handle->thin = NULL;
    within_free(handle->within);
    handle->within = NULL;
    call_judge_free(handle->judge);
    handle->judge = NULL;
    trace_writer_thread_end(d->options->writer, handle->stream, handle->end_ticks);
    callers_unref(handle->callers);
    handle->callers = NULL;
    lane_handle_free(handle);
    d->lanes--;
}

static void take_incoming(struct drainer *d) {
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->incoming.count; i++)
        ARRAY_PUSH(&d->active, d->incoming.at[i]);
    d->incoming.count = 0;
    pthread_mutex_unlock(&d->lock);
    take_frames(d);
}

static void wake_tracer(struct drainer *d) {
    uint64_t one = 1;
    ssize_t n = write(d->options->hook_event, &one, sizeof one);
    (void)n;
}

static bool awaits_frames(const struct lane_handle *handle) {
    return handle->thin && thin_holds(handle->thin);
}

/* Notes the time of a ring that is not read yet. */
static void note_epoch(struct lane_handle *handle) {
    uint64_t head = __atomic_load_n(&handle->lane->head, __ATOMIC_ACQUIRE) & ~(uint64_t)15;
    epochs_note(&handle->epochs, head, clock_ticks() + SKEW_TICKS);
}

/* Reads HANDLE's lane. */
static void look_at_lane(struct drainer *d, struct lane_handle *handle, int state) {
    bool overwrite = d->options->overflow == OVERFLOW_OVERWRITE;
    if (overwrite)
        note_epoch(handle);
    if (overwrite && state != LANE_CLOSING)
        return;
    uint64_t before = clock_ticks() - SKEW_TICKS;
    unsigned percent = lane_reader_read(d->reader, handle);
    if (handle->thin)
        thin_pass(handle->thin, before);
    d->pace.busy += percent > 0;
    if (percent <= d->percent)
        return;
    d->percent = percent;
    d->fullest = handle;
}

static bool hook_waits(const struct lane_handle *handle) {
    return __atomic_load_n(&handle->lane->hook, __ATOMIC_RELAXED) ||
           __atomic_load_n(&handle->sink->hook, __ATOMIC_RELAXED);
}

/* Looks once at every lane. */
static void look_at_lanes(struct drainer *d) {
    size_t kept = 0;
    bool hook = false;
    take_incoming(d);
    d->fullest = NULL;
    d->percent = flight_look(d->flight, d->active.at, d->active.count);
    for (size_t i = 0; i < d->active.count; i++) {
        struct lane_handle *handle = d->active.at[i];
        int state = atomic_load_explicit(&handle->state, memory_order_acquire);
        look_at_lane(d, handle, state);
        hook |= state == LANE_ACTIVE && hook_waits(handle);
        if (state != LANE_CLOSING || (awaits_frames(handle) && !atomic_load(&d->finish))) {
            d->active.at[kept++] = handle;
            continue;
        }
        if (d->fullest == handle)
            d->fullest = NULL;
        retire(d, handle);
    }
    d->active.count = kept;
    flight_settle(d->flight, d->active.at, kept);
    if (hook)
        wake_tracer(d);
}

/* How long to rest at most when rings are empty: a thread that wakes up must not fill its ring
 * meanwhile. But 32 drainers of an idle program would take a fifth of a processor. */
static uint64_t longest_rest(const struct drainer *d) {
    uint64_t ns = REST_MOST_NS;
    if (d->is_spare && pace_is_idle(&d->pace))
        return REST_SPARE_NS;
    if (flight_watches(d->flight))
        return REST_WATCH_NS;
    for (size_t i = 0; i < d->active.count; i++) {
        uint64_t fills = (uint64_t)d->active.at[i]->ring_bytes * 1000 / BYTES_PER_US;
        ns = fills < ns ? fills : ns;
    }
    return ns < REST_LEAST_NS ? REST_LEAST_NS : ns;
}

static void note_look(struct drainer *d, struct timing began) {
    pthread_mutex_lock(&d->lock);
    d->looked = began;
    pthread_mutex_unlock(&d->lock);
}

/* The time up to which all drainers have read their lanes. */
static struct timing read_until(const struct drainer *own) {
    struct timing least = own->looked;
    for (unsigned i = 0, count = own->all->count; i < count; i++) {
        struct drainer *d = own->all->drainers[i];
        pthread_mutex_lock(&d->lock);
        if (d->looked.ns < least.ns)
            least = d->looked;
        pthread_mutex_unlock(&d->lock);
    }
    return least;
}

/* Once a second. Views that follow take the events before a clock as written by the next one, so
 * the drainer that is latest gives the time. */
static void write_clock(const struct drainer *d) {
    struct timing until = read_until(d);
    trace_writer_clock(d->options->writer, &(struct trace_clock){until.ticks, until.ns});
    trace_writer_flush(d->options->writer);
}

static void begin_parts(const struct drainer *d) {
    struct timing until = read_until(d);
    trace_writer_turn(d->options->writer, &(struct trace_clock){until.ticks, until.ns});
}

static void *run(void *arg) {
    struct drainer *d = arg;
    bool writes_clock = d->writes_clock, awaited = d->options->overflow != OVERFLOW_OVERWRITE;
    pace_begin(&d->pace, awaited);
    if (writes_clock) {
        d->all->lacks_priority = awaited && !d->pace.may_be_urgent;
        sem_post(&d->all->begun);
    }
    for (uint64_t next_clock = d->pace.look_ns + CLOCK_EVERY_NS;;) {
        bool finish = atomic_load(&d->finish);
        struct timing began = timing_now();
        pace_look(&d->pace);
        look_at_lanes(d);
        note_look(d, began);
        if (finish && d->active.count == 0 && d->incoming.count == 0)
            return NULL;
        if (writes_clock && d->pace.look_ns >= next_clock) {
            write_clock(d);
            next_clock = d->pace.look_ns + CLOCK_EVERY_NS;
        }
        if (writes_clock && d->options->cut)
            begin_parts(d);
        if (!finish)
            pace_rest(&d->pace, d->fullest, d->percent, longest_rest(d));
    }
}

/* ---- the tracer's side ---- */

static void drainer_free(struct drainer *d) {
    pthread_mutex_destroy(&d->lock);
    ARRAY_FREE(&d->incoming);
    ARRAY_FREE(&d->frames);
    ARRAY_FREE(&d->active);
    lane_reader_free(d->reader);
    free(d);
}

/* Starts another drainer. Returns an error number. */
static int start(struct drain *d) {
    struct drainer *new = mem_alloc(sizeof *new);
    new->options = &d->options;
    new->all = d;
    new->looked = timing_now();
    new->flight = d->options.overflow == OVERFLOW_OVERWRITE ? d->options.flight : NULL;
    new->writes_clock = !d->count;
    new->is_spare = d->count >= d->most;
    new->reader = lane_reader_new(d->options.writer, d->options.overflow, &new->pace);
    pthread_mutex_init(&new->lock, NULL);
    int rc = pthread_create(&new->thread, NULL, run, new);
    if (rc) {
        drainer_free(new);
        return rc;
    }
    d->drainers[d->count] = new;
    d->count++;
    return 0;
}

/* How many drainers are useful if they have priority: one for each two processors. */
static unsigned useful_drainers(const struct drain_options *options) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned most = options->most ? options->most : processors < 4 ? 1 : (unsigned)processors / 2;
    if (options->overflow == OVERFLOW_OVERWRITE)
        most = 1; /* a snapshot is of all lanes together */
    return most < MOST_WITH_PRIORITY ? most : MOST_WITH_PRIORITY;
}

int drain_start(const struct drain_options *options, struct drain **ret, struct err *err) {
    struct drain *d = mem_alloc(sizeof *d);
    d->options = *options;
    d->most = useful_drainers(options);
    sem_init(&d->begun, 0, 0);
    int rc = start(d);
    if (rc) {
        sem_destroy(&d->begun);
        free(d);
        return err_set(err, rc, "thread", "cannot start a thread: %s", strerror(rc));
    }
    *ret = d;
    return 0;
}

static bool lack_priority(struct drain *d) {
    while (sem_wait(&d->begun) < 0) /* interrupted */
        ;
    sem_post(&d->begun);
    return d->lacks_priority;
}

/* Whether to start another drainer for a new lane, if each has LANES or more. */
static bool is_another_useful(struct drain *d, size_t lanes) {
    if (lanes && d->count < d->most)
        return true;
    return lanes >= LANES_OF_ONE && !d->options.most && d->count < MOST_DRAINERS &&
           lack_priority(d);
}

/* The number of the drainer that is to read HANDLE's lane. */
static unsigned choose(struct drain *d, const struct lane_handle *handle) {
    unsigned best = 0;
    if (handle->callers) /* they need the same reader */
        return 0;
    for (unsigned i = 1; i < d->count; i++)
        if (d->drainers[i]->lanes < d->drainers[best]->lanes)
            best = i;
    if (!is_another_useful(d, d->drainers[best]->lanes) || start(d))
        return best;
    return d->count - 1;
}

void drain_add(struct drain *d, struct lane_handle *handle) {
    handle->drainer = choose(d, handle);
    struct drainer *to = d->drainers[handle->drainer];
    to->lanes++;
    lane_handle_set_state(handle, LANE_ACTIVE);
    pthread_mutex_lock(&to->lock);
    ARRAY_PUSH(&to->incoming, handle);
    pthread_mutex_unlock(&to->lock);
}

void drain_add_running(struct drain *d, struct lane_handle *handle) {
    if (handle->thin)
        thin_hold(handle->thin);
    drain_add(d, handle);
}

void drain_frames(struct drain *d, struct lane_handle *handle, const struct trace_frames *frames) {
    bool direct = !handle->thin && !handle->within;
    if (direct)
        trace_writer_frames(d->options.writer, frames);
    if (direct && !d->options.flight)
        return;
    struct open_calls calls = {handle, *frames};
    struct trace_frame *copy = mem_alloc(frames->count * sizeof *copy);
    if (frames->count)
        memcpy(copy, frames->frames, frames->count * sizeof *copy);
    calls.frames.frames = copy;
    struct drainer *to = d->drainers[handle->drainer];
    pthread_mutex_lock(&to->lock);
    ARRAY_PUSH(&to->frames, calls);
    pthread_mutex_unlock(&to->lock);
}

void drain_close(struct drain *d, struct lane_handle *handle, uint64_t ticks) {
    (void)d;
    handle->end_ticks = ticks;
    lane_handle_set_state(handle, LANE_CLOSING);
}

void drain_finish(struct drain *d) {
    if (!d)
        return;
    for (unsigned i = 0; i < d->count; i++)
        atomic_store(&d->drainers[i]->finish, true);
    for (unsigned i = 0; i < d->count; i++) {
        pthread_join(d->drainers[i]->thread, NULL);
        drainer_free(d->drainers[i]);
    }
    sem_destroy(&d->begun);
    free(d);
}
