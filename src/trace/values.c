/* Decodes blocks of values: the inverse of value_log.c. The bytes are untrusted. */
#include "trace/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "trace/file.h"
#include "trace/records.h"
#include "trace/varint.h"
#include "values/slots.h"

struct occurrence {
    uint32_t item;
    const struct read_capture *capture;
    size_t at; /* of its values, in trace_values.values */
    uint64_t ticks;
    uint32_t site;
};

struct text {
    const uint8_t *bytes; /* in a payload */
    uint32_t length;
};

struct trace_values {
    struct trace_reader *reader;
    struct trace_block *items;
    size_t block; /* the event block whose values are here; NO_BLOCK: none */
    ARRAY(struct occurrence) found;
    size_t next; /* of those: where the next look-up begins */
    ARRAY(struct captured) values;
    ARRAY(uint8_t *) owned; /* payloads and numbers that values point to */
};

struct types *trace_reader_types(const struct trace_reader *r) {
    return r->types;
}

struct trace_values *trace_values_new(struct trace_reader *r) {
    struct trace_values *v = mem_alloc(sizeof *v);
    v->reader = r;
    v->block = NO_BLOCK;
    return v;
}

static void forget(struct trace_values *v) {
    for (size_t i = 0; i < v->owned.count; i++)
        free(v->owned.at[i]);
    v->owned.count = v->values.count = v->found.count = v->next = 0;
    v->block = NO_BLOCK;
}

void trace_values_free(struct trace_values *v) {
    if (!v)
        return;
    forget(v);
    ARRAY_FREE(&v->owned);
    ARRAY_FREE(&v->values);
    ARRAY_FREE(&v->found);
    trace_block_free(v->items);
    free(v);
}

/* ---- one block of values ---- */

struct piece {
    struct trace_values *to;
    struct fields f;
    size_t first, count; /* its occurrences, in to->found */
    const struct occurrence **order;
    struct text *texts;
    uint32_t text_count;
};

/* What is known of V before a block is read: all of a constant. */
static struct captured unread(const struct capture_value *v) {
    const bool constant = v->from == FROM_CONSTANT && v->bytes <= sizeof v->constant;
    return (struct captured){.missing = v->missing,
                             .bytes = constant ? (const uint8_t *)&v->constant : NULL,
                             .length = constant ? v->bytes : 0};
}

static bool read_occurrences(struct piece *p, const struct disk_block *events) {
    struct trace_values *v = p->to;
    fields_number(&p->f); /* the stream, as the file numbers it */
    const uint64_t ticks = fields_number(&p->f);
    const uint64_t count = fields_number(&p->f);
    uint64_t item = 0;
    p->first = v->found.count;
    if (p->f.bad || ticks != events->first || count > events->items)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        item += fields_number(&p->f);
        struct occurrence o = {.capture =
                                   captures_find(v->reader, fields_bounded(&p->f, UINT32_MAX)),
                               .at = v->values.count};
        if (p->f.bad || !o.capture || item >= events->items)
            return false;
        o.item = (uint32_t)item;
        for (size_t k = 0; k < o.capture->capture.count; k++)
            ARRAY_PUSH(&v->values, unread(&o.capture->capture.values[k]));
        ARRAY_PUSH(&v->found, o);
    }
    p->count = (size_t)count;
    return true;
}

static bool read_texts(struct piece *p) {
    const uint64_t count = fields_number(&p->f);
    if (p->f.bad || count > (size_t)(p->f.end - p->f.at))
        return false;
    p->texts = mem_alloc(count * sizeof *p->texts + 1);
    p->text_count = (uint32_t)count;
    for (uint32_t i = 0; i < count && !p->f.bad; i++) {
        p->texts[i].length = fields_bounded(&p->f, CAPTURE_MOST_STRING);
        p->texts[i].bytes = fields_bytes(&p->f, p->texts[i].length);
    }
    return !p->f.bad;
}

/* The occurrences AT[count] of one capture that lack value VALUE. */
static bool read_missing(struct piece *p, const struct occurrence *const *at, size_t count,
                         size_t value) {
    const uint64_t missing = fields_number(&p->f);
    uint64_t i = 0;
    if (p->f.bad || missing > count)
        return false;
    for (uint64_t n = 0; n < missing; n++) {
        i += fields_number(&p->f);
        const uint32_t reason = fields_bounded(&p->f, VALUE_GONE);
        if (p->f.bad || i >= count || !reason)
            return false;
        p->to->values.at[at[i]->at + value].missing = (enum capture_missing)reason;
    }
    return true;
}

static bool read_text_column(struct piece *p, const struct occurrence *const *at, size_t count,
                             size_t value) {
    for (size_t i = 0; i < count; i++) {
        struct captured *c = &p->to->values.at[at[i]->at + value];
        if (c->missing)
            continue;
        const uint64_t number = fields_number(&p->f);
        if (p->f.bad || number >> 1 >= p->text_count)
            return false;
        c->bytes = p->texts[number >> 1].bytes;
        c->length = p->texts[number >> 1].length;
        c->cut = number & 1;
    }
    return true;
}

/* The columns of a value of BYTES bytes: one for each of its words. */
static bool read_numbers(struct piece *p, const struct occurrence *const *at, size_t count,
                         size_t value) {
    const struct capture_value *v = &at[0]->capture->capture.values[value];
    const size_t size = (v->bytes + 7u) & ~7u;
    uint8_t *store = mem_alloc(count * size + 1);
    ARRAY_PUSH(&p->to->owned, store);
    for (size_t k = 0; k < size; k += 8) {
        uint64_t word = 0;
        for (size_t i = 0; i < count; i++) {
            struct captured *c = &p->to->values.at[at[i]->at + value];
            if (c->missing)
                continue;
            word += (uint64_t)fields_signed(&p->f);
            memcpy(store + i * size + k, &word, sizeof word);
            c->bytes = store + i * size;
            c->length = v->bytes;
        }
    }
    return !p->f.bad;
}

static bool read_columns(struct piece *p, const struct occurrence *const *at, size_t count) {
    const struct capture *c = &at[0]->capture->capture;
    for (size_t i = 0; i < c->count; i++) {
        const struct capture_value *v = &c->values[i];
        if (!capture_value_words(v))
            continue;
        if (!read_missing(p, at, count, i) ||
            !(v->string ? read_text_column(p, at, count, i) : read_numbers(p, at, count, i)))
            return false;
    }
    return true;
}

static int compare_order(const void *a, const void *b) {
    const struct occurrence *x = *(const struct occurrence *const *)a,
                            *y = *(const struct occurrence *const *)b;
    const uint32_t m = x->capture->number, n = y->capture->number;
    return m != n ? (m > n) - (m < n) : (x > y) - (x < y);
}

static bool read_piece(struct piece *p, const struct disk_block *events) {
    if (!read_occurrences(p, events) || !read_texts(p))
        return false;
    p->order = mem_alloc(p->count * sizeof *p->order + 1);
    for (size_t i = 0; i < p->count; i++)
        p->order[i] = &p->to->found.at[p->first + i];
    qsort(p->order, p->count, sizeof *p->order, compare_order);
    bool ok = true;
    for (size_t i = 0, n; ok && i < p->count; i += n) {
        for (n = 1; i + n < p->count && p->order[i + n]->capture == p->order[i]->capture;)
            n++;
        ok = read_columns(p, p->order + i, n);
    }
    return ok;
}

void trace_reader_watch_values(struct trace_reader *r,
                               void (*on_damage)(void *ctx, const struct err *err), void *ctx) {
    r->on_damaged_values = on_damage;
    r->damage_ctx = ctx;
}

/* If captures are damaged, so that their values cannot be read, the reader's warning tells. */
static void report_damage(const struct trace_reader *r) {
    struct err err;
    if (!r->on_damaged_values || r->damaged_blocks)
        return;
    err_set(&err, EILSEQ, "corrupt-block", "%s: is damaged: values of some calls are left out",
            r->path);
    r->on_damaged_values(r->damage_ctx, &err);
}

/* Adds the values of one block; of a damaged one, none. */
static void add_piece(struct trace_values *v, const struct disk_index_entry *entry,
                      const struct disk_block *events) {
    struct bytes payload = {0};
    const size_t found = v->found.count;
    if (!unpack(v->reader, entry, &payload)) {
        free(payload.at);
        report_damage(v->reader);
        return;
    }
    struct piece p = {.to = v, .f = {payload.at, payload.at + payload.count, false}};
    ARRAY_PUSH(&v->owned, payload.at);
    if (!read_piece(&p, events)) {
        v->found.count = found;
        report_damage(v->reader);
    }
    free(p.order);
    free(p.texts);
}

/* ---- the block of events ---- */

/* Gives occurrences the ticks and sites of their items. Those behind damage are dropped. */
static void take_items(struct trace_values *v, size_t block) {
    const struct trace_item *items;
    size_t next = 0, n;
    uint32_t first = 0;
    if (!v->items)
        v->items = trace_block_new(v->reader);
    if (trace_block_open(v->items, block))
        for (; next < v->found.count && (n = trace_block_batch(v->items, &items)) > 0;
             first += (uint32_t)n)
            for (; next < v->found.count && v->found.at[next].item < first + n; next++) {
                const struct trace_item *i = &items[v->found.at[next].item - first];
                v->found.at[next].ticks = i->ticks;
                v->found.at[next].site =
                    i->kind == TRACE_EVENT ? i->id << 2 | i->event : UINT32_MAX;
            }
    v->found.count = next;
}

static int compare_items(const void *a, const void *b) {
    const struct occurrence *x = a, *y = b;
    return (x->item > y->item) - (x->item < y->item);
}

static void load(struct trace_values *v, size_t block) {
    const struct trace_reader *r = v->reader;
    const struct disk_block *head = &r->blocks.at[block].block;
    forget(v);
    v->block = block;
    size_t i = SEARCH(k, r->value_blocks.count,
                      r->value_blocks.at[k].block.stream < head->stream ||
                          (r->value_blocks.at[k].block.stream == head->stream &&
                           r->value_blocks.at[k].block.first < head->first));
    for (; i < r->value_blocks.count && r->value_blocks.at[i].block.stream == head->stream &&
           r->value_blocks.at[i].block.first == head->first;
         i++)
        add_piece(v, &r->value_blocks.at[i], head);
    if (!v->found.count)
        return;
    qsort(v->found.at, v->found.count, sizeof *v->found.at, compare_items);
    take_items(v, block);
}

/* Looks in the loaded block. */
static bool look(struct trace_values *v, const struct trace_event_key *e,
                 struct trace_occurrence *ret) {
    const uint32_t site = e->id << 2 | e->kind;
    size_t i = v->next;
    if (i >= v->found.count || v->found.at[i].ticks > e->ticks ||
        (i && v->found.at[i - 1].ticks >= e->ticks))
        i = 0;
    if (i < v->found.count && v->found.at[i].ticks < e->ticks)
        i += SEARCH(k, v->found.count - i, v->found.at[i + k].ticks < e->ticks);
    for (; i < v->found.count && v->found.at[i].ticks == e->ticks; i++) {
        if (v->found.at[i].site != site)
            continue;
        v->next = i + 1;
        *ret = (struct trace_occurrence){&v->found.at[i].capture->capture,
                                         v->values.at + v->found.at[i].at};
        return true;
    }
    return false;
}

bool trace_values_find(struct trace_values *v, const struct trace_event_key *e,
                       struct trace_occurrence *ret) {
    struct trace_reader *r = v->reader;
    if (!r->value_blocks.count || e->stream >= r->threads.count)
        return false;
    const size_t first = r->stream_first[e->stream], end = r->stream_first[e->stream + 1];
    if (first == end)
        return false;
    size_t block = v->block;
    const bool here = block >= first && block < end && r->blocks.at[block].block.first < e->ticks &&
                      e->ticks <= r->blocks.at[block].block.last;
    if (!here)
        block = first + SEARCH(k, end - first, r->blocks.at[first + k].block.first <= e->ticks) - 1;
    if (block + 1 == first || block == SIZE_MAX)
        return false;
    /* Events of equal ticks may be in several blocks. */
    for (;; block--) {
        if (block != v->block)
            load(v, block);
        if (look(v, e, ret))
            return true;
        if (block == first || r->blocks.at[block].block.first < e->ticks)
            return false;
    }
}

bool trace_values_at(struct trace_values *v, size_t block, size_t i, struct trace_event_key *event,
                     struct trace_occurrence *ret) {
    if (block != v->block)
        load(v, block);
    if (i >= v->found.count)
        return false;
    const struct occurrence *o = &v->found.at[i];
    *event = (struct trace_event_key){.stream = v->reader->blocks.at[block].block.stream,
                                      .id = o->site >> 2,
                                      .kind = (enum event_kind)(o->site & 3),
                                      .ticks = o->ticks};
    *ret = (struct trace_occurrence){&o->capture->capture, v->values.at + o->at};
    return true;
}

/* ---- captures ---- */

bool trace_reader_has_values(const struct trace_reader *r) { return r->value_blocks.count > 0; }

size_t trace_reader_capture_count(const struct trace_reader *r) { return r->captures.count; }

const struct capture *trace_reader_capture(const struct trace_reader *r, size_t i,
                                           uint32_t *ret_id) {
    *ret_id = r->captures.at[i].id;
    return &r->captures.at[i].capture;
}
