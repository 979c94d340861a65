/* Writes the code of captures (capture.h). */
#include "arch/arm/capture.h"

#include "arch/arm/reading.h"

enum {
    HEAD = ARM_CAPTURE_HEAD,
    CLOCK = 9, /* its lower half; the upper half of a slot's value comes in */
    SITE = 11,
    WORD = 12,
    VALUE_MOST_BYTES = 1536, /* of the code of a value, at most */
    NEXT = 0                 /* the label of a value's end */
};

/* ---- slots ---- */

/* Waits for room, or goes on without values. Returns the way to the agent that leads on to the
 * event; its end is to be set at the end of the code. */
static struct agent_call reserve(struct writer *w, const struct stub_spec *stub, uint32_t behind) {
    const bool waits = stub->overflow != OVERFLOW_DROP;
    const uint32_t size = capture_slots(stub->capture) * EVENT_BYTES;
    put_load_head(w);
    put_move(w, HEAD, 2);
    put_constant(w, 4, size);
    put_three(w, ADDS, 2, 2, 4);
    put_three(w, ADC_CONSTANT, 3, 3, 0);
    put_three(w, ADD_CONSTANT, 12, ARM_LANE, LANE_LIMIT);
    put_load_exclusive(w, 0, 12);
    put_compare(w, 0, 2);
    put_three(w, SBCS, 0, 1, 3);
    const size_t go = w->size;
    put_branch(w, ARM_HS, 0);
    put_constant(w, 4, waits ? size : behind); /* the code has one length */
    const struct agent_call call =
        put_agent_call(w, waits ? AGENT_ENTRY_ROOM : AGENT_ENTRY_CRAMPED);
    set_branch_target(w, go, ARM_HS);
    return call;
}

/* Writes a slot with the lower half of its value in r12, the upper one in r9. */
static void put_slot(const struct reading *r, uint32_t id) {
    put_find_slot(r->w, HEAD, r->stub->ring_bytes);
    put_constant(r->w, SITE, id << 2 | EVENT_CONTROL);
    put_same(r->w, 0xe8811e00); /* stm r1, {r9-r12} */
    put_three(r->w, ADD_CONSTANT, HEAD, HEAD, EVENT_BYTES);
}

/* Writes the upper 16 bits of the word, if the lower 48 do not tell them. */
static void put_high(const struct reading *r, uint32_t number) {
    struct writer *w = r->w;
    put(w, 0xe6bf3074, 0xfa0ff384); /* sxth r3, r4 */
    put_compare(w, ARM_FREE, ARM_HIGH);
    const size_t known = w->size;
    put_branch(w, ARM_EQ, 0);
    put_bits(w, WORD, ARM_HIGH, 16, 16);
    put_slot(r, CAPTURE_HIGH + number);
    set_branch_target(w, known, ARM_EQ);
}

static void put_word(void *ctx, unsigned size, uint32_t number) {
    const struct reading *r = ctx;
    if (size > 4) {
        put_bits(r->w, ARM_FREE, ARM_HIGH, 0, 16);
        put_three(r->w, ORR, CLOCK, CLOCK, ARM_FREE);
    }
    put_slot(r, CAPTURE_WORD + number);
    if (size > 4)
        put(r->w, 0xe7cf901f, 0xf36f090f); /* bfc r9, #0, #16 */
    if (size > 6)
        put_high(r, number);
}

static void keep_address(void *ctx) {
    struct writer *w = ((struct reading *)ctx)->w;
    put_move(w, WORD, ARM_ADDRESS);
    put_zero(w, ARM_HIGH);
}

/* ---- texts ---- */

/* Where in the stub's frame the length with PLACE is. */
static uint32_t length_at(int place) { return ARM_SLICE_FRAME + ARM_WORD * (uint32_t)place; }

/* Lengths of more than 32 bits are kept as the largest one. */
static void keep_length(void *ctx, unsigned size, int place) {
    struct writer *w = ((struct reading *)ctx)->w;
    if (size <= 4) {
        put_bits(w, ARM_FREE, WORD, 0, 8 * size);
    } else {
        put_bits(w, ARM_FREE, ARM_HIGH, 0, 8 * (size - 4));
        put_compare_constant(w, ARM_FREE, 0);
        put_move(w, ARM_FREE, WORD);
        const size_t fits = w->size;
        put_branch(w, ARM_EQ, 0);
        put(w, 0xe3e03000, 0xf06f0300); /* mvn r3, #0 */
        set_branch_target(w, fits, ARM_EQ);
    }
    put_store(w, ARM_FREE, ARM_SP, length_at(place));
}

/* The word becomes the length in bytes of a text that has its own. */
static void load_length(struct reading *r, const struct capture_value *v, int place) {
    struct writer *w = r->w;
    put_load(w, WORD, ARM_SP, length_at(place));
    put_16(w, ARM_FREE, v->most / v->unit, false);
    put_compare(w, WORD, ARM_FREE);
    const size_t fits = w->size;
    put_branch(w, ARM_LS, 0);
    put_move(w, WORD, ARM_FREE);
    set_branch_target(w, fits, ARM_LS);
    put_three_shifted(w, MOV, WORD, 0, (struct arm_shifted){WORD, ARM_LSL, v->unit / 2});
    put_compare_constant(w, WORD, 0);
    arm_jump_to(r, ARM_EQ, NEXT);
}

static void put_text(void *ctx, const struct capture_value *v, int place, uint32_t number) {
    struct reading *r = ctx;
    if (place >= 0)
        load_length(r, v, place);
    else
        put_16(r->w, WORD, capture_text_bytes(v), false);
    put_constant(r->w, SITE, (CAPTURE_WORD + number) << 2 | EVENT_CONTROL);
    put_jump(r->w, place >= 0     ? AGENT_ENTRY_TEXT_COUNTED
                   : v->unit == 4 ? AGENT_ENTRY_TEXT_LONG
                   : v->unit == 2 ? AGENT_ENTRY_TEXT_WIDE
                                  : AGENT_ENTRY_TEXT);
}

static void end_value(void *ctx) {
    struct reading *r = ctx;
    arm_set_label(r, NEXT, 0);
}

static const struct capture_machine machine = {&arm_reader, keep_address, put_word,
                                               keep_length, put_text,     end_value};

_Static_assert(CAPTURE_MOST_LENGTHS *ARM_WORD <= ARM_LENGTHS_BYTES, "room in the frame");

/* r9 has the lower half of the clock, and 0 for the upper one of the number. */
static void put_begin(const struct reading *r, int lengths) {
    put_constant(r->w, WORD, r->stub->capture_number);
    put_slot(r, CAPTURE_BEGIN);
    if (lengths)
        put_zero(r->w, ARM_FREE);
    for (int i = 0; i < lengths; i++)
        put_store(r->w, ARM_FREE, ARM_SP, length_at(i));
}

size_t arm_capture_emit(struct writer *w, const struct stub_spec *stub, uint32_t behind) {
    struct reading r = {.w = w, .stub = stub, .word = WORD, .otherwise = NEXT};
    const struct capture *capture = stub->capture;
    const int lengths = capture_lengths(capture);
    const size_t start = w->size;
    uint32_t number = 0;
    if (lengths > CAPTURE_MOST_LENGTHS)
        return 0;
    const struct agent_call full = reserve(w, stub, behind);
    put_begin(&r, lengths);
    for (size_t i = 0; i < capture->count; i++) {
        if (w->size - start + VALUE_MOST_BYTES > STUB_CAPTURE_BYTES)
            return 0;
        capture_put_value(&machine, &r, capture, i, number);
        number += capture_value_words(&capture->values[i]);
    }
    set_return(w, full, stub->overflow == OVERFLOW_DROP ? w->size : w->retry);
    return w->size - start;
}
