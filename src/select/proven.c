/*
 * From the origins of what a function keeps (plan/origins.h) to places of its parameters.
 *
 * Only of code that is not optimised: there a parameter has its slot in the frame for itself, and
 * what is stored there first is what was passed.
 */
#include "select/proven.h"

#include <string.h>

#include "arch/arch.h"
#include "plan/origins.h"

enum { WORD = 8, DWARF_XMM0 = 17, MOST_BYTES = 64 };

struct proving {
    const struct module *module;
    vaddr_t start;
    struct entry_code *whole; /* as far as the code is straight; NULL: not read yet */
};

/* ---- pieces ---- */

static uint16_t dwarf_number_of(uint8_t reg) {
    return reg < DATA_VECTOR ? reg : (uint16_t)(DWARF_XMM0 + reg - DATA_VECTOR);
}

static struct place_piece piece_at(struct origin o) {
    struct place_piece piece = {.kind = PLACE_MISSING, .bytes = 1};
    if (o.kind == ORIGIN_REGISTER && o.at == 0) {
        piece.kind = PLACE_REGISTER;
        piece.reg = dwarf_number_of(o.reg);
    } else if (o.kind == ORIGIN_STACK) {
        piece.kind = PLACE_FRAME;
        piece.offset = o.at;
    }
    return piece;
}

static bool continues(const struct place_piece *piece, struct origin o) {
    const bool fits = piece->bytes < WORD && !o.bit;
    if (piece->kind == PLACE_REGISTER)
        return fits && o.kind == ORIGIN_REGISTER && piece->reg == dwarf_number_of(o.reg) &&
               o.at == (int32_t)piece->bytes;
    if (piece->kind == PLACE_FRAME)
        return fits && o.kind == ORIGIN_STACK && o.at == piece->offset + piece->bytes;
    return piece_at(o).kind == PLACE_MISSING;
}

/* False: there are too many pieces. */
static bool add_byte(struct place *place, struct origin o) {
    struct place_piece *last = &place->pieces[place->piece_count - 1];
    if (place->piece_count && continues(last, o)) {
        last->bytes++;
        return true;
    }
    if (place->piece_count == PLACE_MOST_PIECES)
        return false;
    place->pieces[place->piece_count++] = piece_at(o);
    return true;
}

static bool is_any_known(const struct place *place) {
    for (unsigned i = 0; i < place->piece_count; i++)
        if (place->pieces[i].kind != PLACE_MISSING)
            return true;
    return !place->piece_count;
}

/* ---- one parameter ---- */

/* An object of BYTES at CFA + AT. */
static bool place_stored(const struct entry_code *e, int32_t at, uint64_t bytes,
                         struct place *ret) {
    struct place place = {.kind = PLACE_PIECES};
    if (at >= 0) {
        *ret = (struct place){.kind = PLACE_FRAME, .offset = at};
        return true;
    }
    for (uint64_t i = 0; i < bytes; i++) {
        struct origin o = entry_code_first(e, at + (int32_t)i);
        if (o.bit && bytes > 1) /* a bool has no more */
            o.kind = ORIGIN_UNKNOWN;
        if (!add_byte(&place, o))
            return false;
    }
    *ret = place;
    return is_any_known(&place);
}

/* An object whose value, or address, comes from one register or one word on the stack. */
static bool place_of_word(struct origin (*byte_of)(const struct entry_code *e, int32_t at),
                          const struct entry_code *e, int32_t at, uint64_t bytes,
                          struct place *ret) {
    struct place place = {.kind = PLACE_PIECES};
    for (uint64_t i = 0; i < bytes; i++)
        add_byte(&place, byte_of(e, at + (int32_t)i));
    *ret = (struct place){
        .kind = place.pieces[0].kind, .reg = place.pieces[0].reg, .offset = place.pieces[0].offset};
    return place.piece_count == 1 && ret->kind != PLACE_MISSING;
}

/* AT: the register's number, and a byte in it. */
static struct origin register_byte(const struct entry_code *e, int32_t at) {
    return entry_code_register(e, (unsigned)at / WORD, (unsigned)at % WORD);
}

/* The address of the object is in memory at CFA + AT. */
static bool place_behind(const struct entry_code *e, int32_t at, struct place *ret) {
    ret->address = place_of_word(entry_code_first, e, at, WORD, ret);
    return ret->address;
}

/* The object is where REG points to, plus OFFSET. */
static bool place_pointed(const struct entry_code *e, const struct home *h, struct place *ret) {
    if (h->base < 0 || h->base >= DATA_VECTOR ||
        !place_of_word(register_byte, e, h->base * WORD, WORD, ret) || ret->kind != PLACE_REGISTER)
        return false;
    ret->address = true;
    ret->offset = h->offset;
    return true;
}

static bool place_at_home(const struct entry_code *e, const struct home *h, uint64_t bytes,
                          struct place *ret) {
    const struct entry_memory at = {h->base == HOME_CFA ? ENTRY_CFA : h->base, h->offset};
    int32_t place;
    switch (h->kind) {
    case HOME_NONE:
        break;
    case HOME_REGISTER:
        return bytes && bytes <= WORD && h->base < DATA_VECTOR &&
               place_of_word(register_byte, e, h->base * WORD, bytes, ret) &&
               ret->kind == PLACE_REGISTER;
    case HOME_MEMORY:
        if (!entry_code_place(e, at, !h->from, &place))
            return h->from && place_pointed(e, h, ret);
        return place_stored(e, place, bytes, ret);
    case HOME_ADDRESS:
        return entry_code_place(e, at, !h->from, &place) && place_behind(e, place, ret);
    }
    return false;
}

static void prove(struct proving *p, uint64_t bytes, struct parameter *parameter) {
    const struct home *h = &parameter->home;
    struct place place = {0};
    if (bytes > MOST_BYTES && h->kind == HOME_MEMORY && !h->from)
        return;
    if (!p->whole)
        p->whole = entry_code_read(p->module, p->start, 0);
    struct entry_code *up_to = h->from ? entry_code_read(p->module, p->start, h->from) : NULL;
    const struct entry_code *e = h->from ? up_to : p->whole;
    if (e && place_at_home(e, h, bytes, &place))
        parameter->place = place;
    entry_code_free(up_to);
}

/* C's conventions are known. */
static bool is_doubtful(const struct signature *s) {
    return s->language == SOURCE_RUST || s->language == SOURCE_D || s->language == SOURCE_OTHER;
}

/* ---- optimised code: arguments on the stack ---- */

/* LLVM describes them for the whole function, relative to what the stack pointer is behind the
 * prologue; or from there on. */
static bool is_stacked(const struct parameter *p) { return p->home.kind == HOME_MEMORY; }

static void prove_stacked(struct proving *p, struct parameter *parameter) {
    const struct home *h = &parameter->home;
    int32_t at;
    if (!is_stacked(parameter) || h->from)
        return;
    if (!p->whole)
        p->whole = entry_code_read(p->module, p->start, 0);
    if (p->whole &&
        entry_code_place(
            p->whole, (struct entry_memory){h->base == HOME_CFA ? ENTRY_CFA : h->base, h->offset},
            true, &at) &&
        at >= 0)
        parameter->place = (struct place){.kind = PLACE_FRAME, .offset = at};
}

static int64_t cfa_offset(enum abi abi, const struct abi_piece *piece) {
    return piece->stack_offset - (int64_t)abi_stack_arguments(abi);
}

static bool is_in_its_register(const struct place *p, const struct abi_piece *piece) {
    const unsigned reg = piece->from == FROM_REGISTER ? piece->reg : DWARF_XMM0 + piece->reg;
    return p->kind == PLACE_REGISTER && !p->address && !p->offset && p->reg == reg &&
           (piece->from == FROM_REGISTER || piece->from == FROM_VECTOR);
}

/* Whether the home of PARAMETER, where its description begins, is at CFA + AT. */
static bool is_home_at(const struct proving *p, const struct parameter *parameter, int64_t at) {
    const struct home *h = &parameter->home;
    struct entry_code *up_to = entry_code_read(p->module, p->start, h->from);
    int32_t place;
    const bool there =
        up_to &&
        entry_code_place(up_to, (struct entry_memory){h->base, h->offset}, false, &place) &&
        place == at;
    entry_code_free(up_to);
    return there;
}

struct stacked {
    const struct parameter *first; /* that is described for the whole function */
    int64_t distance;              /* its home minus its place */
    unsigned count;
};

/* Whether PARAMETER is on the stack, as far from the others there as the convention wants. */
static bool is_on_stack(const struct proving *p, const struct parameter *parameter, int64_t at,
                        struct stacked *s) {
    const struct home *h = &parameter->home;
    s->count++;
    if (h->from)
        return is_home_at(p, parameter, at);
    if (s->first)
        return h->offset - at == s->distance && h->base == s->first->home.base;
    s->first = parameter;
    s->distance = h->offset - at;
    return true;
}

/* Whether the compiler has left out no parameter: each has a description, and all are where the
 * convention wants them. */
static bool are_complete(const struct proving *p, enum abi abi, const struct signature *s,
                         const struct abi_place *by_abi) {
    struct stacked stacked = {0};
    for (size_t i = 0; i < s->count; i++) {
        const struct parameter *one = &s->parameters[i];
        const struct abi_piece *piece = &by_abi[i].piece[0];
        if (by_abi[i].missing || by_abi[i].indirect || by_abi[i].count != 1)
            return false;
        const bool there =
            is_stacked(one)
                ? piece->from == FROM_STACK && is_on_stack(p, one, cfa_offset(abi, piece), &stacked)
                : is_in_its_register(&one->place, piece);
        if (!there)
            return false;
    }
    return stacked.count > 0;
}

static void place_complete(const struct proving *p, struct types *types, enum abi abi,
                           struct signature *s) {
    AUTO_FREE type_id *ids = mem_alloc((s->count + 1) * sizeof *ids);
    AUTO_FREE struct abi_place *by_abi = mem_alloc((s->count + 1) * sizeof *by_abi);
    for (size_t i = 0; i < s->count; i++)
        ids[i] = s->parameters[i].type;
    const struct abi_call call = {
        .types = types, .arguments = ids, .count = s->count, .result = s->result};
    abi_arguments(abi, &call, by_abi);
    if (!are_complete(p, abi, s, by_abi))
        return;
    for (size_t i = 0; i < s->count; i++)
        if (is_stacked(&s->parameters[i]))
            s->parameters[i].place =
                (struct place){.kind = PLACE_FRAME, .offset = cfa_offset(abi, &by_abi[i].piece[0])};
}

/* ---- all parameters ---- */

static bool is_any_stacked(const struct signature *s) {
    for (size_t i = 0; i < s->count; i++)
        if (is_stacked(&s->parameters[i]))
            return true;
    return false;
}

static void prove_optimized(struct proving *p, struct types *types, enum abi abi,
                            struct signature *s) {
    if (abi != ABI_X86_64 || !is_any_stacked(s))
        return;
    if (s->changed && !is_doubtful(s))
        place_complete(p, types, abi, s);
    for (size_t i = 0; i < s->count; i++)
        if (s->parameters[i].place.kind == PLACE_MISSING || is_doubtful(s))
            prove_stacked(p, &s->parameters[i]);
}

void proven_places(const struct module *m, vaddr_t start, struct types *types, enum abi abi,
                   struct signature *s) {
    struct proving p = {.module = m, .start = start};
    if (s->optimized)
        prove_optimized(&p, types, abi, s);
    for (size_t i = 0; i < s->count && !s->optimized && is_doubtful(s); i++)
        if (s->parameters[i].home.kind != HOME_NONE)
            prove(&p, types_bytes(types, s->parameters[i].type), &s->parameters[i]);
    entry_code_free(p.whole);
}

/* ---- results ---- */

static unsigned data_number(const struct abi_piece *piece) {
    if (piece->from == FROM_REGISTER)
        return piece->reg;
    return piece->from == FROM_VECTOR ? DATA_VECTOR + piece->reg : DATA_REGISTERS;
}

/* Compilers can leave out each register for itself. MAKES: the code is optimised. */
static bool is_returned(struct result_uses *uses, uint32_t function, const struct abi_place *result,
                        bool makes) {
    for (unsigned i = 0; i < result->count; i++) {
        const unsigned reg = data_number(&result->piece[i]);
        if (!result_is_used(uses, function, reg) && !(makes && result_is_made(uses, function, reg)))
            return false;
    }
    return result->count && !result->indirect;
}

/* The registers are those of the calling convention. */
static bool is_gone(struct result_uses *uses, const struct result_question *q,
                    const struct abi_place *result) {
    for (unsigned i = 0; i < result->count; i++)
        if (!result_is_gone(uses, q, data_number(&result->piece[i])))
            return false;
    return result->count && !result->indirect;
}

/* LLVM changes no function whose address is taken. */
static bool is_by_llvm(const struct signature *s) {
    return strstr(s->producer, "clang") || strstr(s->producer, "LLVM");
}

static bool place_result(struct types *types, enum abi abi, const struct signature *s,
                         struct abi_place *ret) {
    const struct abi_call call = {.types = types, .result = s->result};
    *ret = (struct abi_place){.missing = VALUE_UNTYPED};
    if (s->language == SOURCE_C || s->language == SOURCE_CXX)
        abi_result(abi, &call, ret);
    else if (s->language == SOURCE_RUST && abi == ABI_X86_64)
        abi_rust_result(&call, ret);
    return !ret->missing;
}

void proven_result(struct result_uses *uses, const struct result_question *q, struct types *types,
                   enum abi abi, struct signature *s) {
    const uint32_t function = q->function;
    struct abi_place result;
    const bool doubtful = s->changed || s->language == SOURCE_RUST;
    if (!doubtful || s->keeps_result || !s->result || !place_result(types, abi, s, &result))
        return;
    if (result.indirect)
        s->returns_address = result_is_first_argument(uses, function);
    s->keeps_result = s->returns_address ||
                      is_returned(uses, function, &result, s->changed || s->optimized) ||
                      (is_by_llvm(s) && result_address_is_taken(uses, function));
    s->lost_result = s->changed && !s->keeps_result && is_gone(uses, q, &result);
}
