/*
 * The state of code that only unwind tables and words without the bit of T32 tell of. Files with
 * both states are no exception: the start code of Debian's programs for armhf is T32, and what
 * Rust compiles is A32.
 */
#include "plan/analysis.h"

uint8_t state_near(const struct analysis *a, const struct text *t, vaddr_t addr) {
    enum { FAR = 1 << 16 };
    const struct section *s = text_section_at(a, addr);
    vaddr_t start = s && s->start > t->start ? s->start : t->start;
    vaddr_t end = s ? s->start + s->size : t->start + t->size;
    for (vaddr_t at = addr; text_holds(t, at) && at >= start && addr - at < FAR;
         at -= STATE_BYTES) {
        if (*text_state(t, at) < CODE_DATA)
            return *text_state(t, at);
    }
    for (vaddr_t at = addr; at < end && text_holds(t, at) && at - addr < FAR; at += STATE_BYTES) {
        if (*text_state(t, at) < CODE_DATA)
            return *text_state(t, at);
    }
    return CODE_A32;
}

/* The state of a function in [START, END), by its words: nearly all of A32 have no condition, so
 * 0xe in their upper four bits, the first of all, and most of these compute, load or store, which
 * is one bit more (Arm ARM, F4.1). In T32 that is what words look like in whose upper half a short
 * jump stands. Tables may follow soon. CODE_UNKNOWN: it may be either, or is too short to tell. */
static uint8_t state_by_words(const struct text *t, vaddr_t start, vaddr_t end) {
    enum { WORD = 4, FEWEST = 8, MOST = 16 };
    size_t words = 0, always = 0, plain = 0;
    bool first = false;
    for (vaddr_t at = (start + WORD - 1) & ~(vaddr_t)(WORD - 1);
         words < MOST && at + WORD <= end && text_holds(t, at + WORD - 1); at += WORD) {
        uint8_t top = text_bytes(t, at)[WORD - 1];
        first |= !words && top >> 4 == 0xe;
        words++;
        always += top >> 4 == 0xe;
        plain += top >> 3 == 0xe0 >> 3;
        if (words >= FEWEST && first && 5 * plain > 2 * words)
            return CODE_A32;
    }
    return words >= FEWEST && !first && 4 * always < words ? CODE_T32 : CODE_UNKNOWN;
}

uint8_t state_likely(const struct analysis *a, const struct text *t, vaddr_t start, vaddr_t end) {
    uint8_t state = *text_state(t, start);
    if (state == CODE_UNKNOWN)
        state = state_by_words(t, start, end);
    return state < CODE_DATA ? state : state_near(a, t, start);
}
