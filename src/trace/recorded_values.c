/* Puts values together from the words of their slots. */
#include "trace/recorded_values.h"

#include <string.h>

#include "values/slots.h"

/* The length of a text that has its own; UINT32_MAX: it was not read. */
static uint32_t own_length(const struct recorded *r, const struct capture_value *text) {
    const struct capture *c = r->capture;
    unsigned word = 0;
    for (int i = 0; i < text->length_of; i++)
        word += capture_value_words(&c->values[i]);
    const struct capture_value *v = &c->values[text->length_of];
    if (!capture_value_words(v) || !recorded_has_word(r, word))
        return UINT32_MAX;
    const uint64_t length = recorded_number(r, v, 0, word);
    return length > text->most / text->unit ? UINT32_MAX - 1 : (uint32_t)length * text->unit;
}

/* Where among N bytes the first unit is that is 0; N: none is. */
static uint32_t end_of(const uint8_t *bytes, uint32_t n, unsigned unit) {
    static const uint8_t zero[4];
    const uint8_t *found = unit == 1 ? memchr(bytes, 0, n) : NULL;
    for (uint32_t i = 0; unit > 1 && !found && i + unit <= n; i += unit)
        if (memcmp(bytes + i, zero, unit) == 0)
            found = bytes + i;
    return found ? (uint32_t)(found - bytes) : n;
}

/* Puts the text V, whose first word is WORD, together in OUT[v->most + RECORDED_TEXT_MORE]. */
struct recorded_text recorded_text(const struct recorded *r, const struct capture_value *v,
                                   unsigned word, uint8_t *out) {
    const unsigned size = capture_text_word(v), words = capture_value_words(v);
    const uint32_t read = capture_text_bytes(v), own = v->length_of < 0 ? read : own_length(r, v);
    const uint32_t most = own < read ? own : read;
    uint32_t n = 0;
    for (unsigned i = 0; i < words && recorded_has_word(r, word + i) && n < most; i++, n += size) {
        const uint64_t bytes = r->words[word + i];
        memcpy(out + n, &bytes, sizeof bytes);
    }
    n = n < most ? n : most;
    if (v->length_of >= 0)
        return (struct recorded_text){n, own == 0 || n, n < own || own > v->most};
    const uint32_t end = end_of(out, n, v->unit);
    if (end < n)
        return (struct recorded_text){end, true, false};
    n = n < v->most ? n : v->most;
    return (struct recorded_text){n / v->unit * v->unit, n > 0, true};
}

size_t recorded_store_bytes(const struct capture *c) {
    size_t sum = 0;
    for (size_t i = 0; i < c->count; i++)
        sum += (c->values[i].string ? c->values[i].most : c->values[i].bytes) + 16u;
    return sum;
}

static void read_one(const struct recorded *r, size_t i, unsigned word, struct captured *ret,
                     uint8_t *store) {
    const struct capture_value *v = &r->capture->values[i];
    *ret = (struct captured){.missing = VALUE_UNREADABLE, .bytes = store};
    if (v->string) {
        const struct recorded_text t = recorded_text(r, v, word, store);
        ret->missing = t.there ? VALUE_THERE : VALUE_UNREADABLE;
        ret->length = t.length;
        ret->cut = t.cut;
        return;
    }
    if (!recorded_is_there(r, word, capture_value_words(v)))
        return;
    for (unsigned k = 0; k < capture_value_words(v); k++) {
        const uint64_t number = recorded_number(r, v, k, word + k);
        memcpy(store + 8 * (size_t)k, &number, sizeof number);
    }
    ret->missing = VALUE_THERE;
    ret->length = v->bytes;
}

static void read_constant(const struct capture_value *v, struct captured *ret, uint8_t *store) {
    *ret = (struct captured){.missing = v->missing, .bytes = store};
    if (v->from != FROM_CONSTANT)
        return;
    memcpy(store, &v->constant, sizeof v->constant);
    ret->missing = VALUE_THERE;
    ret->length = v->bytes;
}

void recorded_values(const struct recorded *r, struct captured *ret, uint8_t *store) {
    unsigned word = 0;
    for (size_t i = 0; i < r->capture->count; i++) {
        const struct capture_value *v = &r->capture->values[i];
        const unsigned words = capture_value_words(v);
        if (words)
            read_one(r, i, word, &ret[i], store);
        else
            read_constant(v, &ret[i], store);
        word += words;
        store += (v->string ? v->most : v->bytes) + 16u;
    }
}
