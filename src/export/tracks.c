/*
 * See tracks.h. Each stream group is walked, and its events are put by (spool.h). Whether a call is
 * shown, and whether events were lost during it, may be known only when it ends: it is then noted
 * by its number within the track, for when the track is read.
 */
#include "export/tracks.h"

#include "analyze/tree.h"
#include "base/bitmap.h"
#include "base/mem.h"
#include "export/spool.h"

struct record {
    uint64_t ns;
    uint32_t function; /* or TRACK_END */
} __attribute__((packed));
_Static_assert(SPOOL_CHUNK % sizeof(struct record) == 0, "records do not cross chunks");

typedef ARRAY(uint8_t) bits; /* a bitmap that grows; bits behind its end are not set */

struct stored { /* a track */
    struct track track;
    struct spool_list events;
    uint64_t begun;   /* calls */
    bits hidden, cut; /* by number of the call */
};

struct open_call {
    uint32_t stored, next_free;
    uint64_t number; /* within its track */
};

struct tracks {
    const struct view *view;
    struct out *out;
    struct spool spool;
    struct tree keys; /* a child of the root for each track: its number is 1 + the track's */
    ARRAY(struct stored) all;
    ARRAY(struct open_call) open;
    uint32_t free; /* the first of OPEN in no use; WALK_NONE: none */
    void (*on)(void *ctx, const struct track *track);
    void *ctx;
};

/* ---- frames: 2 * function, and 1 more for cut calls ---- */

/* Stands for the functions of --hide. */
static uint32_t hidden_function(const struct view *view) { return names_count(view->source.names); }

uint32_t track_frames(const struct view *view) { return 2 * (hidden_function(view) + 1); }

uint32_t track_frame(uint32_t function) { return 2 * function; }

uint32_t track_function(const struct view *view, uint32_t frame) {
    return frame / 2 == hidden_function(view) ? UINT32_MAX : frame / 2;
}

char *track_frame_name(const struct view *view, uint32_t frame) {
    uint32_t function = track_function(view, frame);
    const char *name =
        function == UINT32_MAX ? "[hidden]" : names_function(view->source.names, function);
    return mem_printf("%s%s", name, frame % 2 ? " [cut]" : "");
}

char *track_stack(const struct track *track) {
    return track->stack ? mem_printf(", stack %u", track->stack) : mem_strdup("");
}

/* ---- storing ---- */

static struct stored *stored_of(struct tracks *t, const struct walk_call *call) {
    enum { OWN = 1u << 31 };
    uint32_t key = call->stack ? call->stack : OWN | call->stream;
    uint32_t index = tree_child(&t->keys, 0, key) - 1;
    if (index == t->all.count)
        ARRAY_PUSH(&t->all, ((struct stored){.track = {.stream = call->stream,
                                                       .stack = call->stack,
                                                       .tracks = t,
                                                       .index = index}}));
    return &t->all.at[index];
}

static void store(struct tracks *t, struct stored *to, uint64_t ns, uint32_t function) {
    ns = ns > to->track.last_ns ? ns : to->track.last_ns;
    struct record record = {ns, function};
    to->track.last_ns = ns;
    spool_add(&t->spool, &to->events, &record, sizeof record);
    if (t->spool.error && !t->out->error)
        t->out->error = t->spool.error;
}

static uint64_t without_pauses(uint64_t ns, uint64_t paused_ns) {
    return ns > paused_ns ? ns - paused_ns : 0;
}

static uint32_t take_number(struct tracks *t) {
    uint32_t number = t->free;
    if (number == WALK_NONE) {
        ARRAY_PUSH(&t->open, (struct open_call){0});
        return (uint32_t)t->open.count - 1;
    }
    t->free = t->open.at[number].next_free;
    return number;
}

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct tracks *t = ctx;
    struct stored *to = stored_of(t, call);
    bool silent = view_filter_verdict(t->view->source.filter, call->function) & VIEW_SILENT;
    uint32_t number = take_number(t);
    t->open.at[number] = (struct open_call){.stored = to->track.index, .number = to->begun++};
    store(t, to, without_pauses(call->start_ns, call->thread_paused_ns),
          silent ? hidden_function(t->view) : call->function);
    return number;
}

static void bits_set(bits *b, uint64_t number) {
    while (b->count < bitmap_bytes(number + 1))
        ARRAY_PUSH(b, 0);
    bitmap_set(b->at, number);
}

static bool bits_test(const bits *b, uint64_t number) {
    return number / 8 < b->count && bitmap_test(b->at, number);
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct tracks *t = ctx;
    struct open_call *open = &t->open.at[call->value];
    struct stored *to = &t->all.at[open->stored];
    if (call->brief)
        bits_set(&to->hidden, open->number);
    if (call->how == CALL_CUT)
        bits_set(&to->cut, open->number);
    store(t, to, without_pauses(call->end_ns, call->thread_paused_ns), TRACK_END);
    open->next_free = t->free;
    t->free = call->value;
}

/* ---- reading ---- */

struct reading {
    const struct stored *from;
    ARRAY(bool) shown; /* of the open calls */
    uint64_t number;   /* of the next call */
    void (*on)(void *ctx, uint64_t ns, uint32_t frame);
    void *ctx;
};

static void read_begin(struct reading *r, const struct record *record) {
    const uint64_t number = r->number++;
    const bool shown = !bits_test(&r->from->hidden, number);
    ARRAY_PUSH(&r->shown, shown);
    if (shown)
        r->on(r->ctx, record->ns, 2 * record->function + bits_test(&r->from->cut, number));
}

static void read_end(struct reading *r, const struct record *record) {
    if (r->shown.at[--r->shown.count])
        r->on(r->ctx, record->ns, TRACK_END);
}

static void read_records(void *ctx, const void *bytes, size_t size) {
    const struct record *records = bytes;
    for (size_t i = 0; i < size / sizeof *records; i++)
        (records[i].function == TRACK_END ? read_end : read_begin)(ctx, &records[i]);
}

void track_each(const struct track *track, void (*on)(void *ctx, uint64_t ns, uint32_t frame),
                void *ctx) {
    struct tracks *t = track->tracks;
    struct reading r = {.from = &t->all.at[track->index], .on = on, .ctx = ctx};
    if (!spool_read(&t->spool, &r.from->events, read_records, &r) && !t->out->error)
        t->out->error = t->spool.error;
    ARRAY_FREE(&r.shown);
}

static void note_span(void *ctx, uint64_t ns, uint32_t frame) {
    struct track *track = ctx;
    (void)frame;
    track->first_ns = track->first_ns == UINT64_MAX ? ns : track->first_ns;
    track->last_ns = ns;
}

/* Passes on the tracks of the last group, and frees them. */
static void pass_on(struct tracks *t) {
    for (size_t i = 0; i < t->all.count; i++) {
        struct stored *stored = &t->all.at[i];
        struct track track = stored->track;
        track.first_ns = UINT64_MAX;
        if (!t->out->error)
            track_each(&track, note_span, &track);
        if (!t->out->error && track.first_ns != UINT64_MAX)
            t->on(t->ctx, &track);
        spool_list_done(&stored->events);
        ARRAY_FREE(&stored->hidden);
        ARRAY_FREE(&stored->cut);
    }
    t->all.count = 0;
    tree_clear(&t->keys);
    spool_clear(&t->spool);
}

static void on_stream_group(void *ctx, struct stream_group group) {
    (void)group;
    pass_on(ctx);
}

void tracks_read(const struct view *view, struct out *out,
                 void (*on)(void *ctx, const struct track *track), void *ctx) {
    struct tracks t = {.view = view, .out = out, .free = WALK_NONE, .on = on, .ctx = ctx};
    struct visitor visitor = {.ctx = &t, .wants_silent = true, .open = on_open, .close = on_close};
    spool_init(&t.spool);
    tree_init(&t.keys);
    export_walk(view, &visitor, on_stream_group, out);
    pass_on(&t);
    spool_done(&t.spool);
    tree_done(&t.keys);
    ARRAY_FREE(&t.all);
    ARRAY_FREE(&t.open);
}
