/* The flight recorder: takes snapshots when asked or triggered, writes them, and reports them. */
#include "ring/flight.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/snapshot.h"
#include "ring/trigger_watch.h"
#include "target/timing.h"

enum {
    MOST_BYTES = 512 << 20,  /* of rings in a snapshot: each thread has at most an equal share */
    ENDED_RINGS = 16,        /* of ended threads: as many events as so many rings hold, */
    ENDED_BYTES = 256 << 20, /* at most so many bytes, */
    ENDED_THREADS = 1000,    /* and so many threads */
};

/* Of the next snapshot. QUIET ─▶ WANTED ─▶ TAKEN ─▶ QUIET or, for the next reason, WANTED. */
enum state { QUIET, WANTED, TAKEN }; /* taken: it is being written */

struct note { /* for the user */
    char *text;
    bool failure;
};

struct flight {
    struct flight_options options;
    bool possible; /* rings are overwritten, and the output is a file */
    bool started;
    pthread_t thread;
    struct triggers *triggers;

    pthread_mutex_t lock; /* guards the following */
    pthread_cond_t changed;
    enum state state;                 /* set_state() */
    const char *reason, *next_reason; /* of the wanted snapshot, and of the next one; or NULL */
    struct snapshot *taken;
    uint32_t made;
    bool closing;
    ARRAY(struct note) notes;

    /* The drainer's fields. */
    bool due; /* a snapshot is taken when the lanes of threads that ended before have retired */
    uint32_t triggered;
    uint64_t last_ns; /* of the last snapshot; 0: none */
    uint64_t too_soon, too_many, skipped;
    ARRAY(struct ring_image) ended; /* since the last snapshot, the oldest first */
    uint64_t ended_bytes;
    struct ring_image forgotten; /* the last thread that had no room, without its events */
};

static void wake(const struct flight *f) {
    uint64_t one = 1;
    ssize_t n = write(f->options.wake, &one, sizeof one);
    (void)n;
}

/* F is locked. */
static void set_state(struct flight *f, enum state state) {
    static const uint8_t allowed[] = {
        [QUIET] = 1 << WANTED,
        [WANTED] = 1 << WANTED | 1 << TAKEN, /* a trigger and the user at the same time */
        [TAKEN] = 1 << QUIET | 1 << WANTED,
    };
    assert(allowed[f->state] >> state & 1);
    f->state = state;
}

/* ---- the drainer ---- */

static uint64_t image_bytes(const struct ring_image *image) { return image->count * EVENT_BYTES; }

/* Adds the ended threads to S. Events that had no room count as lost. */
static void take_ended(struct flight *f, struct snapshot *s) {
    if (f->forgotten.lost)
        ARRAY_PUSH(&s->images, f->forgotten);
    for (size_t i = 0; i < f->ended.count; i++)
        ARRAY_PUSH(&s->images, f->ended.at[i]);
    f->forgotten = (struct ring_image){0};
    f->ended.count = 0;
    f->ended_bytes = 0;
}

/* Adds HANDLE's ring to S; its thread may have ended. */
static void take_one(struct snapshot *s, struct lane_handle *handle, uint64_t most_bytes) {
    bool ended = atomic_load_explicit(&handle->state, memory_order_acquire) == LANE_CLOSING;
    struct ring_image image = ring_image_take(handle, most_bytes);
    image.ended = handle->in_snapshot = ended;
    image.end_ticks = ended ? handle->end_ticks : 0;
    ARRAY_PUSH(&s->images, image);
}

/* Copies all rings, first that of FIRST, which may be NULL. */
static void take_snapshot(struct flight *f, struct lane_handle *const *active, size_t count,
                          struct lane_handle *first) {
    struct snapshot *s = mem_alloc(sizeof *s);
    uint64_t share = count ? MOST_BYTES / count : 0;
    struct timing now = timing_now();
    s->clock = (struct trace_clock){now.ticks, now.ns};
    if (first)
        take_one(s, first, share);
    for (size_t i = 0; i < count; i++)
        if (active[i] != first)
            take_one(s, active[i], share);
    take_ended(f, s);
    f->last_ns = s->clock.ns;
    pthread_mutex_lock(&f->lock);
    s->number = f->made + 1;
    s->reason = f->reason;
    f->taken = s;
    set_state(f, TAKEN);
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static bool is_wanted(struct flight *f) {
    pthread_mutex_lock(&f->lock);
    bool wanted = f->state == WANTED;
    pthread_mutex_unlock(&f->lock);
    return wanted;
}

/* Triggers have fired HITS times in one look at a thread. Returns whether that asks for a
 * snapshot. */
static bool fire(struct flight *f, const char *why, unsigned hits) {
    const struct record_options *o = f->options.session;
    const bool wanted = is_wanted(f); /* what it is about to hold has these calls */
    if (!wanted && f->triggered >= o->snapshot_limit) {
        f->too_many += hits;
        return false;
    }
    bool soon = wanted || (f->last_ns && timing_now().ns - f->last_ns < o->snapshot_gap_ns);
    pthread_mutex_lock(&f->lock);
    soon |= f->state == TAKEN;
    if (!soon) {
        set_state(f, WANTED);
        f->reason = why;
    }
    pthread_mutex_unlock(&f->lock);
    f->too_soon += soon ? hits : hits - 1;
    f->triggered += !soon;
    return !soon;
}

/* Returns whether HANDLE's newest events trigger a snapshot. */
static bool watch(struct flight *f, struct lane_handle *handle, unsigned *fullest) {
    struct watched seen;
    if (!f->triggers)
        return false;
    if (!handle->watch)
        handle->watch = watch_new(handle);
    watch_look(handle->watch, handle, triggers_table(f->triggers), &seen);
    f->skipped += seen.skipped;
    if (seen.fill > *fullest)
        *fullest = seen.fill;
    return seen.hits && fire(f, seen.why, seen.hits);
}

bool flight_watches(const struct flight *f) { return f && f->triggers; }

unsigned flight_look(struct flight *f, struct lane_handle *const *active, size_t count) {
    unsigned fullest = 0;
    if (!f || !f->possible)
        return 0;
    struct lane_handle *first = NULL;
    for (size_t i = 0; i < count; i++)
        if (watch(f, active[i], &fullest))
            first = active[i];
    if (first)
        take_snapshot(f, active, count, first);
    f->due = is_wanted(f);
    return fullest;
}

void flight_settle(struct flight *f, struct lane_handle *const *active, size_t count) {
    if (f && f->due)
        take_snapshot(f, active, count, NULL);
    if (f)
        f->due = false;
}

/* Drops the oldest ended thread's events. */
static void forget_oldest(struct flight *f) {
    struct ring_image *oldest = &f->ended.at[0];
    f->ended_bytes -= image_bytes(oldest);
    oldest->lost += ring_image_events(oldest) + oldest->overwritten + f->forgotten.lost;
    oldest->overwritten = oldest->memory.events.count = 0;
    oldest->count = 0;
    ring_image_done(&f->forgotten);
    free(steal(oldest->events));
    oldest->first = NULL;
    f->forgotten = *oldest;
    f->ended.count--;
    memmove(f->ended.at, f->ended.at + 1, f->ended.count * sizeof *f->ended.at);
}

static void forget_watch(struct lane_handle *handle) {
    watch_free(handle->watch);
    handle->watch = NULL;
}

void flight_retire(struct flight *f, struct lane_handle *handle) {
    unsigned fullest = 0;
    if (!f || !f->possible)
        return;
    f->due |= watch(f, handle, &fullest);
    if (handle->in_snapshot) {
        handle->in_snapshot = false;
        forget_watch(handle);
        return;
    }
    uint64_t most = (uint64_t)ENDED_RINGS * handle->ring_bytes;
    most = most < ENDED_BYTES ? most : ENDED_BYTES;
    struct ring_image image = ring_image_take(handle, most);
    forget_watch(handle);
    image.ended = true;
    image.end_ticks = handle->end_ticks;
    ARRAY_PUSH(&f->ended, image);
    f->ended_bytes += image_bytes(&image);
    while (f->ended_bytes > most || f->ended.count > ENDED_THREADS)
        forget_oldest(f);
}

/* ---- the recorder's own thread ---- */

static void add_note(struct flight *f, char *text, bool failure) {
    pthread_mutex_lock(&f->lock);
    ARRAY_PUSH(&f->notes, ((struct note){text, failure}));
    pthread_mutex_unlock(&f->lock);
    wake(f);
}

static double span_ms(const struct snapshot *s, uint64_t ticks) {
    struct timing start = timing_started();
    double rate = (double)(s->clock.ns - start.ns) / (double)(s->clock.ticks - start.ticks);
    return (double)ticks * rate / 1e6;
}

static struct note write_snapshot(const struct flight *f, struct snapshot *s) {
    const struct record_options *o = f->options.session;
    struct snapshot_options options = {.writer = f->options.writer,
                                       .output = o->output,
                                       .depth = o->depth,
                                       .threshold_ticks =
                                           o->threshold_ns ? timing_ticks(o->threshold_ns) : 0};
    struct snapshot_facts facts;
    struct err err = {0};
    if (snapshot_write(s, &options, &facts, &err) < 0)
        return (struct note){mem_printf("no snapshot for %s: %s", s->reason, err.text), true};
    return (struct note){
        mem_printf("%s.%u: snapshot for %s: %ju events of %ju thread%s, over %.3f ms", o->output,
                   s->number, s->reason, facts.events, facts.threads, facts.threads == 1 ? "" : "s",
                   span_ms(s, facts.span_ticks)),
        false};
}

/* The next snapshot to write; NULL: there will be none. */
static struct snapshot *next_taken(struct flight *f) {
    pthread_mutex_lock(&f->lock);
    while (!f->taken && !f->closing)
        pthread_cond_wait(&f->changed, &f->lock);
    struct snapshot *s = f->taken;
    f->taken = NULL;
    pthread_mutex_unlock(&f->lock);
    return s;
}

static void *run(void *arg) {
    struct flight *f = arg;
    for (struct snapshot *s; (s = next_taken(f));) {
        struct note note = write_snapshot(f, s);
        snapshot_free(s);
        pthread_mutex_lock(&f->lock); /* the note's reader may ask for the next snapshot */
        ARRAY_PUSH(&f->notes, note);
        f->made += !note.failure;
        set_state(f, f->next_reason ? WANTED : QUIET);
        f->reason = f->next_reason;
        f->next_reason = NULL;
        pthread_cond_broadcast(&f->changed);
        pthread_mutex_unlock(&f->lock);
        wake(f);
    }
    return NULL;
}

/* ---- the recording's loop ---- */

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) < 0 || S_ISREG(st.st_mode);
}

int flight_new(const struct flight_options *options, struct flight **ret, struct err *err) {
    const struct record_options *o = options->session;
    bool overwrites = o->overflow == OVERFLOW_OVERWRITE;
    if (o->triggers.count && !is_file(o->output))
        return err_set(err, EINVAL, "no-snapshots",
                       "%s: is not a file, and snapshots go to files beside it: choose another -o",
                       o->output);
    struct flight *f = mem_alloc(sizeof *f);
    f->options = *options;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    f->possible = overwrites && is_file(o->output);
    f->triggers = f->possible ? triggers_new(&o->triggers, "trigger") : NULL;
    int rc = f->possible ? pthread_create(&f->thread, NULL, run, f) : 0;
    if (rc) {
        flight_free(f);
        return err_set(err, rc, "thread", "cannot start a thread: %s", strerror(rc));
    }
    f->started = f->possible;
    if (f->possible)
        trace_writer_keep(options->writer);
    *ret = f;
    return 0;
}

struct triggers *flight_triggers(const struct flight *f) {
    return f->triggers;
}

int flight_check(const struct flight *f, struct err *err) {
    if (f->possible)
        return 0;
    if (f->options.session->overflow != OVERFLOW_OVERWRITE)
        return err_set(err, ENOTSUP, "no-snapshots",
                       "all events are written anyway: snapshots need --overflow=overwrite");
    return err_set(err, ENOTSUP, "no-snapshots",
                   "%s is not a file, and snapshots go to files beside it",
                   f->options.session->output);
}

void flight_snapshot(struct flight *f, const char *reason) {
    struct err err = {0};
    if (flight_check(f, &err) < 0) {
        add_note(f, mem_printf("no snapshot for %s: %s", reason, err.text), true);
        return;
    }
    pthread_mutex_lock(&f->lock);
    if (f->state == TAKEN)
        f->next_reason = reason;
    if (f->state == QUIET) {
        set_state(f, WANTED);
        f->reason = reason;
    }
    pthread_mutex_unlock(&f->lock);
}

static void report_note(const struct flight *f, const char *text, bool failure) {
    const struct report *report = &f->options.session->report;
    failure ? report_complain(report, text) : report_warn(report, text);
}

void flight_report(struct flight *f) {
    for (;;) {
        pthread_mutex_lock(&f->lock);
        struct note note = {0};
        if (f->notes.count) {
            note = f->notes.at[0];
            f->notes.count--;
            memmove(f->notes.at, f->notes.at + 1, f->notes.count * sizeof note);
        }
        pthread_mutex_unlock(&f->lock);
        if (!note.text)
            return;
        report_note(f, note.text, note.failure);
        free(note.text);
    }
}

/* Waits until no snapshot is being written. Returns whether another is wanted. */
static bool await_written(struct flight *f) {
    pthread_mutex_lock(&f->lock);
    while (f->state == TAKEN)
        pthread_cond_wait(&f->changed, &f->lock);
    bool wanted = f->state == WANTED;
    f->closing = !wanted;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return wanted;
}

static void report_missed(const struct flight *f) {
    if (f->too_soon) {
        AUTO_FREE char *text =
            mem_printf("%ju more triggers came sooner after a snapshot than --snapshot-gap allows",
                       f->too_soon);
        report_note(f, text, false);
    }
    if (f->too_many) {
        AUTO_FREE char *text = mem_printf("%ju more triggers came after the last of --snapshots=%u",
                                          f->too_many, f->options.session->snapshot_limit);
        report_note(f, text, false);
    }
    if (f->skipped) {
        AUTO_FREE char *text = mem_printf("%ju events were overwritten before --trigger could look "
                                          "at them: a larger --buffer makes that rarer",
                                          f->skipped);
        report_note(f, text, false);
    }
}

uint32_t flight_finish(struct flight *f) {
    if (f->started) {
        while (await_written(f))
            take_snapshot(f, NULL, 0, NULL);
        pthread_join(f->thread, NULL);
        f->started = false;
    }
    flight_report(f);
    report_missed(f);
    return f->made;
}

void flight_free(struct flight *f) {
    if (!f)
        return;
    if (f->started)
        flight_finish(f);
    for (size_t i = 0; i < f->ended.count; i++)
        ring_image_done(&f->ended.at[i]);
    ring_image_done(&f->forgotten);
    for (size_t i = 0; i < f->notes.count; i++)
        free(f->notes.at[i].text);
    ARRAY_FREE(&f->ended);
    ARRAY_FREE(&f->notes);
    triggers_free(f->triggers);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->changed);
    free(f);
}
