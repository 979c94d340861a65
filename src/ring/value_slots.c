/* Collects the words of values. */
#include "ring/value_slots.h"

#include <string.h>

#include "base/mem.h"

enum { WORD_BITS = 64, UPPER = 48 };

void value_slots_done(struct value_slots *s) {
    free(s->words);
    free(s->there);
    *s = (struct value_slots){0};
}

static void begin(struct value_slots *s, uint32_t number) {
    s->capture = captures_get(s->captures, number);
    s->number = number;
    if (!s->capture)
        return;
    const size_t words = s->capture->words;
    if (words > s->room || !s->there) {
        s->room = words;
        s->words = mem_resize(s->words, words + 1, sizeof *s->words);
        s->there = mem_resize(s->there, words / WORD_BITS + 1, sizeof *s->there);
    }
    memset(s->words, 0, words * sizeof *s->words);
    memset(s->there, 0, (words / WORD_BITS + 1) * sizeof *s->there);
}

static void set_there(struct value_slots *s, uint32_t word) {
    s->there[word / WORD_BITS] |= UINT64_C(1) << word % WORD_BITS;
}

static void put_whole(struct value_slots *s, const struct event *e) {
    const uint32_t word = event_word_number(e);
    if (!s->capture || word >= s->capture->words)
        return;
    s->words[word] = event_word(e);
    set_there(s, word);
}

static void put_low(struct value_slots *s, uint32_t word, uint64_t value) {
    s->words[word] = (uint64_t)((int64_t)(value << (WORD_BITS - UPPER)) >> (WORD_BITS - UPPER));
    set_there(s, word);
}

/* The upper bits of a word stand behind the lower ones, if they are no sign extension. */
static void put_high(struct value_slots *s, uint32_t word, uint64_t value) {
    s->words[word] = value << UPPER | (s->words[word] & EVENT_CLOCK_MASK);
}

void value_slots_take(struct value_slots *s, const struct event *e) {
    const uint32_t id = e->site >> 2;
    const uint64_t value = event_sp(e);
    if (is_whole_word(e))
        put_whole(s, e);
    else if (id == CAPTURE_BEGIN)
        begin(s, (uint32_t)value);
    else if (s->capture && id - CAPTURE_WORD < s->capture->words)
        put_low(s, id - CAPTURE_WORD, value);
    else if (s->capture && id - CAPTURE_HIGH < s->capture->words)
        put_high(s, id - CAPTURE_HIGH, value);
}

bool value_slots_end(struct value_slots *s, const struct trace_event *e, struct event_values *ret) {
    const struct numbered_capture *c = s->capture;
    s->capture = NULL;
    if (!c || e->site != (c->id << 2 | c->capture.kind))
        return false;
    if (c->capture.derives)
        capture_derive(&c->capture, s->words, s->there);
    *ret = (struct event_values){e->ticks, s->number, c, s->words, s->there};
    return true;
}
