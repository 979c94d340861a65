/* Objects become values: one walk over a type. */
#include "values/collect.h"

#include "base/mem.h"
#include "values/shape.h"
#include "values/texts.h"

enum { MOST_TEXTS = 4, MOST_DEPTH = 8 }; /* of one item */

/* An object inside an item. */
struct part {
    struct access access; /* of the whole item */
    type_id type;
    uint64_t at; /* in the item */
    unsigned depth;
};
struct collecting {
    struct collector *c;
    size_t first; /* value of the item */
    uint64_t end; /* of the bytes that are captured */
    unsigned texts;
    const struct collect_hole *holes; /* no bytes of the item are captured there */
    size_t hole_count;
};

static void collect_parts(struct collecting *k, const struct part *p);

static const char *keep_name(struct collector *c, const char *name) {
    ARRAY_PUSH(&c->names, mem_strdup(name));
    return c->names.at[c->names.count - 1];
}

static struct access_values room(struct collector *c) {
    ARRAY_RESERVE(&c->values, c->values.count + CAPTURE_MOST_VALUES);
    return (struct access_values){c->values.at, c->values.count, CAPTURE_MOST_VALUES};
}

static bool collect_bytes(struct collecting *k, const struct part *p, uint64_t size) {
    struct access_values list = room(k->c);
    struct access_slice slice = {p->at, size, (uint32_t)p->at};
    if (!size || !access_values(&k->c->context, &p->access, &slice, &list))
        return false;
    k->c->values.count = list.count;
    return true;
}

/* ---- texts ---- */

static void add_text(struct collecting *k, struct capture_value *v, const struct part *p,
                     unsigned unit) {
    v->string = true;
    v->unit = (uint8_t)unit;
    v->most = (uint16_t)(k->c->strings / unit * unit);
    v->bytes = 0;
    v->type = p->type;
    v->at = (uint32_t)p->at;
    v->name = NULL;
    if (k->c->values.count < CAPTURE_MOST_VALUES && v->most) {
        ARRAY_PUSH(&k->c->values, *v);
        k->texts++;
    }
}

/* The program for what the pointer at byte AT of the item points to. */
static bool pointee(struct collecting *k, const struct part *p, uint64_t at,
                    struct capture_value *ret) {
    struct access a = p->access;
    access_enter(&a, (int64_t)at, p->type);
    return access_follow(&k->c->context, &a, 0) && access_address(&a, ret);
}

static void collect_pointer_text(struct collecting *k, const struct part *p, unsigned unit) {
    struct capture_value v;
    if (k->texts < MOST_TEXTS && pointee(k, p, p->at, &v)) {
        v.length_of = -1;
        add_text(k, &v, p, unit);
    }
}

/* A class that is a text: its length first. */
static void collect_class_text(struct collecting *k, const struct part *p,
                               const struct text_type *text, unsigned unit) {
    struct type_member address, length;
    struct capture_value v;
    struct types *types = k->c->context.types;
    size_t number = k->c->values.count;
    text_member(types, p->type, text->address, &address);
    if (!pointee(k, p, p->at + address.bit_offset / 8, &v))
        return;
    v.length_of = -1;
    struct part counted = *p;
    length = address;
    if (text->length)
        text_member(types, p->type, text->length, &length);
    counted.at += length.bit_offset / 8;
    if (!collect_bytes(k, &counted, shape_bytes(types, length.type)) ||
        k->c->values.count != number + 1)
        return;
    if (text->length)
        v.length_of = (int16_t)number;
    add_text(k, &v, p, unit);
}

/* ---- structs ---- */

static void collect_member_texts(struct collecting *k, const struct part *p);

static void collect_element_texts(struct collecting *k, const struct part *p,
                                  const struct type *array) {
    uint64_t bytes = shape_bytes(k->c->context.types, array->of);
    struct part inner = *p;
    inner.type = array->of;
    inner.depth++;
    for (uint64_t i = 0; bytes && i < array->elements && inner.at < k->end; i++, inner.at += bytes)
        collect_member_texts(k, &inner);
}

static bool is_in_hole(const struct collecting *k, uint64_t at) {
    for (size_t i = 0; i < k->hole_count; i++)
        if (at >= k->holes[i].start && at < k->holes[i].end)
            return true;
    return false;
}

/* Adds the texts of P's members; their bytes are captured already, up to k->end. */
static void collect_member_texts(struct collecting *k, const struct part *p) {
    struct types *types = k->c->context.types;
    const struct type *t = shape_get(types, p->type);
    unsigned unit = text_unit(types, p->type);
    if (!t || p->depth > MOST_DEPTH || p->at >= k->end || k->texts >= MOST_TEXTS ||
        is_in_hole(k, p->at))
        return;
    const struct text_type *text = text_type_of(types, p->type, &unit);
    if (text) {
        collect_class_text(k, p, text, unit);
        return;
    }
    if (t->kind == TYPE_POINTER && unit)
        collect_pointer_text(k, p, unit);
    if (t->kind == TYPE_ARRAY)
        collect_element_texts(k, p, t);
    for (uint32_t i = 0; i < t->count && t->kind == TYPE_STRUCT; i++) {
        const struct type_member *m = &t->members[i];
        struct part inner = *p;
        inner.type = m->type;
        inner.at = p->at + m->bit_offset / 8;
        inner.depth++;
        if (!m->bit_size && !(m->flags & (MEMBER_VIRTUAL | MEMBER_VARIANT)))
            collect_member_texts(k, &inner);
    }
}

/* Where the last member, or element, ends that is whole within MOST bytes. */
static uint64_t whole_members(struct types *types, type_id type, uint64_t most, unsigned depth) {
    const struct type *t = shape_get(types, type);
    uint64_t bytes = shape_bytes(types, type), end = 0;
    if (bytes <= most)
        return bytes;
    if (!t || depth > MOST_DEPTH)
        return 0;
    if (t->kind == TYPE_ARRAY) {
        uint64_t each = shape_bytes(types, t->of);
        return !each          ? 0
               : each <= most ? most / each * each
                              : whole_members(types, t->of, most, depth + 1);
    }
    for (uint32_t i = 0; i < t->count && t->kind == TYPE_STRUCT; i++) {
        const struct type_member *m = &t->members[i];
        uint64_t at = m->bit_offset / 8, size = shape_bytes(types, m->type);
        if (m->bit_size)
            size = (m->bit_offset % 8 + m->bit_size + 7) / 8;
        if (at >= most || (m->flags & MEMBER_VIRTUAL))
            continue;
        uint64_t last = at + size <= most
                            ? at + size
                            : at + whole_members(types, m->type, most - at, depth + 1);
        end = last > end ? last : end;
    }
    return end;
}

/* Adds the bytes up to k->end that are in no hole. */
static bool collect_pieces(struct collecting *k, const struct part *p) {
    struct part piece = *p;
    bool any = false;
    for (size_t i = 0; i <= k->hole_count && piece.at < k->end; i++) {
        const uint64_t start = i < k->hole_count ? k->holes[i].start : k->end;
        const uint64_t end = start < k->end ? start : k->end;
        if (end > piece.at)
            any |= collect_bytes(k, &piece, end - piece.at);
        piece.at = i < k->hole_count ? k->holes[i].end : k->end;
    }
    return any;
}

static void collect_struct(struct collecting *k, const struct part *p) {
    struct types *types = k->c->context.types;
    k->end = whole_members(types, p->type, k->c->object_bytes, 0);
    if (collect_pieces(k, p))
        collect_member_texts(k, p);
}

void collect_around(struct collector *c, const struct access *from,
                    const struct collect_hole *holes, size_t count) {
    struct collecting k = {.c = c, .first = c->values.count, .holes = holes, .hole_count = count};
    const struct part p = {.access = *from, .type = from->type};
    if (from->kind != ACCESS_MISSING && c->values.count < CAPTURE_MOST_VALUES)
        collect_struct(&k, &p);
}

/* ---- items ---- */

static void collect_parts(struct collecting *k, const struct part *p) {
    struct types *types = k->c->context.types;
    const struct type *t = shape_get(types, p->type);
    unsigned unit = text_unit(types, p->type), size = (unsigned)shape_bytes(types, p->type);
    const struct text_type *text = text_type_of(types, p->type, &unit);
    if (!t || t->kind == TYPE_FORWARD || t->kind == TYPE_FUNCTION)
        return;
    if (p->access.bits)
        collect_bytes(k, p, size);
    else if (text)
        collect_class_text(k, p, text, unit);
    else if (shape_is_composite(t))
        collect_struct(k, p);
    else if (t->kind == TYPE_FLOAT && size >= 10 && k->c->abi == ABI_X86_64 && !shape_is_quad(t))
        collect_bytes(k, p, t->flags & TYPE_COMPLEX ? size : 10);
    else if (size <= CAPTURE_MOST_BYTES && collect_bytes(k, p, size) && unit)
        collect_pointer_text(k, p, unit);
}

void collect_missing(struct collector *c, const char *name, type_id type,
                     enum capture_missing missing) {
    struct capture_value v = {.from = FROM_NOTHING, .length_of = -1, .type = type};
    v.missing = missing;
    v.name = keep_name(c, name);
    ARRAY_PUSH(&c->values, v);
}

void collect_item(struct collector *c, size_t first, const char *name, const struct access *a,
                  char format) {
    if (c->values.count == first) {
        collect_missing(c, name, a->type,
                        shape_is_empty(c->context.types, a->type) ? VALUE_THERE
                        : a->missing                              ? a->missing
                                                                  : VALUE_UNTYPED);
        return;
    }
    for (size_t i = first; i < c->values.count; i++)
        if (!c->values.at[i].string)
            c->values.at[i].type = 0;
    struct capture_value *v = &c->values.at[first];
    v->name = keep_name(c, name);
    v->type = a->type;
    v->pointee = a->pointee;
    v->format = format;
}

/* False: of a reference only the address is known. */
static bool is_complete(struct types *types, type_id type) {
    const struct type *t = shape_get(types, type);
    return t && t->kind != TYPE_FORWARD;
}

/* An item whose first part is a text gets its own bytes before it, so that a name is on them. */
void collect_object(struct collector *c, const char *name, const struct access *from, char format) {
    struct access a = *from;
    struct collecting k = {.c = c, .first = c->values.count};
    const struct type *t = shape_get(c->context.types, a.type);
    if (t && t->kind == TYPE_POINTER && (t->flags & TYPE_REFERENCE) && !a.address &&
        is_complete(c->context.types, t->of) && access_follow(&c->context, &a, t->of))
        a.pointee = true;
    struct part p = {.access = a, .type = a.type};
    if (a.address) {
        struct access_values list = room(c);
        struct capture_value v;
        if (access_address(&a, &v) && list.count < list.most) {
            v.bytes = (uint16_t)c->context.word;
            v.address_only = v.steps > 0;
            ARRAY_PUSH(&c->values, v);
        }
    } else if (a.kind != ACCESS_MISSING && c->values.count < CAPTURE_MOST_VALUES &&
               !c->format(c, &a)) {
        collect_parts(&k, &p);
    }
    collect_item(c, k.first, name, &a, format);
}

void collect_inner(struct collector *c, const struct access *from, uint32_t at) {
    struct collecting k = {.c = c, .first = c->values.count};
    const struct part p = {.access = *from, .type = from->type};
    if (from->kind == ACCESS_MISSING || c->values.count >= CAPTURE_MOST_VALUES)
        return;
    collect_parts(&k, &p);
    for (size_t i = k.first; i < c->values.count; i++)
        c->values.at[i].at += at;
}

void collect_text(struct collector *c, const char *name, const struct access *a, unsigned unit) {
    struct collecting k = {.c = c, .first = c->values.count};
    struct part p = {.access = *a, .type = a->type};
    if (a->kind != ACCESS_MISSING && c->values.count < CAPTURE_MOST_VALUES &&
        collect_bytes(&k, &p, c->context.word))
        collect_pointer_text(&k, &p, unit);
    collect_item(c, k.first, name, a, 0);
}

void collect_end(struct collector *c, struct capture *ret) {
    ret->values = c->values.at;
    ret->count = c->values.count;
    ret->names = c->names.at;
    ret->name_count = c->names.count;
    for (size_t i = 0; i < ret->count; i++)
        if (ret->values[i].length_of < 0)
            ret->values[i].length_of = -1;
    for (size_t i = 0; i < ret->count; i++)
        ret->derives |= ret->values[i].minus || ret->values[i].only_if;
}
