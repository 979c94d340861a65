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
#include "values/abi_state.h"

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
static const struct abi_place gone = {.missing = VALUE_GONE};

/* The CFA is the stack pointer before the call. */
static struct abi_piece frame_piece(enum abi abi, int64_t offset) {
    return (struct abi_piece){.from = FROM_STACK,
                              .stack_offset = (int32_t)(offset + abi_stack_arguments(abi))};
}

static bool is_above_frame(int64_t offset) { return offset >= 0 && offset < 1 << 20; }

/* ---- what debugging information says ---- */

/* Adds the piece FROM of an object, from byte AT on, if its place is known. */
static void add_piece(enum abi abi, const struct place_piece *from, uint64_t at,
                      struct abi_place *ret) {
    struct abi_piece piece = {0};
    if (from->kind == PLACE_FRAME && is_above_frame(from->offset))
        piece = frame_piece(abi, from->offset);
    else if (from->kind == PLACE_CONSTANT)
        piece = (struct abi_piece){.from = FROM_CONSTANT, .constant = from->constant};
    else if (from->kind != PLACE_REGISTER || !register_piece(abi, from->reg, &piece))
        return;
    piece.at = (uint32_t)at;
    piece.bytes = from->bytes;
    if (from->bytes <= 8)
        abi_add(ret, piece);
}

static struct abi_place given_pieces(enum abi abi, const struct place *p, uint64_t bytes) {
    struct abi_place place = {0};
    uint64_t at = 0;
    for (unsigned i = 0; i < p->piece_count; i++) {
        add_piece(abi, &p->pieces[i], at, &place);
        at += p->pieces[i].bytes;
    }
    return at <= bytes && (place.count || !bytes) ? place : nowhere;
}

/* Go's pieces are an object's scalars. Between them is no padding, or pieces without a place, which
 * are smaller than the scalar that follows. */
struct scalars {
    enum abi abi;
    const struct place *from;
    unsigned next;
    struct abi_place place;
};

static void skip_padding(struct scalars *s, uint64_t bytes) {
    while (s->next < s->from->piece_count && s->from->pieces[s->next].kind == PLACE_MISSING &&
           s->from->pieces[s->next].bytes < bytes)
        s->next++;
}

static bool give_scalar(void *ctx, const struct leaf *leaf) {
    struct scalars *s = ctx;
    unsigned parts = 1 + (leaf->type->kind == TYPE_FLOAT && leaf->type->flags & TYPE_COMPLEX);
    for (unsigned i = 0; i < parts; i++, s->next++) {
        skip_padding(s, leaf->bytes / parts);
        const struct place_piece *piece = &s->from->pieces[s->next];
        if (s->next == s->from->piece_count || piece->bytes != leaf->bytes / parts)
            return false;
        add_piece(s->abi, piece, leaf->at + i * piece->bytes, &s->place);
    }
    return true;
}

static struct abi_place given_scalars(enum abi abi, const struct place *p, struct types *types,
                                      type_id type) {
    struct scalars s = {.abi = abi, .from = p};
    bool fit = shape_leaves(types, type, give_scalar, &s);
    skip_padding(&s, UINT64_MAX);
    return fit && s.next == p->piece_count && s.place.count ? s.place : nowhere;
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

/* Since version 1.17; before, all is on the stack. */
static bool has_go_registers(const struct signature *s, enum abi abi) {
    return s->language == SOURCE_GO && abi == ABI_X86_64 &&
           strncmp(s->producer, "Go cmd/compile ", 15) == 0 && strstr(s->producer, "regabi");
}

static enum abi abi_of(const struct signature *s, enum abi abi) {
    return has_go_registers(s, abi) ? ABI_GO_X86_64 : abi;
}

/* Optimised code need not return the address of a result in memory. */
static void place_rust_result(struct places *ret, const struct signature *s,
                              const struct abi_call *call) {
    abi_rust_result(call, &ret->result);
    if (ret->result.indirect && !s->returns_address)
        ret->result = (struct abi_place){.missing = VALUE_UNTYPED};
}

/* DWARF does not list what a closure has captured, which is its first argument. */
static void place_rust(struct places *ret, const struct signature *s, struct abi_call *call) {
    const bool is_plain = !s->optimized && !s->changed && s->name[0] != '{';
    place_rust_result(ret, s, call);
    call->count = is_plain ? abi_rust_known_arguments(call) : 0;
    abi_arguments(ABI_X86_64, call, ret->parameters);
}

/* Of functions that it also inlines, Go leaves out results named _. Those without names have
 * numbers. */
static bool has_all_results(const struct signature *s, size_t first) {
    for (size_t i = first; s->inlined && i < s->count; i++) {
        AUTO_FREE char *name = mem_printf("~r%zu", i - first);
        if (strcmp(s->parameters[i].name, name) != 0)
            return false;
    }
    return true;
}

/* The results are the parameters from FIRST on. */
static void place_go_results(struct places *ret, struct types *types, const struct signature *s,
                             size_t first) {
    const size_t count = s->count - first;
    AUTO_FREE type_id *ids = mem_alloc((count + 1) * sizeof *ids);
    for (size_t i = 0; i < count; i++)
        ids[i] = s->parameters[first + i].type;
    if (has_all_results(s, first))
        abi_go_results(&(struct abi_call){types, ids, count, 0, false, false},
                       ret->parameters + first);
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
    if (s->language == SOURCE_RUST && abi == ABI_X86_64) {
        place_rust(ret, s, &call);
        return;
    }
    if (!is_c(s) && abi != ABI_GO_X86_64)
        return;
    abi_arguments(abi, &call, ret->parameters);
    abi_result(abi, &call, &ret->result);
    if (abi == ABI_GO_X86_64)
        place_go_results(ret, types, s, count);
}

/* GCC drops parameters only in clones, which `changed` tells. So one that the function does not
 * use, and that has no location, is passed nevertheless. Callers that Clang compiles leave it out.
 */
static bool is_passed_unused(const struct signature *s, const struct parameter *p) {
    return p->place.kind == PLACE_MISSING && !s->changed && strncmp(s->producer, "GNU ", 4) == 0;
}

/* Where the function keeps it says nothing, unless the caller has made room for it. */
static void place_go_result(enum abi abi, const struct parameter *p, uint64_t bytes,
                            struct abi_place *ret) {
    if (p->place.kind == PLACE_FRAME && !p->place.address && is_above_frame(p->place.offset))
        take_given(abi, &p->place, bytes, ret);
}

static void place_parameter(struct places *ret, struct types *types, const struct signature *s,
                            enum abi abi, size_t i) {
    const struct parameter *p = &s->parameters[i];
    struct abi_place *place = &ret->parameters[i];
    if (!s->has_places || is_passed_unused(s, p))
        return;
    if (p->flags & PARAMETER_RESULT) {
        place_go_result(abi, p, types_bytes(types, p->type), place);
    } else if (s->language == SOURCE_GO && p->place.kind == PLACE_PIECES) {
        *place = given_scalars(abi, &p->place, types, p->type);
    } else if (p->place.kind == PLACE_REGISTER && p->place.whole && !s->changed) {
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
        if (!(s->parameters[i].flags & PARAMETER_RESULT))
            ret->parameters[i] = nowhere;
    if (!trusted && !s->keeps_result)
        ret->result = s->lost_result ? gone : nowhere;
    for (size_t i = 0; i < s->count; i++)
        place_parameter(ret, types, s, abi, i);
}

void places_done(struct places *p) {
    free(p->parameters);
    p->parameters = NULL;
}
