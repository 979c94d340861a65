/*
 * Debugging information and the ABI, together.
 *
 * The ABI counts only where nothing contradicts it: if one parameter is given to be in another
 * register, the compiler has changed what the function takes, and perhaps what it returns. Clang
 * does so with functions that nothing outside of their file calls, and leaves their names.
 */
#include "values/places.h"

#include <string.h>

#include "base/mem.h"
#include "values/shape.h"

/* ---- registers by their numbers in DWARF ---- */

struct register_file {
    uint16_t first, last; /* vector registers */
    uint16_t general;     /* general registers are below */
};

static const struct register_file files[] = {[ABI_X86_64] = {17, 32, 16},
                                             [ABI_AARCH64] = {64, 95, 31},
                                             [ABI_ARM_HARD] = {256, 287, 15},
                                             [ABI_ARM_SOFT] = {256, 287, 15},
                                             [ABI_GO_X86_64] = {17, 32, 16}};

static bool is_arm(enum abi abi) { return abi == ABI_ARM_HARD || abi == ABI_ARM_SOFT; }

static bool register_piece(enum abi abi, unsigned reg, struct abi_piece *ret) {
    enum { S0 = 64, S31 = 95 }; /* of Arm: halves of d0 to d15, old numbers that GCC writes */
    const struct register_file *f = &files[abi];
    if (is_arm(abi) && reg >= S0 && reg <= S31)
        *ret = (struct abi_piece){.from = FROM_VECTOR,
                                  .reg = (uint8_t)((reg - S0) / 2),
                                  .part = (uint8_t)((reg - S0) % 2 * 4)};
    else if (reg < f->general)
        *ret = (struct abi_piece){.from = FROM_REGISTER, .reg = (uint8_t)reg};
    else if (reg >= f->first && reg <= f->last)
        *ret = (struct abi_piece){.from = FROM_VECTOR, .reg = (uint8_t)(reg - f->first)};
    else
        return false;
    return true;
}

static const struct abi_place nowhere = {.missing = VALUE_OPTIMIZED_OUT};

/* The CFA is the stack pointer before the call. */
static struct abi_piece frame_piece(enum abi abi, int64_t offset) {
    return (struct abi_piece){.from = FROM_STACK,
                              .stack_offset = (int32_t)(offset + abi_stack_arguments(abi))};
}

static bool is_above_frame(int64_t offset) { return offset >= 0 && offset < 1 << 20; }

/* ---- what debugging information says ---- */

static struct abi_place given_pieces(enum abi abi, const struct place *p, uint64_t bytes) {
    struct abi_place place = {0};
    uint64_t at = 0;
    for (unsigned i = 0; i < p->piece_count; i++) {
        const struct place_piece *from = &p->pieces[i];
        struct abi_piece piece = {0};
        if (from->kind == PLACE_FRAME && is_above_frame(from->offset))
            piece = frame_piece(abi, from->offset);
        else if (from->kind != PLACE_REGISTER || !register_piece(abi, from->reg, &piece))
            piece.bytes = 0;
        bool known = piece.from != FROM_NOTHING && from->bytes <= 8;
        piece.at = (uint32_t)at;
        piece.bytes = from->bytes;
        if (known)
            place.piece[place.count++] = piece;
        at += from->bytes;
    }
    return at <= bytes && place.count ? place : nowhere;
}

static bool is_in_one_register(const struct abi_piece *piece, enum abi abi, uint64_t bytes) {
    if (piece->from != FROM_VECTOR)
        return bytes <= abi_word(abi);
    return bytes <= (is_arm(abi) ? 8U - piece->part : 16U);
}

static struct abi_place given_register(enum abi abi, const struct place *p, uint64_t bytes) {
    struct abi_place place = {.indirect = p->address, .count = 1, .behind = (int32_t)p->offset};
    if (p->offset != place.behind || !register_piece(abi, p->reg, &place.piece[0]))
        return nowhere;
    uint32_t whole = p->address ? abi_word(abi) : (uint32_t)bytes;
    if (!is_in_one_register(&place.piece[0], abi, whole))
        return nowhere;
    place.piece[0].bytes = whole < 8 ? whole : 8;
    if (whole > 8) { /* 16 bytes of a vector register */
        place.piece[1] = place.piece[0];
        place.piece[1].part = 8;
        place.piece[1].at = 8;
        place.piece[1].bytes = whole - 8;
        place.count = 2;
    }
    return place;
}

/* RET is kept where P says nothing. */
static void take_given(enum abi abi, const struct place *p, uint64_t bytes, struct abi_place *ret) {
    switch (p->kind) {
    case PLACE_BY_ABI:
        break;
    case PLACE_REGISTER:
        *ret = given_register(abi, p, bytes);
        break;
    case PLACE_FRAME:
        *ret = nowhere;
        if (!is_above_frame(p->offset))
            break;
        *ret = (struct abi_place){.indirect = p->address, .count = 1};
        ret->piece[0] = frame_piece(abi, p->offset);
        ret->piece[0].bytes = p->address ? abi_word(abi) : (uint32_t)bytes;
        break;
    case PLACE_PIECES:
        *ret = given_pieces(abi, p, bytes);
        break;
    case PLACE_CONSTANT:
        *ret = (struct abi_place){.count = 1};
        ret->piece[0] = (struct abi_piece){.from = FROM_CONSTANT,
                                           .constant = p->constant,
                                           .bytes = bytes < 8 ? (uint32_t)bytes : 8};
        break;
    case PLACE_MISSING:
        *ret = nowhere;
        break;
    }
}

/* ---- trust ---- */

static bool agrees(enum abi abi, const struct place *p, const struct abi_place *by_abi) {
    struct abi_piece given;
    if (p->kind != PLACE_REGISTER || by_abi->missing || by_abi->count != 1)
        return true;
    return register_piece(abi, p->reg, &given) && given.from == by_abi->piece[0].from &&
           given.reg == by_abi->piece[0].reg && given.part == by_abi->piece[0].part &&
           p->address == by_abi->indirect && !p->offset;
}

static bool is_c(const struct signature *s) {
    return s->language == SOURCE_C || s->language == SOURCE_CXX ||
           (s->language == SOURCE_OTHER &&
            (!s->has_places || strncmp(s->producer, "GNU ", 4) == 0));
}

static bool is_trusted(enum abi abi, const struct signature *s, const struct abi_place *by_abi) {
    if (s->changed)
        return false;
    for (size_t i = 0; i < s->count; i++)
        if (!s->parameters[i].place.whole && !agrees(abi, &s->parameters[i].place, &by_abi[i]))
            return false;
    return true;
}

/* Callers of a function without a prototype pass a float as a double. */
static bool is_promoted(struct types *types, const struct signature *s, type_id type) {
    const struct type *t = shape_get(types, type);
    return !s->prototyped && s->language == SOURCE_C && t && t->kind == TYPE_FLOAT &&
           types_bytes(types, type) < 8;
}

static bool is_old_clang(const char *producer) {
    static const char sign[] = "clang version ";
    const char *at = strstr(producer, sign);
    return at && strtoul(at + sizeof sign - 1, NULL, 10) < 18;
}

/* ---- all of a function ---- */

static enum abi abi_of(const struct signature *s, enum abi abi) {
    return s->language == SOURCE_GO && abi == ABI_X86_64 ? ABI_GO_X86_64 : abi;
}

/* DWARF does not list what a closure has captured, which is its first argument. */
static void place_plain_rust(struct places *ret, const struct signature *s, struct abi_call *call) {
    const bool is_closure = s->name[0] == '{';
    if (abi_rust_knows_result(call))
        abi_result(ABI_X86_64, call, &ret->result);
    call->count = is_closure ? 0 : abi_rust_known_arguments(call);
    abi_arguments(ABI_X86_64, call, ret->parameters);
}

/* All places by the ABI; Go's results are among the parameters, but in registers of their own. */
static void place_by_abi(struct places *ret, struct types *types, const struct signature *s,
                         enum abi abi) {
    AUTO_FREE type_id *ids = mem_alloc((s->count + 1) * sizeof *ids);
    size_t count = 0;
    while (count < s->count && !(s->parameters[count].flags & PARAMETER_RESULT)) {
        ids[count] = s->parameters[count].type;
        count++;
    }
    struct abi_call call = {types, ids, count, s->result, s->varargs, is_old_clang(s->producer)};
    for (size_t i = 0; i < s->count; i++)
        ret->parameters[i] = (struct abi_place){.missing = VALUE_UNTYPED};
    ret->result = (struct abi_place){.missing = VALUE_UNTYPED};
    if (s->language == SOURCE_RUST && !s->optimized && !s->changed && abi == ABI_X86_64) {
        place_plain_rust(ret, s, &call);
        return;
    }
    if (!is_c(s) && s->language != SOURCE_GO)
        return;
    abi_arguments(abi, &call, ret->parameters);
    abi_result(abi, &call, &ret->result);
}

/* GCC drops parameters only in clones, which `changed` tells. So one that the function does not
 * use, and that has no location, is passed nevertheless. Callers that Clang compiles leave it out.
 */
static bool is_passed_unused(const struct signature *s, const struct parameter *p) {
    return p->place.kind == PLACE_MISSING && !s->changed && strncmp(s->producer, "GNU ", 4) == 0;
}

static void place_parameter(struct places *ret, struct types *types, const struct signature *s,
                            enum abi abi, size_t i) {
    const struct parameter *p = &s->parameters[i];
    struct abi_place *place = &ret->parameters[i];
    if (!s->has_places || is_passed_unused(s, p))
        return;
    if (p->place.kind == PLACE_REGISTER && p->place.whole && !s->changed) {
        if (!agrees(abi, &p->place, place))
            *place = nowhere;
    } else {
        take_given(abi, &p->place, types_bytes(types, p->type), place);
    }
    if (is_promoted(types, s, p->type))
        *place = (struct abi_place){.missing = VALUE_UNTYPED};
}

void places_init(struct places *ret, struct types *types, const struct signature *s,
                 enum abi of_c) {
    enum abi abi = abi_of(s, of_c);
    ret->parameters = mem_alloc((s->count + 1) * sizeof *ret->parameters);
    place_by_abi(ret, types, s, abi);
    bool trusted = is_trusted(abi, s, ret->parameters);
    for (size_t i = 0; i < s->count && !trusted; i++)
        ret->parameters[i] = nowhere;
    if (!trusted)
        ret->result = nowhere;
    for (size_t i = 0; i < s->count; i++)
        place_parameter(ret, types, s, abi, i);
}

void places_done(struct places *p) {
    free(p->parameters);
    p->parameters = NULL;
}
