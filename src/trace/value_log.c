/* Values between ring and trace. The columns of a block are made when its events are complete. */
#include "trace/value_log.h"

#include <stdlib.h>
#include <string.h>

#include "trace/recorded_values.h"
#include "trace/varint.h"
#include "values/slots.h"

enum {
    MOST_WAITING = 8 << 20,    /* words that wait for their events */
    MOST_IN_BLOCK = 128 << 10, /* words after which a block of events ends */
    MOST_OF_PIECE = 256 << 10, /* words in one block of values, whose payload stays below 4 MiB */
    WORD_BITS = 64
};

struct occurrence {
    uint32_t item, number;
    const struct numbered_capture *capture;
    size_t at; /* of its bitmap and words, in value_log.words */
};

struct value_log {
    ARRAY(struct waiting_values) queue;
    size_t head; /* how many of the queue are gone */
    ARRAY(struct occurrence) found;
    ARRAY(uint64_t) words; /* of all, in the order of their arrival; of those gone, too */
    size_t waiting_words, found_words, found_end; /* behind the words of what was found last */
    uint64_t dropped;                             /* for lack of memory */
};

struct value_log *value_log_new(void) {
    return mem_alloc(sizeof(struct value_log));
}

void value_log_free(struct value_log *log) {
    if (!log)
        return;
    ARRAY_FREE(&log->queue);
    ARRAY_FREE(&log->found);
    ARRAY_FREE(&log->words);
    free(log);
}

static size_t bitmap_words(const struct numbered_capture *c) {
    return (c->words + WORD_BITS - 1) / WORD_BITS;
}

static size_t payload_words(const struct numbered_capture *c) { return bitmap_words(c) + c->words; }

void value_batch_put(struct value_batch *b, const struct event_values *v) {
    const size_t bitmap = bitmap_words(v->capture), at = b->words.count;
    ARRAY_RESERVE(&b->words, at + payload_words(v->capture));
    for (size_t i = 0; i < bitmap; i++)
        b->words.at[at + i] = v->there[i];
    for (size_t i = 0; i < v->capture->words; i++)
        b->words.at[at + bitmap + i] = v->words[i];
    b->words.count += payload_words(v->capture);
    ARRAY_PUSH(&b->list, ((struct waiting_values){v->ticks, v->capture, v->number, at}));
}

void value_batch_done(struct value_batch *b) {
    ARRAY_FREE(&b->list);
    ARRAY_FREE(&b->words);
}

/* ---- waiting for the event ---- */

static bool is_empty(const struct value_log *log) { return log->head == log->queue.count; }

static void drop_first(struct value_log *log) {
    log->waiting_words -= payload_words(log->queue.at[log->head++].capture);
    if (!is_empty(log))
        return;
    log->head = log->queue.count = 0;
    log->words.count = log->found_end;
}

/* Moves what waits to the queue's begin, if much is gone. */
static void compact(struct value_log *log) {
    enum { LEAST = 4096 };
    if (log->head < LEAST || log->head < log->queue.count / 2)
        return;
    log->queue.count -= log->head;
    memmove(log->queue.at, log->queue.at + log->head, log->queue.count * sizeof *log->queue.at);
    log->head = 0;
}

void value_log_put(struct value_log *log, const struct value_batch *b) {
    while (log->waiting_words > MOST_WAITING) {
        drop_first(log);
        log->dropped++;
    }
    compact(log);
    const size_t at = log->words.count;
    ARRAY_RESERVE(&log->words, at + b->words.count);
    if (b->words.count)
        memcpy(log->words.at + at, b->words.at, b->words.count * sizeof *b->words.at);
    log->words.count += b->words.count;
    log->waiting_words += b->words.count;
    for (size_t i = 0; i < b->list.count; i++) {
        ARRAY_PUSH(&log->queue, b->list.at[i]);
        log->queue.at[log->queue.count - 1].at += at;
    }
}

static bool belongs(const struct waiting_values *w, const struct trace_event *e) {
    const struct numbered_capture *c = w->capture;
    return e->ticks == w->ticks && e->site == (c->id << 2 | c->capture.kind);
}

/* The first that waits is of ITEM. */
static void find(struct value_log *log, uint32_t item) {
    const struct waiting_values w = log->queue.at[log->head];
    const size_t payload = payload_words(w.capture);
    ARRAY_PUSH(&log->found, ((struct occurrence){item, w.number, w.capture, w.at}));
    log->found_words += payload;
    log->found_end = w.at + payload;
    drop_first(log);
}

void value_log_match(struct value_log *log, const struct trace_event *events, size_t count,
                     uint32_t first) {
    for (size_t i = 0; i < count && !is_empty(log); i++) {
        if (events[i].site >> 2 >= OWN_EVENTS)
            continue;
        while (!is_empty(log) && log->queue.at[log->head].ticks < events[i].ticks)
            drop_first(log);
        if (!is_empty(log) && belongs(&log->queue.at[log->head], &events[i]))
            find(log, first + (uint32_t)i);
    }
}

bool value_log_full(const struct value_log *log) { return log->found_words > MOST_IN_BLOCK; }

/* What was found is gone. */
static void forget_found(struct value_log *log) {
    const size_t gone = is_empty(log) ? log->words.count : log->queue.at[log->head].at;
    log->words.count -= gone;
    if (log->words.count)
        memmove(log->words.at, log->words.at + gone, log->words.count * sizeof *log->words.at);
    for (size_t i = log->head; i < log->queue.count; i++)
        log->queue.at[i].at -= gone;
    log->found.count = log->found_words = log->found_end = 0;
}

/* ---- blocks ---- */

struct dictionary_text {
    const uint8_t *bytes;
    uint32_t length, hash;
};

struct texts { /* each text of a block once */
    ARRAY(struct dictionary_text) list;
    ARRAY(uint8_t *) owned;
    uint32_t *table; /* indices + 1 */
    size_t room;
};

struct piece { /* a block of values that is being made */
    const struct value_log *log;
    const struct occurrence **order; /* by capture, then item */
    size_t count;
    struct texts texts;
    struct bytes columns, missing, text_numbers;
};

static uint32_t hash_of(const uint8_t *bytes, uint32_t length) {
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 by the golden ratio */
    uint64_t hash = length, part;
    for (; length >= sizeof part; length -= sizeof part, bytes += sizeof part) {
        memcpy(&part, bytes, sizeof part);
        hash = (hash ^ part) * factor;
        hash ^= hash >> 32;
    }
    part = 0;
    memcpy(&part, bytes, length);
    hash = (hash ^ part) * factor;
    return (uint32_t)(hash >> 32);
}

static void grow_texts(struct texts *t) {
    free(t->table);
    t->room = t->room ? t->room * 2 : 256;
    t->table = mem_alloc(t->room * sizeof *t->table);
    for (uint32_t i = 0; i < t->list.count; i++) {
        size_t at = t->list.at[i].hash & (t->room - 1);
        while (t->table[at])
            at = (at + 1) & (t->room - 1);
        t->table[at] = i + 1;
    }
}

/* The number of the text, which is copied if it is new. */
static uint32_t text_number(struct texts *t, const uint8_t *bytes, uint32_t length) {
    const uint32_t hash = hash_of(bytes, length);
    if (t->list.count * 2 >= t->room)
        grow_texts(t);
    size_t at = hash & (t->room - 1);
    for (; t->table[at]; at = (at + 1) & (t->room - 1)) {
        const struct dictionary_text *d = &t->list.at[t->table[at] - 1];
        if (d->hash == hash && d->length == length && memcmp(d->bytes, bytes, length) == 0)
            return t->table[at] - 1;
    }
    uint8_t *copy = mem_alloc(length + 1);
    memcpy(copy, bytes, length);
    ARRAY_PUSH(&t->owned, copy);
    ARRAY_PUSH(&t->list, ((struct dictionary_text){copy, length, hash}));
    t->table[at] = (uint32_t)t->list.count;
    return (uint32_t)t->list.count - 1;
}

static void texts_done(struct texts *t) {
    for (size_t i = 0; i < t->owned.count; i++)
        free(t->owned.at[i]);
    ARRAY_FREE(&t->owned);
    ARRAY_FREE(&t->list);
    free(t->table);
}

static struct recorded recorded_of(const struct piece *p, const struct occurrence *o) {
    const uint64_t *there = p->log->words.at + o->at;
    return (struct recorded){&o->capture->capture, there + bitmap_words(o->capture), there};
}

/* Notes the number of V's text. False: it is not there. */
static bool put_text(struct piece *p, const struct recorded *r, const struct capture_value *v,
                     unsigned word) {
    uint8_t text[CAPTURE_MOST_STRING + RECORDED_TEXT_MORE];
    const struct recorded_text t = recorded_text(r, v, word, text);
    if (t.there)
        bytes_put_varint(&p->text_numbers,
                         (uint64_t)text_number(&p->texts, text, t.length) << 1 | t.cut);
    return t.there;
}

/* The occurrences AT[count] of one capture that lack V, and the numbers of the others that are
 * texts. */
static void put_missing(struct piece *p, const struct occurrence *const *at, size_t count,
                        const struct capture_value *v, unsigned word) {
    const unsigned words = capture_value_words(v);
    size_t missing = 0, last = 0;
    p->missing.count = p->text_numbers.count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct recorded r = recorded_of(p, at[i]);
        if (v->string ? put_text(p, &r, v, word) : recorded_is_there(&r, word, words))
            continue;
        bytes_put_varint(&p->missing, i - last);
        bytes_put_varint(&p->missing, VALUE_UNREADABLE);
        last = i;
        missing++;
    }
    bytes_put_varint(&p->columns, missing);
    bytes_put(&p->columns, p->missing.at, p->missing.count);
    bytes_put(&p->columns, p->text_numbers.at, p->text_numbers.count);
}

static void put_numbers(struct piece *p, const struct occurrence *const *at, size_t count,
                        const struct capture_value *v, unsigned word) {
    const unsigned words = capture_value_words(v);
    bytes_reserve(&p->columns, words * count * VARINT_MAX_BYTES);
    uint8_t *out = p->columns.at + p->columns.count;
    for (unsigned k = 0; k < words; k++) {
        uint64_t before = 0;
        for (size_t i = 0; i < count; i++) {
            const struct recorded r = recorded_of(p, at[i]);
            if (p->missing.count && !recorded_is_there(&r, word, words))
                continue;
            const uint64_t now = recorded_number(&r, v, k, word + k);
            out = varint_put(out, zigzag((int64_t)(now - before)));
            before = now;
        }
    }
    p->columns.count = (size_t)(out - p->columns.at);
}

static void put_columns(struct piece *p, const struct occurrence *const *at, size_t count) {
    const struct capture *c = &at[0]->capture->capture;
    unsigned word = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct capture_value *v = &c->values[i];
        const unsigned words = capture_value_words(v);
        if (!words)
            continue;
        put_missing(p, at, count, v, word);
        if (!v->string)
            put_numbers(p, at, count, v, word);
        word += words;
    }
}

/* Sorts P's occurrences, from FIRST on, by their captures' numbers; those of one stay in order. A
 * byte of the numbers at a time, the lowest one first. */
static void sort(struct piece *p, const struct occurrence *first) {
    enum { BITS = 8, VALUES = 1 << BITS };
    const struct occurrence **next = mem_alloc(p->count * sizeof *next);
    uint32_t most = 0;
    for (size_t i = 0; i < p->count; i++) {
        p->order[i] = &first[i];
        most |= first[i].number;
    }
    for (unsigned shift = 0; shift < 32 && most >> shift; shift += BITS) {
        size_t begins[VALUES + 1] = {0};
        for (size_t i = 0; i < p->count; i++)
            begins[(p->order[i]->number >> shift) % VALUES + 1]++;
        for (size_t i = 1; i < VALUES; i++)
            begins[i] += begins[i - 1];
        for (size_t i = 0; i < p->count; i++)
            next[begins[(p->order[i]->number >> shift) % VALUES]++] = p->order[i];
        const struct occurrence **before = p->order;
        p->order = next;
        next = before;
    }
    free(next);
}

/* The payload: its head, the dictionary, then the columns of each capture. */
static struct block *make_block(struct piece *p, const struct occurrence *first, uint32_t stream,
                                uint64_t ticks) {
    struct block *block = block_new(DISK_VALUES);
    struct bytes *b = &block->parts[0];
    uint32_t item = 0;
    bytes_put_varint(b, stream);
    bytes_put_varint(b, ticks);
    bytes_put_varint(b, p->count);
    for (size_t i = 0; i < p->count; i++) {
        bytes_put_varint(b, first[i].item - item);
        bytes_put_varint(b, first[i].number);
        item = first[i].item;
    }
    bytes_put_varint(b, p->texts.list.count);
    for (size_t i = 0; i < p->texts.list.count; i++) {
        bytes_put_varint(b, p->texts.list.at[i].length);
        bytes_put(b, p->texts.list.at[i].bytes, p->texts.list.at[i].length);
    }
    bytes_put(b, p->columns.at, p->columns.count);
    block->head.stream = stream;
    block->head.items = (uint32_t)p->count;
    block->head.first = block->head.last = ticks;
    return block;
}

/* Makes a block of P's occurrences, from FIRST on. */
static struct block *make_piece(struct piece p, const struct occurrence *first,
                                const struct value_sink *sink, uint32_t stream, uint64_t ticks) {
    const size_t count = p.count;
    p.order = mem_alloc(count * sizeof *p.order);
    sort(&p, first);
    for (size_t i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && p.order[i + n]->number == p.order[i]->number;)
            n++;
        sink->capture(sink->ctx, p.order[i]->number, p.order[i]->capture);
        put_columns(&p, p.order + i, n);
    }
    struct block *block = make_block(&p, first, stream, ticks);
    free(p.order);
    free(p.columns.at);
    free(p.missing.at);
    free(p.text_numbers.at);
    texts_done(&p.texts);
    return block;
}

void value_log_take(struct value_log *log, uint32_t stream, uint64_t ticks,
                    const struct value_sink *sink) {
    for (size_t i = 0, n; i < log->found.count; i += n) {
        const struct occurrence *first = &log->found.at[i];
        for (n = 1; i + n < log->found.count && first[n].at - first->at < MOST_OF_PIECE;)
            n++;
        sink->push(sink->ctx,
                   make_piece((struct piece){.log = log, .count = n}, first, sink, stream, ticks));
    }
    forget_found(log);
}

/* ---- the record of a capture ---- */

static void put_value(struct bytes *b, const struct capture_value *v) {
    const bool recorded = capture_value_records(v);
    const uint64_t more[] = {v->bytes,
                             v->at,
                             v->shift,
                             v->width,
                             (uint8_t)v->format,
                             recorded ? VALUE_THERE : v->missing,
                             v->string ? v->unit : 0,
                             v->string ? v->most : 0,
                             (uint64_t)(v->length_of + 1),
                             v->from == FROM_CONSTANT,
                             v->constant};
    const size_t count = sizeof more / sizeof *more;
    bytes_put_string(b, v->name);
    bytes_put_varint(b, v->type);
    bytes_put_varint(b, (uint64_t)v->pointee | (uint64_t)v->string << 1);
    bytes_put_varint(b, count);
    for (size_t i = 0; i < count; i++)
        bytes_put_varint(b, more[i]);
}

struct block *record_capture(uint32_t number, const struct numbered_capture *n) {
    struct block *block = block_new(DISK_CAPTURES);
    struct bytes *b = &block->parts[0];
    bytes_put_varint(b, number);
    bytes_put_varint(b, n->id);
    bytes_put_varint(b, n->capture.kind);
    bytes_put_varint(b, n->capture.count);
    for (size_t i = 0; i < n->capture.count; i++)
        put_value(b, &n->capture.values[i]);
    return block;
}
