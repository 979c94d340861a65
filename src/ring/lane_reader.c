/* The way of events from a ring to a trace. */
#include "ring/lane_reader.h"

#include "arch/clock.h"
#include "base/clock.h"
#include "ring/callers.h"
#include "ring/conditions.h"
#include "ring/pace.h"
#include "ring/rings.h"
#include "ring/thin.h"
#include "ring/within.h"

enum {
    CHUNK_BYTES = 1 << 18, /* the limit moves at least this often while a full ring is read */
    UNPACK = 512,          /* events written at a time */
};

struct lane_reader {
    struct trace_writer *writer;
    struct pace *pace;
    enum overflow overflow;
    struct chains *chains;
    struct trace_event unpacked[UNPACK]; /* of one lane; empty between pieces */
    size_t unpacked_count;
    struct value_batch values;               /* of these, or of events that wait elsewhere */
    struct trace_event kept[2 * UNPACK + 1]; /* of those, with --while */
};

/* Writes the unpacked events, which are of HANDLE's lane. */
static void flush(struct lane_reader *r, struct lane_handle *handle) {
    size_t count = r->unpacked_count;
    r->unpacked_count = 0;
    const struct trace_event *events = r->unpacked;
    chains_write_new(r->chains);
    if (r->values.list.count)
        trace_writer_values(r->writer, handle->stream, &r->values);
    r->values.list.count = r->values.words.count = 0;
    if (handle->within) {
        count = within_pass(handle->within, events, count, r->kept);
        events = r->kept;
    }
    if (handle->thin)
        thin_events(handle->thin, events, count);
    else if (count)
        trace_writer_events(r->writer, handle->stream, events, count);
}

/* Makes room for what callers_pass() may write. */
static inline void reserve(struct lane_reader *r, struct lane_handle *handle) {
    if (r->unpacked_count + CALLERS_EVENTS > UNPACK)
        flush(r, handle);
}

static void unpack_pauses(struct lane_reader *r, struct lane_handle *handle, uint64_t ticks) {
    while (pauses_next(&handle->pauses, ticks, &r->unpacked[r->unpacked_count])) {
        r->unpacked_count++;
        reserve(r, handle);
    }
}

static void pass(struct lane_reader *r, struct lane_handle *handle, struct trace_event event) {
    reserve(r, handle);
    if (pauses_precede(&handle->pauses, event.site >> 2))
        unpack_pauses(r, handle, event.ticks);
    if (!pauses_follow(&handle->pauses, &event))
        return;
    if (handle->callers)
        r->unpacked_count += callers_pass(handle->callers, &handle->slice, r->chains, &event,
                                          r->unpacked + r->unpacked_count);
    else
        r->unpacked[r->unpacked_count++] = event;
}

static void pass_judged(struct lane_reader *r, struct lane_handle *handle) {
    struct trace_event event;
    while (call_judge_next(handle->judge, &event))
        pass(r, handle, event);
}

static inline void unpack(struct lane_reader *r, struct lane_handle *handle,
                          struct trace_event event) {
    struct event_values values;
    const bool has_values =
        handle->values.capture && value_slots_end(&handle->values, &event, &values);
    if (has_values && values.capture->condition && !handle->judge)
        handle->judge = call_judge_new(&handle->thread);
    const bool keeps_values =
        !handle->judge || call_judge_take(handle->judge, &event, has_values ? &values : NULL);
    if (has_values && keeps_values)
        value_batch_put(&r->values, &values);
    if (handle->judge)
        pass_judged(r, handle);
    else
        pass(r, handle, event);
}

/* Unpacks events for which there is nothing else to do, for handle->thin. Returns how many of
 * COUNT. */
static size_t unpack_plain(struct lane_reader *r, struct lane_handle *handle,
                           const struct event *at, size_t count, uint64_t latest) {
    struct trace_event *to = r->unpacked + r->unpacked_count;
    uint64_t newest = handle->pauses.newest;
    size_t n = 0, room = UNPACK - r->unpacked_count;
    if (count > room)
        count = room;
    for (; n < count && at[n].site >> 2 != WAIT_EVENT && !is_capture_slot(&at[n]); n++) {
        uint64_t ticks = event_ticks(&at[n], latest);
        newest = ticks > newest ? ticks : newest;
        to[n] = (struct trace_event){newest, at[n].site, event_sp(&at[n])};
    }
    handle->pauses.newest = newest;
    r->unpacked_count += n;
    if (r->unpacked_count == UNPACK)
        flush(r, handle);
    return n;
}

/* The fast path: writes events for which there is nothing else to do, from the ring. Returns how
 * many of COUNT. */
static size_t write_plain(struct lane_reader *r, struct lane_handle *handle, const struct event *at,
                          size_t count, uint64_t latest) {
    if (handle->callers || handle->within || handle->judge || pauses_wait(&handle->pauses) ||
        handle->values.capture)
        return 0;
    if (handle->thin)
        return unpack_plain(r, handle, at, count, latest);
    flush(r, handle);
    size_t n = trace_writer_ring(r->writer, handle->stream, at, count, &latest);
    if (n)
        handle->pauses.newest = latest;
    return n;
}

/* Up to where captures are so near that the fast path is not worth while, from E on. */
static const struct event *dense_until(const struct lane_handle *handle, const struct event *e,
                                       const struct event *end) {
    enum { NEAR = 16 };
    if (!value_slots_wanted(&handle->values))
        return e;
    for (const struct event *at = e; at < end && at < e + NEAR; at++)
        if (is_capture_slot(at))
            return at;
    return e;
}

/* Writes COUNT events at AT, written until LATEST. `shared` is set before another thread can come
 * to a stack of these events. */
static void write_events(struct lane_reader *r, struct lane_handle *handle, const struct event *at,
                         size_t count, uint64_t latest) {
    if (handle->thin && atomic_load(&handle->shared))
        thin_share(handle->thin);
    const struct event *dense = at;
    for (const struct event *e = at, *end = at + count; e < end;) {
        if (is_capture_slot(e)) {
            value_slots_take(&handle->values, e);
            e++;
            continue;
        }
        if (e >= dense)
            dense = dense_until(handle, e, end);
        size_t n = e < dense ? 0 : write_plain(r, handle, e, (size_t)(end - e), latest);
        e += n;
        if (n || e == end)
            continue;
        unpack(r, handle, (struct trace_event){event_ticks(e, latest), e->site, event_sp(e)});
        e++;
    }
    flush(r, handle);
    handle->last_clock = event_ticks(&at[count - 1], latest);
}

/* What waits for the ends of calls is written. */
static void release_judged(struct lane_reader *r, struct lane_handle *handle) {
    if (!handle->judge)
        return;
    call_judge_release(handle->judge);
    pass_judged(r, handle);
    flush(r, handle);
}

static void write_lost(struct lane_reader *r, struct lane_handle *handle, uint64_t ticks,
                       uint64_t count) {
    release_judged(r, handle);
    if (handle->thin)
        thin_lost(handle->thin, ticks, count);
    else
        trace_writer_lost(r->writer, handle->stream, ticks, count);
}

/* Writes the gaps up to position END, up to which all events are written. */
static void write_gaps(struct lane_reader *r, struct lane_handle *handle, uint64_t end) {
    for (const struct stall *gap; (gap = stalls_first_gap(&handle->stalls)) && gap->at <= end;) {
        uint64_t newest = handle->pauses.newest;
        write_lost(r, handle, newest ? newest : handle->last_clock, gap->lost);
        stalls_remove_first_gap(&handle->stalls);
    }
}

/* BEFORE: the limit before the present one, or the present one. Notes at which of them the thread
 * stands, and what it has lost. */
static void look_for_losses(struct lane_handle *handle, uint64_t before) {
    struct stall_limits limits = {before, handle->limit};
    uint64_t lost = __atomic_load_n(&handle->lane->lost, __ATOMIC_ACQUIRE);
    uint64_t head = __atomic_load_n(&handle->lane->head, __ATOMIC_ACQUIRE);
    stalls_look(&handle->stalls, &limits, lost, head);
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
static void skip_overwritten(struct lane_reader *r, struct lane_handle *handle, uint64_t head,
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
        write_lost(r, handle, ticks, lost);
    handle->tail = oldest;
}

/* The target may write anything into the lane. If no thread can have come to HEAD, takes HEAD as it
 * is and counts the ring's events as lost. */
static uint64_t check_head(struct lane_reader *r, struct lane_handle *handle, uint64_t head,
                           uint32_t ring_bytes) {
    if (head - handle->tail > ring_bytes) {
        handle->tail = head;
        move_limit(handle, head + ring_bytes);
        stalls_forget(&handle->stalls);
        write_lost(r, handle, clock_ticks(), ring_bytes / EVENT_BYTES);
    }
    return head;
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

unsigned lane_reader_read(struct lane_reader *r, struct lane_handle *handle) {
    bool limitless = r->overflow == OVERFLOW_OVERWRITE;
    uint32_t ring_bytes = handle->ring_bytes;
    uint64_t slice_slots = __atomic_load_n(&handle->lane->slice_slots, __ATOMIC_ACQUIRE);
    uint64_t head = ring_head(handle, handle->tail, handle->last_clock);
    struct epoch epoch = {head, clock_ticks() + SKEW_TICKS};
    pauses_take(&handle->pauses);
    if (limitless) {
        epochs_note(&handle->epochs, epoch.head, epoch.ticks);
        skip_overwritten(r, handle, head, slice_slots);
    } else if (head == handle->tail) {
        refresh_last_clock(handle);
    } else {
        head = check_head(r, handle, head, ring_bytes);
        epoch.head = head;
    }
    if (!limitless) {
        look_for_losses(handle, handle->limit);
        stalls_pass(&handle->stalls, head);
    }
    uint64_t fill = head - handle->tail;
    while (handle->tail < head) {
        write_gaps(r, handle, handle->tail);
        uint64_t at = handle->tail & (ring_bytes - 1);
        if (limitless)
            epoch = epochs_of(&handle->epochs, handle->tail);
        uint64_t n = next_piece(handle, epoch.head < head ? epoch.head : head);
        write_events(r, handle, ring_of(handle) + at / EVENT_BYTES, n / EVENT_BYTES, epoch.ticks);
        handle->tail += n;
        if (!limitless)
            move_limit(handle, handle->tail + ring_bytes);
        pace_read(r->pace);
    }
    return (unsigned)(fill * 100 / ring_bytes) + (fill != 0);
}

static void write_pauses_left(struct lane_reader *r, struct lane_handle *handle) {
    release_judged(r, handle);
    pauses_take(&handle->pauses);
    while (pauses_next_left(&handle->pauses, &r->unpacked[r->unpacked_count])) {
        r->unpacked_count++;
        reserve(r, handle);
    }
    flush(r, handle);
}

void lane_reader_end(struct lane_reader *r, struct lane_handle *handle) {
    write_gaps(r, handle, UINT64_MAX);
    write_pauses_left(r, handle);
}

struct lane_reader *lane_reader_new(struct trace_writer *writer, enum overflow overflow,
                                    struct pace *pace) {
    struct lane_reader *r = mem_alloc(sizeof *r);
    r->pace = pace;
    r->writer = writer;
    r->overflow = overflow;
    r->chains = chains_new(writer);
    return r;
}

void lane_reader_free(struct lane_reader *r) {
    if (!r)
        return;
    chains_free(r->chains);
    value_batch_done(&r->values);
    free(r);
}
