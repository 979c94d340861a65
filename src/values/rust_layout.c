/*
 * The rules by which rustc's layouts become scalars and pairs (rustc_abi, `BackendRepr`). They have
 * been the same since 2017, but for variants with numbers of different kinds (signed or not,
 * pointers): those count as unknown. No document fixes them. (Test: results of Rust as the program
 * prints them.)
 */
#include "values/rust_layout.h"

#include "values/shape.h"

enum { MOST_DEPTH = 24 };

static const struct rust_layout unknown = {.kind = RUST_UNKNOWN};

static struct rust_layout layout_of(struct types *types, type_id id, unsigned depth);

static struct rust_layout scalar(const struct type *t) {
    if (!t->bytes)
        return (struct rust_layout){.kind = RUST_EMPTY};
    if (t->bytes > 16 || (t->kind == TYPE_FLOAT && t->bytes > 8))
        return unknown;
    return (struct rust_layout){RUST_SCALAR,
                                t->bytes,
                                {{.bytes = t->bytes,
                                  .is_float = t->kind == TYPE_FLOAT,
                                  .is_pointer = t->kind == TYPE_POINTER,
                                  .is_signed = t->flags & TYPE_SIGNED}}};
}

static uint64_t up_to(uint64_t n, uint64_t step) { return (n + step - 1) / step * step; }

/* A and B are a pair if nothing but their alignment tells where they are in an object of BYTES. */
static struct rust_layout pair(struct rust_scalar a, struct rust_scalar b, uint64_t bytes) {
    const uint64_t widest = a.bytes > b.bytes ? a.bytes : b.bytes;
    if (a.at > b.at)
        return pair(b, a, bytes);
    if (a.at || b.at != up_to(a.bytes, b.bytes) || up_to(b.at + b.bytes, widest) != bytes)
        return unknown;
    return (struct rust_layout){RUST_PAIR, bytes, {a, b}};
}

/* ---- structs ---- */

struct fields { /* those that are not empty */
    unsigned count;
    bool all_known;
    uint64_t at[2];
    struct rust_layout layout[2];
};

static struct fields fields_of(struct types *types, const struct type *t, unsigned depth) {
    struct fields f = {.all_known = true};
    for (uint32_t i = 0; i < t->count; i++) {
        const struct type_member *m = &t->members[i];
        struct rust_layout layout = layout_of(types, m->type, depth);
        f.all_known &= layout.kind != RUST_UNKNOWN && !m->bit_size;
        if (layout.kind == RUST_EMPTY)
            continue;
        if (f.count < 2) {
            f.at[f.count] = m->bit_offset / 8;
            f.layout[f.count] = layout;
        }
        f.count++;
    }
    return f;
}

static struct rust_scalar scalar_of(const struct fields *f, unsigned i) {
    struct rust_scalar s = f->layout[i].part[0];
    s.at += f->at[i];
    return s;
}

/* Also of a variant's fields, of an enum of BYTES. */
static struct rust_layout of_fields(const struct fields *f, uint64_t bytes) {
    if (!f->all_known)
        return unknown;
    if (f->count == 0)
        return bytes ? unknown : (struct rust_layout){.kind = RUST_EMPTY};
    if (f->count == 1)
        return !f->at[0] && f->layout[0].bytes == bytes ? f->layout[0] : unknown;
    if (f->count == 2 && f->layout[0].kind == RUST_SCALAR && f->layout[1].kind == RUST_SCALAR)
        return pair(scalar_of(f, 0), scalar_of(f, 1), bytes);
    return (struct rust_layout){.kind = RUST_MEMORY, .bytes = bytes};
}

/* ---- enums ---- */

static bool is_same(struct rust_scalar a, struct rust_scalar b) {
    return a.at == b.at && a.bytes == b.bytes && a.is_float == b.is_float &&
           a.is_pointer == b.is_pointer && a.is_signed == b.is_signed;
}

struct variants {
    struct rust_scalar tag, common; /* common.bytes 0: no variant has a field yet */
    bool has_tag, has_common;       /* has_common: all variants have the same scalar, or none */
    bool all_known;
    unsigned defaults, with_fields;
    struct rust_layout whole; /* of the variant without a value of the tag */
};

static void add_variant(struct variants *v, const struct fields *f, bool is_default,
                        uint64_t bytes) {
    v->all_known &= f->all_known;
    v->defaults += is_default;
    v->with_fields += f->count > 0;
    if (is_default)
        v->whole = of_fields(f, bytes);
    if (!f->count)
        return;
    if (f->count > 1 || f->layout[0].kind != RUST_SCALAR)
        v->has_common = false;
    else if (!v->common.bytes)
        v->common = scalar_of(f, 0);
    else if (!is_same(v->common, scalar_of(f, 0)))
        v->all_known = false;
}

static struct variants variants_of(struct types *types, const struct type *t, unsigned depth) {
    struct variants v = {.has_common = true, .all_known = true};
    for (uint32_t i = 0; i < t->count; i++) {
        const struct type_member *m = &t->members[i];
        const struct type *inner = shape_get(types, m->type);
        if (m->flags & MEMBER_DISCRIMINANT) {
            struct rust_layout tag = layout_of(types, m->type, depth);
            v.has_tag = tag.kind == RUST_SCALAR;
            v.tag = tag.part[0];
            v.tag.at = m->bit_offset / 8;
        } else if ((m->flags & MEMBER_VARIANT) && inner && inner->kind == TYPE_STRUCT) {
            struct fields f = fields_of(types, inner, depth);
            add_variant(&v, &f, m->flags & MEMBER_DEFAULT, t->bytes);
        } else {
            v.all_known = false;
        }
    }
    return v;
}

/* Where one variant has no value of the tag, that is one of its own fields (a "niche"). */
static struct rust_layout of_enum(struct types *types, const struct type *t, unsigned depth) {
    const struct variants v = variants_of(types, t, depth);
    const struct rust_layout memory = {.kind = RUST_MEMORY, .bytes = t->bytes};
    if (!v.all_known || !v.has_tag || v.defaults > 1)
        return unknown;
    if (v.defaults)
        return v.with_fields > 1 ? memory : v.whole;
    if (!v.has_common)
        return memory;
    if (!v.with_fields)
        return v.tag.bytes == t->bytes && !v.tag.at
                   ? (struct rust_layout){RUST_SCALAR, t->bytes, {v.tag}}
                   : unknown;
    return v.common.at > v.tag.at ? pair(v.tag, v.common, t->bytes) : unknown;
}

static struct rust_layout layout_of(struct types *types, type_id id, unsigned depth) {
    const struct type *t = shape_get(types, id);
    if (!t || depth > MOST_DEPTH)
        return unknown;
    switch (t->kind) {
    case TYPE_INTEGER:
    case TYPE_FLOAT:
    case TYPE_ENUM:
    case TYPE_POINTER:
        return scalar(t);
    case TYPE_ARRAY:
        if (t->flags & TYPE_VECTOR)
            return unknown;
        return t->elements
                   ? (struct rust_layout){.kind = RUST_MEMORY, .bytes = shape_bytes(types, id)}
                   : (struct rust_layout){.kind = RUST_EMPTY};
    case TYPE_STRUCT:
        if (t->flags & TYPE_VARIANTS)
            return of_enum(types, t, depth + 1);
        struct fields f = fields_of(types, t, depth + 1);
        return of_fields(&f, t->bytes);
    default:
        return unknown;
    }
}

struct rust_layout rust_layout(struct types *types, type_id type) {
    return layout_of(types, type, 0);
}
