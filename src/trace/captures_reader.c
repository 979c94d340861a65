/* Loads the records of captures. */
#include "trace/file.h"

#include <stdlib.h>

#include "base/search.h"
#include "trace/records.h"
#include "values/slots.h"

/* The fields behind the flags: trace/value_log.c, put_value(). */
enum {
    BYTES,
    AT,
    SHIFT,
    WIDTH,
    FORMAT,
    MISSING,
    UNIT,
    MOST,
    LENGTH_OF,
    IS_CONSTANT,
    CONSTANT,
    FIELDS
};

static bool is_sound(const struct capture_value *v, size_t index) {
    if (v->string)
        return (v->unit == 1 || v->unit == 2 || v->unit == 4) && v->most <= CAPTURE_MOST_STRING &&
               v->length_of < (int)index;
    return v->bytes <= CAPTURE_MOST_BYTES && (v->bytes > 0 || !capture_value_records(v));
}

static bool load_value(struct fields *f, size_t index, struct capture_value *v) {
    uint64_t more[FIELDS] = {0};
    v->name = fields_text(f);
    v->type = fields_bounded(f, UINT32_MAX);
    const uint64_t flags = fields_number(f);
    const uint32_t count = fields_bounded(f, UINT16_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t number = fields_number(f);
        if (i < FIELDS)
            more[i] = number;
    }
    v->pointee = flags & 1;
    v->string = flags & 2;
    v->bytes = (uint16_t)more[BYTES];
    v->at = (uint32_t)more[AT];
    v->shift = (uint8_t)more[SHIFT];
    v->width = (uint8_t)more[WIDTH];
    v->format = (char)more[FORMAT];
    v->missing =
        more[MISSING] <= VALUE_GONE ? (enum capture_missing)more[MISSING] : VALUE_UNREADABLE;
    v->unit = (uint8_t)more[UNIT];
    v->most = (uint16_t)more[MOST];
    v->length_of = (int16_t)(more[LENGTH_OF] <= CAPTURE_MOST_VALUES ? more[LENGTH_OF] : 0) - 1;
    v->constant = more[CONSTANT];
    const bool empty = !v->string && !v->bytes; /* an object without members */
    v->from = more[IS_CONSTANT]     ? FROM_CONSTANT
              : v->missing || empty ? FROM_NOTHING
                                    : FROM_REGISTER;
    return !f->bad && is_sound(v, index);
}

bool captures_load(struct trace_reader *r, struct fields *f) {
    struct read_capture c = {.number = fields_bounded(f, UINT32_MAX),
                             .id = fields_bounded(f, DISK_ID_MAX)};
    c.capture.kind = (enum event_kind)fields_bounded(f, EVENT_CONTROL);
    const uint32_t count = fields_bounded(f, CAPTURE_MOST_VALUES);
    bool ok = !f->bad;
    if (ok)
        c.capture.values = mem_alloc(count * sizeof *c.capture.values);
    r->payload_bytes += count * sizeof *c.capture.values;
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = load_value(f, i, &c.capture.values[i]);
        c.capture.count = i + 1;
    }
    if (ok)
        ARRAY_PUSH(&r->captures, c);
    else
        free(c.capture.values);
    return ok;
}

static int compare_numbers(const void *a, const void *b) {
    const struct read_capture *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Parts of a recording repeat the records of captures; they are the same. */
void captures_sort(struct trace_reader *r) {
    size_t kept = 0;
    if (r->captures.count)
        qsort(r->captures.at, r->captures.count, sizeof *r->captures.at, compare_numbers);
    for (size_t i = 0; i < r->captures.count; i++) {
        if (kept && r->captures.at[kept - 1].number == r->captures.at[i].number)
            free(r->captures.at[i].capture.values);
        else
            r->captures.at[kept++] = r->captures.at[i];
    }
    r->captures.count = kept;
}

const struct read_capture *captures_find(const struct trace_reader *r, uint32_t number) {
    const size_t i = SEARCH(k, r->captures.count, r->captures.at[k].number < number);
    return i < r->captures.count && r->captures.at[i].number == number ? &r->captures.at[i] : NULL;
}

void captures_done(struct trace_reader *r) {
    for (size_t i = 0; i < r->captures.count; i++)
        free(r->captures.at[i].capture.values);
    ARRAY_FREE(&r->captures);
    ARRAY_FREE(&r->value_blocks);
}

/* A block's pieces keep their order. */
static int compare_blocks(const void *a, const void *b) {
    const struct disk_index_entry *x = a, *y = b;
    if (x->block.stream != y->block.stream)
        return x->block.stream < y->block.stream ? -1 : 1;
    if (x->block.first != y->block.first)
        return x->block.first < y->block.first ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

void values_group(struct trace_reader *r) {
    for (size_t i = 0; i < r->blocks.count; i++)
        if (r->blocks.at[i].block.type == DISK_VALUES)
            ARRAY_PUSH(&r->value_blocks, r->blocks.at[i]);
    if (r->value_blocks.count)
        qsort(r->value_blocks.at, r->value_blocks.count, sizeof *r->value_blocks.at,
              compare_blocks);
}
