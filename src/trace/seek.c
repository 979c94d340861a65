/* Finds and reads checkpoints; reads pauses. */
#include "base/search.h"
#include "trace/decode.h"
#include "trace/file.h"
#include "trace/records.h"

enum {
    KEPT = 16,      /* blocks of checkpoints that a seeker keeps */
    FIELDS = 5,     /* bytes of a call, at least */
    LOOK_BACK = 16, /* blocks without a checkpoint, one after the other, that a search passes */
};

struct kept {
    size_t number; /* 1 + index in reader->checkpoints; 0: none */
    struct bytes payload;
    bool damaged;
};

struct trace_seeker {
    struct trace_reader *reader;
    struct kept kept[KEPT]; /* by number */
    ARRAY(struct trace_open_call) calls;
};

bool trace_reader_has_checkpoints(const struct trace_reader *r, size_t stream) {
    const struct trace_thread *t = &r->threads.at[stream];
    return r->checkpoints.count && t->stack_high > t->stack_low && !t->maker &&
           !trace_reader_uses_other_stacks(r, stream) && !trace_reader_has_inner_stacks(r, stream);
}

struct trace_seeker *trace_seeker_new(struct trace_reader *r) {
    struct trace_seeker *s = mem_alloc(sizeof *s);
    s->reader = r;
    return s;
}

void trace_seeker_free(struct trace_seeker *s) {
    if (!s)
        return;
    for (int i = 0; i < KEPT; i++)
        free(s->kept[i].payload.at);
    ARRAY_FREE(&s->calls);
    free(s);
}

/* ---- one checkpoint ---- */

/* Block I of checkpoints; NULL: it is damaged. */
static const struct bytes *payload_of(struct trace_seeker *s, size_t i) {
    struct kept *k = &s->kept[i % KEPT];
    if (k->number != i + 1) {
        k->number = i + 1;
        k->damaged = !unpack(s->reader, &s->reader->checkpoints.at[i], &k->payload);
    }
    return k->damaged ? NULL : &k->payload;
}

/* Reads a call that UP has called. NULL: none. */
static void read_call(struct fields *f, const struct trace_open_call *up,
                      struct trace_open_call *ret) {
    ret->id = fields_bounded(f, DISK_ID_MAX);
    ret->sp = (up ? up->sp : 0) - (uint64_t)fields_signed(f);
    ret->start = (up ? up->start : 0) + (uint64_t)fields_signed(f);
    uint64_t flags = fields_number(f);
    ret->before = flags & 1;
    ret->chain = flags & 2 ? fields_bounded(f, DISK_CHAINS_MAX) : 0;
    ret->child_ticks = fields_number(f);
    f->bad |= up && (ret->sp >= up->sp || ret->start < up->start);
}

/* Reads the next checkpoint's calls. S->calls has those of the one before, if WANTED. */
static void read_calls(struct trace_seeker *s, struct fields *f, bool wanted) {
    uint32_t kept = fields_bounded(f, DISK_FRAMES_MAX), count = fields_bounded(f, DISK_FRAMES_MAX);
    uint64_t callees = kept ? fields_number(f) : 0;
    struct trace_open_call call = {0};
    f->bad |= (wanted && kept > s->calls.count) || count > (size_t)(f->end - f->at) / FIELDS;
    if (f->bad)
        return;
    if (wanted)
        s->calls.count = kept;
    if (wanted && kept)
        s->calls.at[kept - 1].child_ticks = callees;
    for (uint32_t i = 0; i < count && !f->bad; i++) {
        if (!wanted) {
            read_call(f, NULL, &call);
            continue;
        }
        size_t n = s->calls.count;
        read_call(f, n ? &s->calls.at[n - 1] : NULL, &call);
        ARRAY_PUSH(&s->calls, call);
    }
}

/* Whether block I of checkpoints has that of STREAM's block that begins at TICKS. */
static bool read_from(struct trace_seeker *s, size_t i, uint32_t stream, uint64_t ticks) {
    const struct disk_block *head = &s->reader->checkpoints.at[i].block;
    if (ticks < head->first || ticks > head->last)
        return false;
    const struct bytes *payload = payload_of(s, i);
    if (!payload)
        return false;
    struct fields f = {payload->at, payload->at + payload->count, false};
    uint64_t count = fields_number(&f);
    s->calls.count = 0;
    for (uint64_t k = 0; k < count && !f.bad; k++) {
        bool wanted = fields_number(&f) == stream;
        uint64_t at = fields_number(&f);
        read_calls(s, &f, wanted);
        if (wanted && at == ticks && !f.bad)
            return !s->calls.count || s->calls.at[s->calls.count - 1].start <= ticks;
    }
    return false;
}

static uint64_t first_of(const struct trace_seeker *s, size_t block) {
    return s->reader->blocks.at[block].block.first;
}

/* A checkpoint's ticks tell its block, and which pauses came before it, only if no other block of
 * the stream has items of that time. */
static bool is_ambiguous(const struct trace_seeker *s, uint32_t stream, size_t block) {
    const struct trace_reader *r = s->reader;
    uint64_t ticks = first_of(s, block);
    return r->blocks.at[block - 1].block.last >= ticks ||
           (block + 1 < r->stream_first[stream + 1] && first_of(s, block + 1) <= ticks);
}

/* The checkpoint is in the next block of checkpoints, or near that if several threads wrote. */
bool trace_seeker_at(struct trace_seeker *s, uint32_t stream, size_t block,
                     struct trace_checkpoint *ret) {
    const struct trace_reader *r = s->reader;
    uint64_t offset = r->blocks.at[block].offset, ticks = first_of(s, block);
    size_t count = r->checkpoints.count;
    *ret = (struct trace_checkpoint){.block = block};
    if (block == r->stream_first[stream])
        return true;
    if (!trace_reader_has_checkpoints(r, stream) || is_ambiguous(s, stream, block))
        return false;
    size_t next = SEARCH(i, count, r->checkpoints.at[i].offset < offset);
    bool found = (next < count && read_from(s, next, stream, ticks)) ||
                 (next + 1 < count && read_from(s, next + 1, stream, ticks)) ||
                 (next && read_from(s, next - 1, stream, ticks));
    ret->count = (uint32_t)s->calls.count;
    ret->calls = s->calls.at;
    return found;
}

/* ---- searches ---- */

/* The last checkpoint of the blocks LEAST … BLOCK, if it is near. */
static bool find_near(struct trace_seeker *s, uint32_t stream, size_t least, size_t block,
                      struct trace_checkpoint *ret) {
    for (size_t i = 0; i < LOOK_BACK && block >= least + i; i++)
        if (trace_seeker_at(s, stream, block - i, ret))
            return true;
    return false;
}

/* Behind some block, a stream may have no checkpoints. */
bool trace_seeker_before(struct trace_seeker *s, uint32_t stream, uint64_t ticks,
                         struct trace_checkpoint *ret) {
    size_t first = s->reader->stream_first[stream], end = s->reader->stream_first[stream + 1];
    size_t count = SEARCH(i, end - first, first_of(s, first + i) <= ticks);
    if (!count)
        return false;
    size_t block = first + count - 1, step = 1;
    if (!trace_reader_has_checkpoints(s->reader, stream))
        return trace_seeker_at(s, stream, first, ret);
    size_t bad = block + 1; /* from here on, no checkpoint was found */
    while (!find_near(s, stream, first, block, ret)) {
        bad = block;
        step = step < block - first ? step * 2 : 0;
        block = step && step < block - first ? block - step : first;
    }
    size_t good = ret->block;
    while (good + 1 < bad) {
        size_t middle = good + (bad - good) / 2;
        if (find_near(s, stream, good + 1, middle, ret))
            good = ret->block;
        else
            bad = middle;
    }
    return trace_seeker_at(s, stream, good, ret);
}

enum answer { NO, YES, UNKNOWN /* there is no checkpoint */ };

struct search { /* for the end of a call */
    struct trace_seeker *seeker;
    uint32_t stream;
    const struct open_call_key *call;
};

/* Whether the call is open at the last checkpoint of the blocks LEAST … BLOCK. */
static enum answer find_open(const struct search *search, size_t least, size_t block,
                             struct trace_checkpoint *ret) {
    const struct trace_seeker *s = search->seeker;
    const struct open_call_key *call = search->call;
    if (!find_near(search->seeker, search->stream, least, block, ret))
        return UNKNOWN;
    if (call->depth >= ret->count)
        return NO;
    const struct trace_open_call *found = &ret->calls[call->depth];
    bool same = found->id == call->id && found->sp == call->sp &&
                trace_scale_ns(&s->reader->scale, found->start) == call->start_ns;
    return same ? YES : NO;
}

bool trace_seeker_last_open(struct trace_seeker *s, uint32_t stream, size_t from,
                            const struct open_call_key *call, struct trace_checkpoint *ret) {
    const struct search search = {s, stream, call};
    size_t end = s->reader->stream_first[stream + 1], step = 1;
    size_t good = from, bad = end; /* it is open at the blocks before GOOD, as far as known */
    for (size_t block = from; block < bad; block += step, step *= 2) {
        enum answer open = find_open(&search, good, block, ret);
        if (open == YES)
            good = ret->block + 1;
        if (open == NO)
            bad = block;
    }
    while (good < bad) {
        size_t middle = good + (bad - good) / 2;
        if (find_open(&search, good, middle, ret) == YES)
            good = ret->block + 1;
        else
            bad = middle;
    }
    return good > from && trace_seeker_at(s, stream, good - 1, ret);
}

/* ---- pauses ---- */

static void read_pauses(struct trace_reader *r, const struct disk_index_entry *entry) {
    struct bytes payload = {0};
    if (unpack(r, entry, &payload)) {
        struct fields f = {payload.at, payload.at + payload.count, false};
        uint64_t count = fields_number(&f), ticks = 0;
        for (uint64_t i = 0; i < count && !f.bad; i++) {
            struct stream_pause p = {.stream = fields_bounded(&f, UINT32_MAX)};
            p.pause.ticks = ticks += (uint64_t)fields_signed(&f);
            p.pause.length = fields_number(&f);
            if (!f.bad)
                ARRAY_PUSH(&r->pauses, p);
        }
    }
    free(payload.at);
}

static int compare_pauses(const void *a, const void *b) {
    const struct stream_pause *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->pause.ticks > y->pause.ticks) - (x->pause.ticks < y->pause.ticks);
}

static size_t pauses_begin(struct trace_reader *r, uint64_t stream) {
    return SEARCH(i, r->pauses.count, r->pauses.at[i].stream < stream);
}

static void load_pauses(struct trace_reader *r) {
    for (size_t i = 0; i < r->pause_blocks.count; i++)
        read_pauses(r, &r->pause_blocks.at[i]);
    if (r->pauses.count)
        qsort(r->pauses.at, r->pauses.count, sizeof *r->pauses.at, compare_pauses);
    r->pause_list = mem_alloc(r->pauses.count * sizeof *r->pause_list + 1);
    for (size_t i = 0; i < r->pauses.count; i++)
        r->pause_list[i] = r->pauses.at[i].pause;
    r->has_pauses = true;
}

const struct trace_pause *trace_reader_pauses(struct trace_reader *r, uint32_t stream,
                                              size_t *ret_count) {
    pthread_mutex_lock(&r->pauses_lock);
    if (!r->has_pauses)
        load_pauses(r);
    pthread_mutex_unlock(&r->pauses_lock);
    size_t first = pauses_begin(r, stream);
    *ret_count = pauses_begin(r, stream + (uint64_t)1) - first;
    return r->pause_list + first;
}
