/* Values between ring and trace. The columns of a block are made when its events are complete. */
#include "trace/value_log.h"

#include <stdlib.h>
#include <string.h>

#include "trace/recorded.h"
#include "trace/varint.h"
#include "values/slots.h"

enum {
    MOST_WAITING = 8 << 20,    /* words that wait for their events */
    MOST_IN_BLOCK = 128 << 10, /* words after which a block of events ends */
    MOST_OF_PIECE = 256 << 10, /* words in one block of values, whose payload stays below 4 MiB */
    WORD_BITS = 64
};

struct waiting { /* in the queue, followed by the bitmap and the words */
    uint64_t ticks;
    const struct numbered_capture *capture;
    uint64_t number;
};
enum { WAITING_WORDS = sizeof(struct waiting) / sizeof(uint64_t) };
_Static_assert(sizeof(void *) <= sizeof(uint64_t), "");

struct occurrence {
    uint32_t item, number;
    const struct numbered_capture *capture;
    size_t at; /* of its bitmap and words, in value_log.words */
};

struct value_log {
    ARRAY(uint64_t) queue;
    size_t head; /* words of the queue that are gone */
    ARRAY(struct occurrence) found;
    ARRAY(uint64_t) words;
    uint64_t dropped; /* for lack of memory */
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

/* ---- waiting for the event ---- */

static struct waiting first_of(const struct value_log *log) {
    struct waiting w;
    memcpy(&w, log->queue.at + log->head, sizeof w);
    return w;
}

static bool is_empty(const struct value_log *log) { return log->head == log->queue.count; }

static void drop_first(struct value_log *log) {
    log->head += WAITING_WORDS + payload_words(first_of(log).capture);
    if (is_empty(log))
        log->head = log->queue.count = 0;
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

static void push_words(struct value_log *log, const uint64_t *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        ARRAY_PUSH(&log->queue, words[i]);
}

void value_log_put(struct value_log *log, const struct event_values *v) {
    const struct waiting w = {v->ticks, v->capture, v->number};
    uint64_t head[WAITING_WORDS] = {0};
    memcpy(head, &w, sizeof w);
    while (log->queue.count - log->head > MOST_WAITING) {
        drop_first(log);
        log->dropped++;
    }
    compact(log);
    push_words(log, head, WAITING_WORDS);
    push_words(log, v->there, bitmap_words(v->capture));
    push_words(log, v->words, v->capture->words);
}

static void find(struct value_log *log, const struct waiting *w, uint32_t item) {
    const struct occurrence o = {item, (uint32_t)w->number, w->capture, log->words.count};
    const uint64_t *from = log->queue.at + log->head + WAITING_WORDS;
    for (size_t i = 0; i < payload_words(w->capture); i++)
        ARRAY_PUSH(&log->words, from[i]);
    ARRAY_PUSH(&log->found, o);
}

static bool belongs(const struct waiting *w, const struct trace_event *e) {
    const struct numbered_capture *c = w->capture;
    return e->ticks == w->ticks && e->site == (c->id << 2 | c->capture.kind);
}

void value_log_match(struct value_log *log, const struct trace_event *events, size_t count,
                     uint32_t first) {
    for (size_t i = 0; i < count && !is_empty(log); i++) {
        if (events[i].site >> 2 >= OWN_EVENTS)
            continue;
        struct waiting w = first_of(log);
        while (!is_empty(log) && (w = first_of(log)).ticks < events[i].ticks)
            drop_first(log);
        if (is_empty(log) || !belongs(&w, &events[i]))
            continue;
        find(log, &w, first + (uint32_t)i);
        drop_first(log);
    }
}

bool value_log_full(const struct value_log *log) { return log->words.count > MOST_IN_BLOCK; }

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
    struct bytes columns;
};

static uint32_t hash_of(const uint8_t *bytes, size_t length) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
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

static bool is_there(const struct piece *p, const struct occurrence *o,
                     const struct capture_value *v, unsigned word) {
    const struct recorded r = recorded_of(p, o);
    return recorded_is_there(&r, v, word);
}

/* The occurrences AT[count] of one capture that lack V. */
static void put_missing(struct piece *p, const struct occurrence *const *at, size_t count,
                        const struct capture_value *v, unsigned word) {
    size_t missing = 0, last = 0;
    for (size_t i = 0; i < count; i++)
        missing += !is_there(p, at[i], v, word);
    bytes_put_varint(&p->columns, missing);
    for (size_t i = 0; missing && i < count; i++) {
        if (is_there(p, at[i], v, word))
            continue;
        bytes_put_varint(&p->columns, i - last);
        bytes_put_varint(&p->columns, VALUE_UNREADABLE);
        last = i;
    }
}

static void put_texts(struct piece *p, const struct occurrence *const *at, size_t count,
                      const struct capture_value *v, unsigned word) {
    uint8_t text[CAPTURE_MOST_STRING + 8];
    for (size_t i = 0; i < count; i++) {
        const struct recorded r = recorded_of(p, at[i]);
        const struct recorded_text t = recorded_text(&r, v, word, text);
        if (t.there)
            bytes_put_varint(&p->columns,
                             (uint64_t)text_number(&p->texts, text, t.length) << 1 | t.cut);
    }
}

static void put_numbers(struct piece *p, const struct occurrence *const *at, size_t count,
                        const struct capture_value *v, unsigned word) {
    for (unsigned k = 0; k < capture_value_words(v); k++) {
        uint64_t before = 0;
        for (size_t i = 0; i < count; i++) {
            if (!is_there(p, at[i], v, word))
                continue;
            const struct recorded r = recorded_of(p, at[i]);
            const uint64_t now = recorded_number(&r, v, k, word + k);
            bytes_put_varint(&p->columns, zigzag((int64_t)(now - before)));
            before = now;
        }
    }
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
        if (v->string)
            put_texts(p, at, count, v, word);
        else
            put_numbers(p, at, count, v, word);
        word += words;
    }
}

static int compare_order(const void *a, const void *b) {
    const struct occurrence *x = *(const struct occurrence *const *)a,
                            *y = *(const struct occurrence *const *)b;
    return x->number != y->number ? (x->number > y->number) - (x->number < y->number)
                                  : (x > y) - (x < y);
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
    for (size_t i = 0; i < count; i++)
        p.order[i] = &first[i];
    qsort(p.order, count, sizeof *p.order, compare_order);
    for (size_t i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && p.order[i + n]->number == p.order[i]->number;)
            n++;
        sink->capture(sink->ctx, p.order[i]->number, p.order[i]->capture);
        put_columns(&p, p.order + i, n);
    }
    struct block *block = make_block(&p, first, stream, ticks);
    free(p.order);
    free(p.columns.at);
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
    log->found.count = log->words.count = 0;
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
