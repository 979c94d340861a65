/* Copies rings, and writes the copies as a trace. */
#include "ring/snapshot.h"

#include <string.h>

#include "arch/clock.h"
#include "ring/callers.h"
#include "ring/conditions.h"
#include "ring/rings.h"
#include "ring/thin.h"

enum { UNPACK = 512 };

static void copy_epochs(struct epochs *to, const struct epochs *from) {
    *to = *from;
    memset(&to->notes, 0, sizeof to->notes);
    for (size_t i = 0; i < from->notes.count; i++)
        ARRAY_PUSH(&to->notes, from->notes.at[i]);
}

static struct trace_frames copy_frames(const struct trace_frames *from) {
    struct trace_frames copy = *from;
    struct trace_frame *list = mem_alloc(from->count * sizeof *list);
    if (from->count)
        memcpy(list, from->frames, from->count * sizeof *list);
    copy.frames = list;
    return copy;
}

static struct trace_event unpacked(const struct ring_image *image, size_t i) {
    const struct event *e = &image->first[i];
    uint64_t latest = epochs_of(&image->epochs, image->at + i * EVENT_BYTES).ticks;
    return (struct trace_event){event_ticks(e, latest), e->site, event_sp(e)};
}

/* With --trigger it is known which calls are open where the image begins. */
static void recall(struct ring_image *image, const struct lane_handle *handle) {
    struct watch_memory *m = &image->memory;
    if (!handle->watch || !image->at)
        return;
    watch_recall(handle->watch, handle, image->at,
                 image->count ? unpacked(image, 0).ticks : UINT64_MAX, m);
    if (!m->known)
        return;
    image->overwritten = image->lost;
    image->lost = 0;
    if (!m->still_opened.count)
        return;
    image->opened = (struct trace_frames){handle->stream, handle->opened.ticks,
                                          (uint32_t)m->still_opened.count, m->still_opened.at};
    m->still_opened.at = NULL;
}

struct ring_image ring_image_take(struct lane_handle *handle, uint64_t most_bytes) {
    struct ring_image image = {.thread = handle->thread};
    uint64_t slice_slots = __atomic_load_n(&handle->lane->slice_slots, __ATOMIC_ACQUIRE);
    uint64_t head = ring_head(handle, handle->tail, handle->last_clock),
             from = ring_oldest(handle, head);
    image.shared = atomic_load(&handle->shared);
    epochs_note(&handle->epochs, head, clock_ticks() + SKEW_TICKS);
    if (head - from > most_bytes)
        from = head - most_bytes / EVENT_BYTES * EVENT_BYTES;
    image.events = mem_resize(NULL, (head - from) / EVENT_BYTES + 1, EVENT_BYTES);
    image.at = ring_copy(handle, from, head, image.events);
    image.first = image.events + (image.at - from) / EVENT_BYTES;
    image.count = (head - image.at) / EVENT_BYTES;
    uint64_t before = slice_slots_before(image.first, image.count, slice_slots);
    image.lost = image.at / EVENT_BYTES - (before < image.at / EVENT_BYTES ? before : 0);
    image.captures = handle->values.captures;
    image.callers = handle->callers ? callers_ref(handle->callers) : NULL;
    memcpy(image.name, handle->name, sizeof image.name);
    copy_epochs(&image.epochs, &handle->epochs);
    pauses_take(&handle->pauses);
    image.pauses = pauses_copy(&handle->pauses);
    if (!image.at && handle->opened.count && handle->opened.stream == handle->stream)
        image.opened = copy_frames(&handle->opened);
    recall(&image, handle);
    return image;
}

uint64_t ring_image_events(const struct ring_image *image) {
    uint64_t events = 0;
    for (size_t i = 0; i < image->count; i++)
        events += !is_part_slot(&image->first[i]);
    return events;
}

void ring_image_done(struct ring_image *image) {
    free(image->events);
    callers_unref(image->callers);
    ARRAY_FREE(&image->epochs.notes);
    pauses_done(&image->pauses);
    free((void *)image->opened.frames);
    ARRAY_FREE(&image->memory.events);
    free(image->memory.still_opened.at);
    *image = (struct ring_image){0};
}

void snapshot_free(struct snapshot *s) {
    if (!s)
        return;
    for (size_t i = 0; i < s->images.count; i++)
        ring_image_done(&s->images.at[i]);
    ARRAY_FREE(&s->images);
    free(s);
}

/* ---- writing ---- */

struct writing {
    const struct snapshot_options *options;
    struct trace_writer *writer;
    struct snapshot_facts *facts;
    struct chains *chains;
    uint64_t first, last; /* ticks of the events so far */
};

static void write_opened(struct writing *w, const struct ring_image *image, struct thin *thin) {
    struct trace_frames frames = image->opened;
    frames.stream = image->thread.stream;
    if (!frames.count)
        return;
    if (thin)
        thin_frames(thin, &frames);
    else
        trace_writer_frames(w->writer, &frames);
}

struct parts_read { /* slots that are no events */
    struct stack_slice slice;
    struct value_slots values;
    struct value_batch batch;   /* that are not handed over yet */
    struct call_judge *judge;   /* NULL: no --where */
    struct trace_event waiting; /* the next event; pauses may come before it */
    bool waits, released;
};

/* Takes E, the next slot, of EVENT if it is no part. */
static void take_slot(struct parts_read *parts, const struct event *e,
                      const struct trace_event *event) {
    struct event_values values;
    if (is_capture_slot(e)) {
        value_slots_take(&parts->values, e);
        return;
    }
    const bool has_values = value_slots_end(&parts->values, event, &values);
    const bool keeps_values =
        !parts->judge || call_judge_take(parts->judge, event, has_values ? &values : NULL);
    if (has_values && keeps_values)
        value_batch_put(&parts->batch, &values);
    parts->waits = !parts->judge;
    parts->waiting = *event;
}

/* Makes the next event wait. False: there is none. */
static bool find_event(struct ring_image *image, size_t *at, struct parts_read *parts) {
    while (!parts->waits) {
        if (parts->judge && call_judge_next(parts->judge, &parts->waiting)) {
            parts->waits = true;
        } else if (*at < image->count) {
            const struct trace_event event = unpacked(image, *at);
            take_slot(parts, &image->first[(*at)++], &event);
        } else if (parts->judge && !parts->released) {
            call_judge_release(parts->judge);
            parts->released = true;
        } else {
            return false;
        }
    }
    return true;
}

/* Unpacks events from *AT on, with the pauses between them, to OUT: UNPACK + CALLERS_EVENTS at
 * most. */
static size_t unpack(const struct writing *w, struct ring_image *image, size_t *at,
                     struct parts_read *parts, struct trace_event *out) {
    size_t n = 0;
    while (n < UNPACK && find_event(image, at, parts)) {
        struct trace_event *event = &parts->waiting;
        if (pauses_precede(&image->pauses, event->site >> 2) &&
            pauses_next(&image->pauses, event->ticks, &out[n])) {
            n++;
            continue;
        }
        parts->waits = false;
        if (!pauses_follow(&image->pauses, event))
            continue;
        if (image->callers)
            n += callers_pass(image->callers, &parts->slice, w->chains, event, out + n);
        else
            out[n++] = *event;
    }
    return n;
}

static void put_events(const struct writing *w, uint32_t stream, struct thin *thin,
                       const struct trace_event *events, size_t count) {
    chains_write_new(w->chains);
    if (thin)
        thin_events(thin, events, count);
    else if (count)
        trace_writer_events(w->writer, stream, events, count);
}

static void put_values(const struct writing *w, uint32_t stream, struct value_batch *b) {
    if (b->list.count)
        trace_writer_values(w->writer, stream, b);
    b->list.count = b->words.count = 0;
}

static void write_events(struct writing *w, struct ring_image *image, struct thin *thin) {
    struct trace_event events[UNPACK + CALLERS_EVENTS];
    struct parts_read parts = {.values.captures = image->captures};
    if ((image->lost || image->overwritten) && image->count)
        pauses_forget_before(&image->pauses, unpacked(image, 0).ticks);
    if (captures_have_conditions(image->captures))
        parts.judge = call_judge_new(&image->thread);
    for (size_t at = 0, n; (n = unpack(w, image, &at, &parts, events)) > 0;) {
        put_values(w, image->thread.stream, &parts.batch);
        put_events(w, image->thread.stream, thin, events, n);
    }
    while (image->count && pauses_next_left(&image->pauses, events))
        put_events(w, image->thread.stream, thin, events, 1);
    slice_done(&parts.slice);
    value_slots_done(&parts.values);
    value_batch_done(&parts.batch);
    call_judge_free(parts.judge);
}

static void note_span(struct writing *w, const struct ring_image *image) {
    uint64_t first = unpacked(image, 0).ticks, last = unpacked(image, image->count - 1).ticks;
    if (!w->facts->threads++ || first < w->first)
        w->first = first;
    if (last > w->last)
        w->last = last;
}

/* Of what is written of IMAGE; END: nothing is. */
static uint64_t first_ticks(const struct ring_image *image, uint64_t end) {
    const struct watch_memory *m = &image->memory;
    if (m->events.count)
        return m->events.at[0].ticks;
    return image->count ? unpacked(image, 0).ticks : end;
}

static void write_image(struct writing *w, struct ring_image *image, uint64_t now) {
    const struct snapshot_options *o = w->options;
    struct thin_options thinned = {w->writer, o->depth, o->threshold_ticks};
    struct thin *thin = NULL;
    uint32_t stream = image->thread.stream;
    uint64_t end = image->ended ? image->end_ticks : now;
    if (image->count)
        note_span(w, image);
    if (image->lost)
        trace_writer_lost(w->writer, stream, first_ticks(image, end), image->lost);
    if (o->depth || o->threshold_ticks)
        thin = thin_new(&thinned, &image->thread);
    if (thin && image->shared)
        thin_share(thin);
    write_opened(w, image, thin);
    put_events(w, stream, thin, image->memory.events.at, image->memory.events.count);
    write_events(w, image, thin);
    thin_free(thin, end);
    if (image->ended)
        trace_writer_thread_end(w->writer, stream, end);
}

static bool has_forgotten(const struct ring_image *image) {
    return image->lost || image->overwritten;
}

/* Makes makers' streams those of the snapshot. A thread whose first events are lost has no maker:
 * which of the calls that it began with have ended is not known. */
static void set_makers(struct snapshot *s) {
    struct trace_thread *thread;
    for (size_t i = 0; i < s->images.count; i++) {
        uint32_t maker = (thread = &s->images.at[i].thread)->maker;
        thread->maker = 0;
        for (size_t k = 0; maker && !has_forgotten(&s->images.at[i]) && k < s->images.count; k++)
            if (s->images.at[k].thread.stream == maker - 1)
                thread->maker = (uint32_t)k + 1;
    }
}

int snapshot_write(struct snapshot *s, const struct snapshot_options *options,
                   struct snapshot_facts *ret, struct err *err) {
    AUTO_FREE char *path = mem_printf("%s.%u", options->output, s->number);
    *ret = (struct snapshot_facts){0};
    struct writing w = {.options = options, .facts = ret};
    int rc = trace_writer_branch(options->writer, path, &w.writer, err);
    if (rc < 0)
        return rc;
    w.chains = chains_new(w.writer);
    trace_writer_clock(w.writer, &s->clock);
    set_makers(s);
    for (size_t i = 0; i < s->images.count; i++) { /* views need small numbers of streams */
        struct trace_thread *thread = &s->images.at[i].thread;
        thread->stream = (uint32_t)i;
        thread->name = s->images.at[i].name;
        trace_writer_thread(w.writer, thread);
    }
    uint64_t overwritten = 0;
    for (size_t i = 0; i < s->images.count; i++) {
        overwritten += s->images.at[i].overwritten;
        write_image(&w, &s->images.at[i], s->clock.ticks);
        ring_image_done(&s->images.at[i]);
    }
    ret->span_ticks = w.last - w.first;
    chains_free(w.chains);
    struct trace_end end = {.ticks = s->clock.ticks,
                            .snapshot = s->number,
                            .reason = s->reason,
                            .overwritten = overwritten};
    struct trace_totals totals;
    rc = trace_writer_finish(w.writer, &end, &totals, err);
    ret->events = totals.entries + totals.exits;
    return rc;
}
