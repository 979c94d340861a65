/* Writes the code of captures (capture.h). */
#include "arch/aarch64/capture.h"

#include "arch/aarch64/reading.h"

enum {
    SLOT = 1, /* registers */
    NUMBER = 2,
    CLOCK = 4,
    HEAD = 5,
    WORD = 6,
    ADDRESS = 7,
    FREE = 8,
    FREE2 = 9,
    VALUE_MOST_BYTES = 1536, /* of the code of a value, at most */
    STACK_REACH = 1 << 23,   /* of a stack_offset */
    NEXT = 0                 /* the label of a value's end */
};

/* ---- slots ---- */

/* Waits for room, or goes on without values. Returns where the way to the event begins, to be set
 * at the end of the code. BEHIND: the bytes of what follows that. */
static size_t reserve(struct writer *w, const struct stub_spec *stub, uint32_t behind) {
    const bool waits = stub->overflow != OVERFLOW_DROP;
    const uint32_t size = capture_slots(stub->capture) * EVENT_BYTES;
    put(w, ldr(HEAD, A64_LANE, LANE_HEAD));
    const size_t at = w->size;
    put(w, adr(A64_BACK));
    if (waits)
        set_target(w, at, w->retry);
    put_constant(w, NUMBER, waits ? size : behind, 2);
    put_constant(w, WORD, size, 2);
    put(w, add(WORD, HEAD, WORD));
    put(w, ldr(ADDRESS, A64_LANE, LANE_LIMIT));
    put(w, sub(ADDRESS, ADDRESS, WORD));
    put(w, skipping(branch_by_sign(ADDRESS, false), 1));
    put_agent(w, waits ? AGENT_ENTRY_ROOM : AGENT_ENTRY_CRAMPED);
    return at;
}

/* Writes a slot with the lower half of the register LOW and the register HIGH as its upper part. */
static void put_slot(const struct reading *r, uint32_t id, uint32_t low, uint32_t high) {
    struct writer *w = r->w;
    put_find_slot(w, HEAD, r->stub->ring_bytes);
    put_constant(w, NUMBER, id << 2 | EVENT_CONTROL, 2);
    put(w,
        with_registers(0x29000000, NUMBER, SLOT, 0) | low << 10 | EVENT_SITE / 4 << 15); /* stp */
    put(w, str(high, SLOT, EVENT_CLOCK_SP));
    put(w, add_constant(HEAD, HEAD, EVENT_BYTES));
}

/* Writes the upper 16 bits of the word, if the lower 48 do not tell them. */
static void put_high(const struct reading *r, uint32_t number) {
    struct writer *w = r->w;
    put(w, with_registers(0x93400000, FREE, WORD, 0) | 47 << 10); /* sbfx x8, x6, #0, #48 */
    put(w, sub(FREE, FREE, WORD));
    const size_t skip = w->size;
    put(w, branch_by_value(FREE, false));
    put(w, bits(FREE, WORD, 48, 16));
    put_slot(r, CAPTURE_HIGH + number, FREE, CLOCK);
    set_target(w, skip, (int64_t)w->size);
}

static void put_word(void *ctx, unsigned size, uint32_t number) {
    const struct reading *r = ctx;
    if (size > 4) {
        put(r->w, bits(FREE, WORD, 32, 16));
        put(r->w, orr(FREE, FREE, CLOCK));
    }
    put_slot(r, CAPTURE_WORD + number, WORD, size > 4 ? FREE : CLOCK);
    if (size > 6)
        put_high(r, number);
}

static void keep_address(void *ctx) { put(((struct reading *)ctx)->w, move(WORD, ADDRESS)); }

/* ---- texts ---- */

/* Where in the stub's frame the length with PLACE is. */
static uint32_t length_at(int place) { return 8 * (A64_CAPTURE_SAVED + (uint32_t)place); }

static void keep_length(void *ctx, unsigned size, int place) {
    struct writer *w = ((struct reading *)ctx)->w;
    put(w, bits(FREE, WORD, 0, 8 * size));
    put(w, str(FREE, A64_SP, length_at(place)));
}

/* The word becomes the length in bytes of a text that has its own. */
static void load_length(struct reading *r, const struct capture_value *v, int place) {
    enum { IS_LONG = 13 }; /* 1 << IS_LONG is more than any text has */
    struct writer *w = r->w;
    put(w, ldr(WORD, A64_SP, length_at(place)));
    put_constant(w, FREE, v->most / v->unit, 1);
    put(w, bits(FREE2, WORD, IS_LONG, 64 - IS_LONG));
    put(w, skipping(branch_by_value(FREE2, false), 1));
    put(w, move(WORD, FREE));
    put(w, sub(FREE2, FREE, WORD));
    put(w, skipping(branch_by_sign(FREE2, false), 1));
    put(w, move(WORD, FREE));
    put(w, shifted_left(orr(WORD, A64_ZERO, WORD), v->unit / 2));
    a64_jump_to(r, branch_by_value(WORD, false), NEXT);
}

static void put_text(void *ctx, const struct capture_value *v, int place, uint32_t number) {
    struct reading *r = ctx;
    if (place >= 0)
        load_length(r, v, place);
    else
        put_constant(r->w, WORD, capture_text_bytes(v), 1);
    put_constant(r->w, NUMBER, (CAPTURE_WORD + number) << 2 | EVENT_CONTROL, 2);
    put_agent(r->w, place >= 0     ? AGENT_ENTRY_TEXT_COUNTED
                    : v->unit == 4 ? AGENT_ENTRY_TEXT_LONG
                    : v->unit == 2 ? AGENT_ENTRY_TEXT_WIDE
                                   : AGENT_ENTRY_TEXT);
}

static void end_value(void *ctx) {
    struct reading *r = ctx;
    a64_set_label(r, NEXT, 0);
}

static const struct capture_machine machine = {&a64_reader, keep_address, put_word,
                                               keep_length, put_text,     end_value};

static bool is_in_reach(const struct capture_value *v) {
    return v->stack_offset > -STACK_REACH && v->stack_offset < STACK_REACH;
}

static void put_begin(const struct reading *r, int lengths) {
    put_constant(r->w, FREE, r->stub->capture_number, 2);
    put_slot(r, CAPTURE_BEGIN, FREE, CLOCK);
    for (int i = 0; i < lengths; i++)
        put(r->w, str(A64_ZERO, A64_SP, length_at(i)));
}

size_t a64_capture_emit(struct writer *w, const struct stub_spec *stub, uint32_t behind) {
    struct reading r = {
        .w = w, .stub = stub, .word = WORD, .address = ADDRESS, .free = FREE, .otherwise = NEXT};
    const struct capture *capture = stub->capture;
    const int lengths = capture_lengths(capture);
    const size_t start = w->size;
    uint32_t number = 0;
    if (lengths > CAPTURE_MOST_LENGTHS)
        return 0;
    const size_t to_event = reserve(w, stub, behind);
    put_begin(&r, lengths);
    for (size_t i = 0; i < capture->count; i++) {
        if (w->size - start + VALUE_MOST_BYTES > STUB_CAPTURE_BYTES ||
            !is_in_reach(&capture->values[i]))
            return 0;
        capture_put_value(&machine, &r, capture, i, number);
        number += capture_value_words(&capture->values[i]);
    }
    if (stub->overflow == OVERFLOW_DROP)
        set_target(w, to_event, (int64_t)w->size);
    return w->size - start;
}
