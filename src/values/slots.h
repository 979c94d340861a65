/*
 * The words of a capture's values in a ring (wire/ring.h, enum capture_event). Words are numbered
 * through all values, in their order; stubs write them, readers put them together.
 */
#pragma once

#include "values/capture.h"

/* True if something of V is recorded. */
static inline bool capture_value_records(const struct capture_value *v) {
    return v->from != FROM_NOTHING && v->from != FROM_CONSTANT;
}

/* The bytes of a word of the text V. */
static inline unsigned capture_text_word(const struct capture_value *v) {
    return v->unit == 4 && v->length_of < 0 ? 4 : CAPTURE_TEXT_BYTES;
}

/* The bytes that are read of the text V, at most: one unit more than are shown, as that may be its
 * end. */
static inline unsigned capture_text_bytes(const struct capture_value *v) {
    return v->length_of < 0 ? v->most + v->unit : v->most;
}

/* How many words V has, at most. */
static inline unsigned capture_value_words(const struct capture_value *v) {
    if (!capture_value_records(v))
        return 0;
    const unsigned size = v->string ? capture_text_word(v) : 8;
    return ((v->string ? capture_text_bytes(v) : v->bytes) + size - 1) / size;
}

/* How many slots the values of C take with their event, at most. */
static inline unsigned capture_slots(const struct capture *c) {
    unsigned sum = 2; /* CAPTURE_BEGIN, the event */
    for (size_t i = 0; i < c->count; i++) {
        const struct capture_value *v = &c->values[i];
        const unsigned words = capture_value_words(v);
        const bool last_is_wide = v->bytes % 8 == 0 || v->bytes % 8 == 7;
        const bool halved = !CAPTURE_WHOLE && !v->string && words;
        sum += words + (halved ? words - !last_is_wide : 0);
    }
    return sum;
}
