/* Paths become programs. */
#include "values/access.h"

#include <string.h>

struct access access_begin(const struct access_context *c, const struct abi_place *place,
                           type_id type) {
    struct access a = {.kind = ACCESS_PIECES, .type = type, .place = *place};
    a.missing = place->missing;
    if (place->missing)
        a.kind = ACCESS_MISSING;
    else if (place->indirect && !access_follow(c, &a, type))
        a = (struct access){.kind = ACCESS_MISSING, .type = type, .missing = VALUE_UNTYPED};
    else if (place->indirect)
        a.offset = place->behind;
    return a;
}

void access_enter(struct access *a, int64_t at, type_id type) {
    a->type = type;
    a->at += (uint64_t)at;
    a->offset += at;
    a->bits = 0;
}

/* The piece of A's place that has SIZE bytes from AT on, or NULL. */
static const struct abi_piece *piece_of(const struct access *a, uint64_t at, uint64_t size) {
    for (unsigned i = 0; i < a->place.count; i++) {
        const struct abi_piece *p = &a->place.piece[i];
        if (at >= p->at && at + size <= (uint64_t)p->at + p->bytes)
            return p;
    }
    return NULL;
}

static struct capture_value value_at(const struct abi_piece *p, uint64_t behind) {
    struct capture_value v = {.from = p->from, .reg = p->reg, .part = p->part, .length_of = -1};
    v.constant = behind < 8 ? p->constant >> (behind * 8) : 0;
    v.stack_offset = p->stack_offset + (p->from == FROM_STACK ? (int32_t)behind : 0);
    return v;
}

static bool fits_step(int64_t offset) { return offset >= INT32_MIN && offset <= INT32_MAX; }

static bool follow_memory(struct access *a) {
    if (a->base.steps + 1 >= CAPTURE_MOST_STEPS || !fits_step(a->offset))
        return false;
    a->base.step[a->base.steps++].offset = (int32_t)a->offset;
    return true;
}

bool access_follow(const struct access_context *c, struct access *a, type_id to) {
    if (a->kind == ACCESS_MISSING || a->bits)
        return false;
    if (a->kind == ACCESS_PIECES) {
        const struct abi_piece *p = piece_of(a, a->at, c->word);
        if (!p || (p->from != FROM_STACK && p->at != a->at))
            return false;
        if (p->from == FROM_CONSTANT) { /* no stub loads from there */
            *a = (struct access){ACCESS_MISSING, .type = to, .missing = VALUE_UNREADABLE};
            return true;
        }
        a->base = value_at(p, a->at - p->at);
    } else if (a->address) {
        a->address = false; /* *&x is x */
        a->type = to;
        return true;
    } else if (!follow_memory(a)) {
        return false;
    }
    a->kind = ACCESS_MEMORY;
    a->type = to;
    a->offset = 0;
    a->at = 0;
    return true;
}

static bool add(struct access_values *ret, const struct capture_value *v) {
    if (ret->count == ret->most)
        return false;
    ret->at[ret->count++] = *v;
    return true;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* What piece P has of the slice. A slice that begins inside a register is shifted out of it. */
static bool add_piece(const struct abi_piece *p, const struct access *a,
                      const struct access_slice *slice, struct access_values *ret) {
    uint64_t from = larger(a->at + slice->at, p->at);
    uint64_t to = smaller(a->at + slice->at + slice->size, (uint64_t)p->at + p->bytes);
    if (from >= to)
        return true;
    struct capture_value v = value_at(p, from - p->at);
    v.at = slice->image_at + (uint32_t)(from - a->at - slice->at);
    v.bytes = (uint16_t)(to - from);
    if (p->from != FROM_STACK && p->from != FROM_CONSTANT && from > p->at) {
        v.bytes = (uint16_t)(to - p->at);
        v.shift = (uint8_t)((from - p->at) * 8);
        v.width = (uint8_t)((to - from) * 8);
    }
    if (p->from == FROM_X87 && (from > p->at || to - p->at < 10))
        return false;
    for (; v.bytes > CAPTURE_MOST_BYTES; v.bytes -= CAPTURE_MOST_BYTES) { /* only of the stack */
        struct capture_value part = v;
        part.bytes = CAPTURE_MOST_BYTES;
        if (!add(ret, &part))
            return false;
        v.at += CAPTURE_MOST_BYTES;
        v.stack_offset += CAPTURE_MOST_BYTES;
    }
    return add(ret, &v);
}

static bool add_memory(const struct access *a, const struct access_slice *slice,
                       struct access_values *ret) {
    for (uint64_t done = 0; done < slice->size; done += CAPTURE_MOST_BYTES) {
        int64_t offset = a->offset + (int64_t)(slice->at + done);
        struct capture_value v = a->base;
        if (!fits_step(offset) || v.steps >= CAPTURE_MOST_STEPS)
            return false;
        v.step[v.steps++].offset = (int32_t)offset;
        v.at = slice->image_at + (uint32_t)done;
        v.bytes = (uint16_t)smaller(slice->size - done, CAPTURE_MOST_BYTES);
        if (!add(ret, &v))
            return false;
    }
    return true;
}

/* A bit field: the bytes that it lies in. */
static bool add_bits(const struct access_context *c, const struct access *a,
                     struct access_values *ret) {
    struct access whole = *a;
    uint64_t first = a->bit_at / 8, end = (a->bit_at + a->bits + 7) / 8;
    struct access_slice slice = {first, end - first, 0};
    size_t before = ret->count;
    whole.bits = 0;
    if (end - first > 8 || !access_values(c, &whole, &slice, ret) || ret->count != before + 1)
        return false;
    ret->at[before].shift += (uint8_t)(a->bit_at % 8);
    ret->at[before].width = (uint8_t)a->bits;
    return true;
}

bool access_values(const struct access_context *c, const struct access *a,
                   const struct access_slice *slice, struct access_values *ret) {
    if (a->kind == ACCESS_MISSING)
        return false;
    if (a->bits)
        return add_bits(c, a, ret);
    if (a->kind == ACCESS_MEMORY)
        return add_memory(a, slice, ret);
    size_t before = ret->count;
    for (unsigned i = 0; i < a->place.count; i++)
        if (!add_piece(&a->place.piece[i], a, slice, ret))
            return false;
    return ret->count > before;
}

bool access_address(const struct access *a, struct capture_value *ret) {
    if (a->kind == ACCESS_PIECES) {
        const struct abi_piece *p = piece_of(a, a->at, 1);
        if (!p || p->from != FROM_STACK)
            return false;
        *ret = value_at(p, a->at - p->at);
        ret->from = FROM_STACK_ADDRESS;
        return true;
    }
    if (a->kind != ACCESS_MEMORY || !fits_step(a->offset) || a->bits)
        return false;
    *ret = a->base;
    if (ret->steps >= CAPTURE_MOST_STEPS)
        return false;
    ret->step[ret->steps++].offset = (int32_t)a->offset;
    ret->length_of = -1;
    return true;
}
