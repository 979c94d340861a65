/* Walks over the scalars of a type. */
#include "values/shape.h"

#include <string.h>

enum { MOST_DEPTH = 24, MOST_LEAVES = 4096, MOST_ELEMENTS = 1024 };

type_id shape_id(struct types *types, type_id type) {
    type_id plain = types_plain(types, type);
    if (types_get(types, plain)->kind == TYPE_FORWARD)
        plain = types_plain(types, types_definition(types, plain));
    return plain;
}

const struct type *shape_get(struct types *types, type_id type) {
    const struct type *t = types_get(types, shape_id(types, type));
    return t->kind == TYPE_UNKNOWN ? NULL : t;
}

uint64_t shape_bytes(struct types *types, type_id type) {
    return types_bytes(types, shape_id(types, type));
}

bool shape_is_composite(const struct type *t) {
    return t->kind == TYPE_STRUCT || t->kind == TYPE_UNION ||
           (t->kind == TYPE_ARRAY && !(t->flags & TYPE_VECTOR));
}

static bool is_wide_name(const char *name) {
    static const char *const names[] = {"wchar_t", "char8_t", "char16_t", "char32_t"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_number_name(const char *name) {
    static const char *const names[] = {"unsigned char", "signed char", "uint8",
                                        "int8",          "u8",          "i8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

unsigned shape_character(struct types *types, type_id type) {
    bool wide = false;
    const struct type *t = types_get(types, type);
    for (unsigned depth = 0; depth < MOST_DEPTH; depth++) {
        if (t->kind == TYPE_TYPEDEF && is_wide_name(t->name))
            wide = true;
        if (t->kind != TYPE_TYPEDEF && t->kind != TYPE_QUALIFIER)
            break;
        t = types_get(types, t->of);
    }
    bool character = t->kind == TYPE_INTEGER && !(t->flags & (TYPE_BOOLEAN | TYPE_COMPLEX)) &&
                     ((t->flags & TYPE_CHARACTER) || wide) && !is_number_name(t->name);
    return character && (t->bytes == 1 || t->bytes == 2 || t->bytes == 4) ? (unsigned)t->bytes : 0;
}

bool shape_is_quad(const struct type *t) {
    return t->kind == TYPE_FLOAT && strstr(t->name, "128") != NULL;
}

struct leaves {
    struct types *types;
    leaf_visit *visit;
    void *ctx;
    unsigned left;
};

static bool visit_object(struct leaves *l, const struct leaf *at, unsigned depth);

static bool visit_member(struct leaves *l, const struct leaf *o, const struct type_member *m,
                         unsigned depth) {
    struct leaf inner = {.id = m->type,
                         .at = o->at + m->bit_offset / 8,
                         .holder = o->type,
                         .holder_at = o->at,
                         .skipped = o->skipped};
    if (m->bit_size) {
        inner.bits = m->bit_size;
        inner.bit_at = o->at * 8 + m->bit_offset;
    }
    return !(m->flags & MEMBER_VIRTUAL) && visit_object(l, &inner, depth + 1);
}

static bool visit_members(struct leaves *l, const struct leaf *o, unsigned depth) {
    for (uint32_t i = 0; i < o->type->count; i++)
        if (!visit_member(l, o, &o->type->members[i], depth))
            return false;
    return true;
}

static bool visit_elements(struct leaves *l, const struct leaf *o, unsigned depth) {
    struct leaf inner = {.id = o->type->of,
                         .at = o->at,
                         .holder = o->holder,
                         .holder_at = o->holder_at,
                         .skipped = o->skipped};
    uint64_t bytes = shape_bytes(l->types, o->type->of);
    if (o->type->elements > MOST_ELEMENTS && bytes)
        return false;
    for (uint64_t i = 0; bytes && i < o->type->elements; i++) {
        if (!visit_object(l, &inner, depth + 1))
            return false;
        inner.at += bytes;
        inner.skipped += bytes;
    }
    return true;
}

static bool visit_object(struct leaves *l, const struct leaf *at, unsigned depth) {
    struct leaf o = *at;
    o.id = shape_id(l->types, o.id);
    o.type = shape_get(l->types, o.id);
    if (depth > MOST_DEPTH || !o.type || o.type->kind == TYPE_FORWARD ||
        o.type->kind == TYPE_STRING || o.type->kind == TYPE_FUNCTION)
        return false;
    if (o.type->kind == TYPE_STRUCT || o.type->kind == TYPE_UNION)
        return visit_members(l, &o, depth);
    if (o.type->kind == TYPE_ARRAY && !(o.type->flags & TYPE_VECTOR))
        return visit_elements(l, &o, depth);
    o.bytes = types_bytes(l->types, o.id);
    return o.bytes && l->left-- && l->visit(l->ctx, &o);
}

bool shape_leaves(struct types *types, type_id type, leaf_visit *visit, void *ctx) {
    struct leaves l = {types, visit, ctx, MOST_LEAVES};
    return visit_object(&l, &(struct leaf){.id = type}, 0);
}

static bool stop(void *ctx, const struct leaf *leaf) {
    (void)ctx, (void)leaf;
    return false;
}

bool shape_is_empty(struct types *types, type_id type) {
    const struct type *t = shape_get(types, type);
    return t && shape_is_composite(t) && shape_leaves(types, type, stop, NULL);
}

/* ---- alignment ---- */

static uint32_t scalar_alignment(const struct leaf *leaf) {
    uint64_t bytes = leaf->bytes;
    if (leaf->type->flags & TYPE_COMPLEX)
        bytes /= 2;
    if (leaf->type->kind == TYPE_POINTER && (leaf->type->flags & TYPE_MEMBER_POINTER))
        bytes = bytes > 8 ? 8 : bytes;
    if (leaf->type->kind == TYPE_FLOAT && bytes == 12)
        bytes = 4;
    return bytes > 16 ? 16 : (uint32_t)bytes;
}

static bool align_leaf(void *ctx, const struct leaf *leaf) {
    uint32_t *most = ctx, align = scalar_alignment(leaf);
    if (align > *most)
        *most = align;
    return true;
}

uint32_t shape_alignment(struct types *types, type_id type) {
    uint32_t align = 1;
    return shape_leaves(types, type, align_leaf, &align) ? align : 0;
}

/* ---- homogeneous composites ---- */

struct equal {
    struct shape_homogeneous parts;
    uint64_t end; /* of the last one */
};

static bool add_equal(struct equal *e, uint64_t at, uint32_t bytes) {
    if (e->parts.bytes && e->parts.bytes != bytes)
        return false;
    e->parts.bytes = bytes;
    if (at + bytes > e->end)
        e->end = at + bytes;
    return e->end <= UINT64_C(4) * bytes;
}

static bool equal_leaf(void *ctx, const struct leaf *leaf) {
    const struct type *t = leaf->type;
    bool vector = t->kind == TYPE_ARRAY && (leaf->bytes == 8 || leaf->bytes == 16);
    bool complex = t->flags & TYPE_COMPLEX;
    if (leaf->bits || (t->kind != TYPE_FLOAT && !vector) || (t->flags & TYPE_DECIMAL))
        return false;
    uint32_t bytes = (uint32_t)leaf->bytes / (complex ? 2 : 1);
    return add_equal(ctx, leaf->at, bytes) && (!complex || add_equal(ctx, leaf->at + bytes, bytes));
}

bool shape_homogeneous(struct types *types, type_id type, struct shape_homogeneous *ret) {
    struct equal e = {0};
    const struct type *t = shape_get(types, type);
    if (!t || !(shape_is_composite(t) || (t->kind == TYPE_FLOAT && (t->flags & TYPE_COMPLEX))) ||
        !shape_leaves(types, type, equal_leaf, &e) || !e.parts.bytes ||
        e.end != shape_bytes(types, type))
        return false;
    e.parts.count = (uint8_t)(e.end / e.parts.bytes);
    *ret = e.parts;
    return true;
}
