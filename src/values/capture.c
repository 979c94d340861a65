/* The life of a capture. */
#include "values/capture.h"

#include "base/mem.h"
#include "values/slots.h"

void capture_done(struct capture *c) {
    for (size_t i = 0; i < c->name_count; i++)
        free(c->names[i]);
    free(c->names);
    free(c->values);
    *c = (struct capture){0};
}

void capture_copy(struct capture *ret, const struct capture *from) {
    struct capture copy = *from;
    copy.values = mem_alloc(from->count * sizeof *copy.values);
    copy.names = mem_alloc(from->count * sizeof *copy.names);
    copy.name_count = 0;
    for (size_t i = 0; i < from->count; i++) {
        copy.values[i] = from->values[i];
        if (!from->values[i].name)
            continue;
        copy.names[copy.name_count] = mem_strdup(from->values[i].name);
        copy.values[i].name = copy.names[copy.name_count++];
    }
    *ret = copy;
}

void capture_add_hidden(struct capture *c) {
    c->values = mem_resize(c->values, c->count + 1, sizeof *c->values);
    c->values[c->count++] =
        (struct capture_value){.from = FROM_REGISTER, .bytes = 1, .name = "", .length_of = -1};
}

bool capture_records(const struct capture *c) {
    for (size_t i = 0; i < c->count; i++)
        if (c->values[i].from != FROM_NOTHING && c->values[i].from != FROM_CONSTANT)
            return true;
    return false;
}

/* ---- what was recorded ---- */

enum { WORD_BITS = 64 };

struct words {
    const struct capture *capture;
    uint64_t *words, *there;
};

/* The number of the first word of the value with number I. */
static uint32_t first_word(const struct capture *c, size_t i) {
    uint32_t word = 0;
    for (size_t k = 0; k < i; k++)
        word += capture_value_words(&c->values[k]);
    return word;
}

static void set_there(struct words *w, uint32_t word, bool there) {
    const uint64_t bit = UINT64_C(1) << word % WORD_BITS;
    uint64_t *of = &w->there[word / WORD_BITS];
    *of = there ? *of | bit : *of & ~bit;
}

/* The word of value I, which has one. False: it is not there. */
static bool get_word(const struct words *w, size_t i, uint64_t *ret) {
    const uint32_t word = first_word(w->capture, i);
    *ret = w->words[word];
    return w->there[word / WORD_BITS] >> word % WORD_BITS & 1;
}

/* A pointer that is no whole number of elements behind the other is none into the same array. */
static void subtract(struct words *w, size_t i) {
    const struct capture_value *v = &w->capture->values[i];
    const uint32_t word = first_word(w->capture, i);
    uint64_t end, begin;
    const bool has_end = get_word(w, i, &end), has_begin = get_word(w, v->minus - 1, &begin);
    const int64_t bytes = v->bytes == 4 ? (int32_t)(uint32_t)(end - begin) : (int64_t)(end - begin);
    const uint64_t elements = (uint64_t)(bytes / (int64_t)v->divisor);
    w->words[word] = v->bytes == 4 ? (uint32_t)elements : elements;
    set_there(w, word, has_end && has_begin && bytes % (int64_t)v->divisor == 0);
}

static bool holds(const struct words *w, size_t i) {
    const struct capture_value *v = &w->capture->values[i];
    const unsigned width = v->width ? v->width : v->bytes * 8U;
    uint64_t word;
    return get_word(w, i, &word) && word >> v->shift << (WORD_BITS - width) != 0;
}

void capture_derive(const struct capture *c, uint64_t *words, uint64_t *there) {
    struct words w = {c, words, there};
    for (size_t i = 0; i < c->count; i++)
        if (c->values[i].minus)
            subtract(&w, i);
    for (size_t i = 0; i < c->count; i++) {
        const struct capture_value *v = &c->values[i];
        if (!v->only_if || holds(&w, v->only_if - 1U))
            continue;
        const uint32_t first = first_word(c, i);
        for (uint32_t k = first; k < first + capture_value_words(v); k++)
            set_there(&w, k, false);
    }
}
