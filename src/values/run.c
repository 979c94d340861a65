/* Runs captures. All words are little-endian, as are the processors that spoor knows. */
#include "values/run.h"

#include "base/mem.h"

enum { LOWEST_ADDRESS = 4096 };

struct runner {
    const struct capture *capture;
    const struct capture_source *source;
    struct captured *results;
    uint8_t *next; /* free bytes of the store */
};

static bool load(const struct runner *r, uint64_t address, void *ret, size_t size) {
    return address >= LOWEST_ADDRESS && r->source->read_memory(r->source->ctx, address, ret, size);
}

/* SIZE bytes of the word, or words, that V's program begins with. */
static bool begin(const struct runner *r, const struct capture_value *v, void *ret, size_t size) {
    uint64_t address = r->source->stack_pointer + (uint64_t)(int64_t)v->stack_offset;
    switch (v->from) {
    case FROM_REGISTER:
    case FROM_VECTOR:
    case FROM_INDEXED:
    case FROM_MODULE:
    case FROM_X87:
        return r->source->read_register(r->source->ctx, v, ret, size);
    case FROM_STACK:
        return load(r, address, ret, size);
    case FROM_STACK_ADDRESS:
        memcpy(ret, &address, size);
        return true;
    case FROM_CONSTANT:
        memcpy(ret, &v->constant, size);
        return true;
    case FROM_NOTHING:
        break;
    }
    return false;
}

/* The address that the last step reads from. */
static bool address_of(const struct runner *r, const struct capture_value *v, uint64_t *ret) {
    uint64_t at = 0;
    if (!begin(r, v, &at, r->source->word))
        return false;
    for (unsigned i = 0; i < v->steps; i++) {
        at += (uint64_t)(int64_t)v->step[i].offset;
        if (r->source->word == 4)
            at = (uint32_t)at;
        uint64_t next = 0;
        if (i + 1 < v->steps && !load(r, at, &next, r->source->word))
            return false;
        if (i + 1 < v->steps)
            at = next;
    }
    *ret = at;
    return true;
}

static bool is_zero(const uint8_t *unit, unsigned size) {
    for (unsigned i = 0; i < size; i++)
        if (unit[i])
            return false;
    return true;
}

static void run_text(struct runner *r, const struct capture_value *v, struct captured *ret) {
    uint64_t address, length = UINT64_MAX;
    ret->missing = VALUE_UNREADABLE;
    if (v->length_of >= 0) {
        const struct captured *counted = &r->results[v->length_of];
        if (counted->missing || counted->length > sizeof length)
            return;
        length = 0;
        memcpy(&length, counted->bytes, counted->length);
    }
    if (!address_of(r, v, &address))
        return;
    uint64_t room = v->most / v->unit;
    uint8_t unit[sizeof(uint32_t)];
    ret->bytes = r->next;
    for (uint64_t i = 0; i < length && i < capture_text_bytes(v) / v->unit; i++) {
        const bool read = load(r, address + i * v->unit, unit, v->unit);
        if (!read && i < room)
            return;
        if (read && v->length_of < 0 && is_zero(unit, v->unit))
            length = i;
        if (i == room || i == length)
            break;
        memcpy(r->next, unit, v->unit);
        r->next += v->unit;
        ret->length += v->unit;
    }
    ret->cut = length > room;
    ret->missing = VALUE_THERE;
}

static void run_words(struct runner *r, const struct capture_value *v, struct captured *ret) {
    uint64_t address;
    bool read;
    ret->bytes = r->next;
    if (!v->steps) {
        read = begin(r, v, r->next, v->bytes);
    } else if (!address_of(r, v, &address)) {
        read = false;
    } else if (v->address_only) {
        memcpy(r->next, &address, v->bytes < sizeof address ? v->bytes : sizeof address);
        read = true;
    } else {
        read = load(r, address, r->next, v->bytes);
    }
    ret->missing = read ? VALUE_THERE : VALUE_UNREADABLE;
    ret->length = v->bytes;
    r->next += v->bytes;
}

void capture_run(const struct capture *c, const struct capture_source *source, struct captured *ret,
                 uint8_t **store) {
    size_t room = 0;
    for (size_t i = 0; i < c->count; i++)
        room += c->values[i].string ? c->values[i].most : c->values[i].bytes;
    *store = mem_alloc(room);
    struct runner r = {c, source, ret, *store};
    for (size_t i = 0; i < c->count; i++) {
        ret[i] = (struct captured){.missing = c->values[i].missing};
        if (c->values[i].from == FROM_NOTHING)
            continue;
        if (c->values[i].string)
            run_text(&r, &c->values[i], &ret[i]);
        else
            run_words(&r, &c->values[i], &ret[i]);
    }
}

/* ---- slots ---- */

struct slot_writer {
    struct captured_slot *at;
    uint32_t word; /* number of the next word */
};

static void put_word(struct slot_writer *w, uint64_t value, unsigned size) {
    enum { LOWER = 48, UPPER = 16 };
    const uint64_t sign = (uint64_t)((int64_t)(value << UPPER) >> UPPER);
    const uint64_t lower = CAPTURE_WHOLE ? value : value & EVENT_CLOCK_MASK;
    *w->at++ = (struct captured_slot){CAPTURE_WORD + w->word, lower};
    if (!CAPTURE_WHOLE && size > LOWER / 8 && sign != value)
        *w->at++ = (struct captured_slot){CAPTURE_HIGH + w->word, value >> LOWER};
    w->word++;
}

/* V's bytes, and of a text without a length of its own the unit behind them: its end, or another
 * one. */
static void put_value(struct slot_writer *w, const struct capture_value *v,
                      const struct captured *captured) {
    const bool has_end = v->string && v->length_of < 0;
    const unsigned each = v->string ? capture_text_word(v) : sizeof(uint64_t);
    const size_t count = captured->length + (has_end ? v->unit : 0u);
    for (size_t done = 0; done < count; done += each) {
        const size_t left = captured->length > done ? captured->length - done : 0;
        const unsigned size = left < each ? (unsigned)left : each;
        uint64_t value = captured->cut ? UINT64_MAX : 0;
        memcpy(&value, captured->bytes + done, size);
        put_word(w, value, v->string ? 0 : size);
    }
}

size_t captured_slots(const struct capture *c, uint32_t number, const struct captured *captured,
                      struct captured_slot *ret) {
    struct slot_writer w = {ret, 0};
    uint32_t first = 0;
    *w.at++ = (struct captured_slot){CAPTURE_BEGIN, number};
    for (size_t i = 0; i < c->count; i++) {
        const struct capture_value *v = &c->values[i];
        w.word = first;
        if (capture_value_records(v) && captured[i].missing == VALUE_THERE)
            put_value(&w, v, &captured[i]);
        first += capture_value_words(v);
    }
    return (size_t)(w.at - ret);
}
