/*
 * System V psABI for x86-64. Each eight bytes of an object have a class (3.2.3); objects that have
 * no registers, or not enough, are on the stack.
 *
 * Vectors wider than 16 bytes depend on the options of the compiler, and those of 4 bytes on the
 * compiler: no place behind one is told.
 *
 * An object with unaligned scalars is in memory. GCC and Clang differ about members of packed
 * structs. Of an array, GCC asks only the first element. Clang asks every struct for its alignment,
 * also one of bit fields. GCC takes a bit field of a union, or one that fills an integer, for an
 * integer. Where they differ, no place is told.
 */
#include "values/abi_state.h"

enum eightbyte { CLASS_NONE, CLASS_INTEGER, CLASS_SSE, CLASS_SSE_UP, CLASS_X87, CLASS_MEMORY };
enum { MOST_IN_REGISTERS = 16, EIGHTBYTES = 2 };

struct classes {
    enum eightbyte at[EIGHTBYTES];
    bool unsure;
};

static bool is_x87(const struct type *t) {
    return t->kind == TYPE_FLOAT && t->bytes == 16 && !(t->flags & TYPE_COMPLEX) &&
           !shape_is_quad(t);
}

static enum eightbyte class_of(const struct leaf *leaf) {
    if (is_x87(leaf->type))
        return CLASS_X87;
    if (leaf->type->kind == TYPE_FLOAT || leaf->type->kind == TYPE_ARRAY)
        return CLASS_SSE;
    return CLASS_INTEGER;
}

/* The rules of merging; x87 is alone in its object, or the object is in memory. */
static enum eightbyte merged(enum eightbyte a, enum eightbyte b) {
    if (a == b || b == CLASS_NONE)
        return a;
    if (a == CLASS_NONE)
        return b;
    if (a == CLASS_MEMORY || b == CLASS_MEMORY)
        return CLASS_MEMORY;
    if (a == CLASS_INTEGER || b == CLASS_INTEGER)
        return CLASS_INTEGER;
    if (a == CLASS_X87 || b == CLASS_X87)
        return CLASS_MEMORY;
    return CLASS_SSE;
}

static uint64_t alignment_of(const struct leaf *leaf) {
    const struct type *t = leaf->type;
    if (t->kind == TYPE_POINTER)
        return 8;
    return t->flags & TYPE_COMPLEX && leaf->bytes > 1 ? leaf->bytes / 2 : leaf->bytes;
}

/* The least integer that holds a bit field. */
static uint64_t integer_bits(uint64_t bits) {
    uint64_t ret = 8;
    while (ret < bits)
        ret *= 2;
    return ret;
}

static bool bits_unaligned_to_gcc(const struct leaf *leaf) {
    uint64_t bits = integer_bits(leaf->bits), begin = leaf->holder_at * 8;
    bool plain = leaf->holder->kind == TYPE_UNION ||
                 (leaf->bits == bits && (leaf->bit_at - begin) % bits == 0);
    return plain && (begin - leaf->skipped * 8) % bits;
}

/* The size shows that a struct is packed; if it does not, the struct may be. */
static bool bits_unaligned_to_clang(const struct leaf *leaf) {
    uint64_t align = alignment_of(leaf);
    return leaf->holder_at % align && leaf->holder->bytes % align == 0;
}

/* False: the object is in memory, for all compilers. */
static bool check_alignment(struct classes *c, const struct leaf *leaf) {
    uint64_t align = alignment_of(leaf);
    if (leaf->bits) {
        c->unsure |= bits_unaligned_to_gcc(leaf) || bits_unaligned_to_clang(leaf);
        return true;
    }
    bool is_first = (leaf->at - leaf->skipped) % align == 0; /* of arrays, as GCC asks */
    if (leaf->at % align && is_first)
        c->unsure = true;
    return is_first;
}

static bool add_leaf(void *ctx, const struct leaf *leaf) {
    struct classes *c = ctx;
    uint64_t first = leaf->at / 8, last = (leaf->at + leaf->bytes - 1) / 8;
    if (leaf->bits) {
        first = leaf->bit_at / 64;
        last = (leaf->bit_at + leaf->bits - 1) / 64;
    }
    if (!check_alignment(c, leaf)) {
        *c = (struct classes){{CLASS_MEMORY}, false};
        return false;
    }
    if (leaf->type->kind == TYPE_ARRAY && leaf->bytes != 8 && leaf->bytes != 16)
        c->unsure = true;
    enum eightbyte class = class_of(leaf);
    bool wide = class == CLASS_SSE && leaf->bytes == 16 &&
                !(leaf->type->kind == TYPE_FLOAT && (leaf->type->flags & TYPE_COMPLEX));
    for (uint64_t i = first; i <= last && i < EIGHTBYTES; i++)
        c->at[i] = merged(c->at[i], i > first && wide ? CLASS_SSE_UP : class);
    return true;
}

/* The classes of an object; at[0] is CLASS_MEMORY if it is in memory. */
static struct classes classify(struct types *types, type_id id) {
    struct classes c = {0};
    const struct type *t = shape_get(types, id);
    uint64_t bytes = shape_bytes(types, id);
    if (!t || t->kind == TYPE_FORWARD || t->kind == TYPE_STRING) {
        c.unsure = true;
        return c;
    }
    if (t->kind == TYPE_ARRAY && bytes > MOST_IN_REGISTERS)
        c.unsure = true;
    if (bytes > MOST_IN_REGISTERS)
        c.at[0] = CLASS_MEMORY;
    else if (!shape_leaves(types, id, add_leaf, &c) && c.at[0] != CLASS_MEMORY)
        c.unsure = true;
    if (c.at[1] == CLASS_MEMORY || (c.at[1] == CLASS_X87 && c.at[0] != CLASS_X87))
        c.at[0] = CLASS_MEMORY;
    if (c.at[1] == CLASS_SSE_UP && c.at[0] != CLASS_SSE)
        c.at[1] = CLASS_SSE;
    return c;
}

/* ---- arguments ---- */

enum { INTEGERS = 6, VECTORS = 8 };
static const uint8_t integer_registers[INTEGERS] = {5, 4, 1, 2, 8, 9}; /* rdi rsi rdx rcx r8 r9 */

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

static bool has_registers(const struct abi_state *s, const struct classes *c) {
    unsigned integers = s->integers, vectors = s->vectors;
    for (unsigned i = 0; i < EIGHTBYTES; i++) {
        integers += c->at[i] == CLASS_INTEGER;
        vectors += c->at[i] == CLASS_SSE;
    }
    return integers <= INTEGERS && vectors <= VECTORS;
}

static void add_registers(struct abi_state *s, const struct classes *c, uint32_t bytes,
                          struct abi_place *ret) {
    for (unsigned i = 0; i < EIGHTBYTES && i * 8 < bytes; i++) {
        uint32_t part = least(bytes - i * 8, 8);
        if (c->at[i] == CLASS_INTEGER)
            abi_add_register(ret, integer_registers[s->integers++], i * 8, part);
        else if (c->at[i] == CLASS_SSE)
            abi_add_vector(ret, s->vectors++, 0, i * 8, part);
        else if (c->at[i] == CLASS_SSE_UP)
            abi_add_vector(ret, s->vectors - 1, 8, i * 8, part);
    }
}

static void add_address(struct abi_state *s, struct abi_place *ret) {
    ret->indirect = true;
    if (s->integers < INTEGERS)
        abi_add_register(ret, integer_registers[s->integers++], 0, 8);
    else
        abi_add_stack(s, ret, 8, 8, 8);
}

/* Clang then takes the last register for free. Of a struct that wants a register of each kind, it
 * passes one half in a register, the other on the stack. */
static bool is_torn(const struct abi_state *s, const struct classes *c) {
    return s->half && ((c->at[0] == CLASS_INTEGER && c->at[1] == CLASS_SSE) ||
                       (c->at[0] == CLASS_SSE && c->at[1] == CLASS_INTEGER));
}

static void add_halves(struct abi_state *s, struct abi_place *ret) {
    s->half |= s->integers == INTEGERS - 1;
    for (uint32_t at = 0; at < 16; at += 8) {
        if (s->integers < INTEGERS)
            abi_add_register(ret, integer_registers[s->integers++], at, 8);
        else
            abi_add_stack(s, ret, 8, 8, 8);
        ret->piece[ret->count - 1].at = at;
    }
}

void abi_x86_64_argument(struct abi_state *s, const struct abi_call *call, type_id type,
                         struct abi_place *ret) {
    const struct type *t = shape_get(call->types, type);
    struct classes c = classify(call->types, type);
    uint32_t bytes = (uint32_t)shape_bytes(call->types, type);
    if (t && (t->flags & TYPE_BY_REFERENCE)) {
        add_address(s, ret);
    } else if (c.unsure || is_torn(s, &c)) {
        s->unsure = true;
    } else if (call->splits_wide && t->kind == TYPE_INTEGER && bytes == 16) {
        add_halves(s, ret);
    } else if (c.at[0] == CLASS_MEMORY || c.at[0] == CLASS_X87 || !has_registers(s, &c)) {
        uint32_t align = shape_alignment(call->types, type);
        abi_add_stack(s, ret, 8, align > 8 ? align : 8, bytes);
    } else {
        add_registers(s, &c, bytes, ret);
    }
}

/* ---- results ---- */

static bool is_complex_x87(const struct type *t) {
    return t->kind == TYPE_FLOAT && (t->flags & TYPE_COMPLEX) && t->bytes == 32;
}

bool abi_x86_64_result_is_passed(const struct abi_call *call) {
    const struct type *t = shape_get(call->types, call->result);
    if (!t)
        return false;
    return (t->flags & TYPE_BY_REFERENCE) ||
           (!is_complex_x87(t) && classify(call->types, call->result).at[0] == CLASS_MEMORY);
}

static void add_x87(struct abi_place *ret, unsigned number) {
    abi_add(ret, (struct abi_piece){
                     .from = FROM_X87, .part = (uint8_t)number, .at = number * 16, .bytes = 10});
}

void abi_x86_64_result(const struct abi_call *call, struct abi_place *ret) {
    static const uint8_t integers[] = {0, 1}; /* rax, rdx */
    const struct type *t = shape_get(call->types, call->result);
    struct classes c = classify(call->types, call->result);
    uint32_t bytes = (uint32_t)shape_bytes(call->types, call->result);
    if (!t || (c.unsure && !(t->flags & TYPE_BY_REFERENCE))) {
        ret->missing = VALUE_UNTYPED;
    } else if (is_complex_x87(t)) {
        add_x87(ret, 0);
        add_x87(ret, 1);
    } else if (abi_x86_64_result_is_passed(call)) {
        ret->indirect = true;
        abi_add_register(ret, integers[0], 0, 8);
    } else if (c.at[0] == CLASS_X87) {
        add_x87(ret, 0);
    } else {
        struct abi_state s = {0};
        add_registers(&s, &c, bytes, ret);
        for (unsigned i = 0, next = 0; i < ret->count; i++)
            if (ret->piece[i].from == FROM_REGISTER)
                ret->piece[i].reg = integers[next++];
    }
}
