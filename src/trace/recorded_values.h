/* What a stub has recorded of one capture, as words by number (wire/ring.h). */
#pragma once

#include "values/capture.h"

struct recorded {
    const struct capture *capture;
    const uint64_t *words;
    const uint64_t *there; /* bitmap: words that were read */
};

static inline bool recorded_has_word(const struct recorded *r, unsigned word) {
    return r->there[word / 64] >> word % 64 & 1;
}

struct recorded_text {
    uint32_t length;
    bool there, cut;
};
enum { RECORDED_TEXT_MORE = 16 };
/* Puts the text V, whose first word is WORD, together in OUT[v->most + RECORDED_TEXT_MORE]. */
struct recorded_text recorded_text(const struct recorded *r, const struct capture_value *v,
                                   unsigned word, uint8_t *out);
/* Whether a value that is no text and has COUNT words from WORD on was read. */
static inline bool recorded_is_there(const struct recorded *r, unsigned word, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (!recorded_has_word(r, word + i))
            return false;
    return true;
}
/* Word number K of V, which is WORD, without what the register held above it. */
static inline uint64_t recorded_number(const struct recorded *r, const struct capture_value *v,
                                       unsigned k, unsigned word) {
    const unsigned left = v->bytes - 8 * k;
    return left < 8 ? r->words[word] & ((UINT64_C(1) << left * 8) - 1) : r->words[word];
}

/* All values: fills RET by number. Their bytes are in STORE, of recorded_store_bytes(). */
size_t recorded_store_bytes(const struct capture *c);
void recorded_values(const struct recorded *r, struct captured *ret, uint8_t *store);
