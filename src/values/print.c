/* One walk over an item's type writes either text or JSON. */
#include "values/print.h"

#include "values/image.h"
#include "values/scalar.h"
#include "values/shape.h"

enum { MOST_DEPTH = 16, MOST_ELEMENTS = 200, MOST_OUTPUT = 64 * 1024 };

struct walker {
    const struct printer *printer;
    const struct item *item;
    struct image image;
    struct words *out;
    bool json, cut;
    unsigned depth;
};

/* An object inside the item. */
struct object {
    type_id type;
    uint64_t at;             /* in bytes */
    uint64_t bit_at, bits;   /* of a bit field, else bits is 0 */
    const struct type *seen; /* shape of its type, or NULL */
    uint64_t size;           /* in bytes; 0: not known */
};

static void walk(struct walker *w, const struct object *o);

static void look_at(const struct walker *w, struct object *o) {
    o->seen = shape_get(w->printer->types, o->type);
    o->size = o->seen ? shape_bytes(w->printer->types, o->type) : 0;
}

bool item_next(const struct capture *c, const struct captured *captured, size_t *at,
               struct item *ret) {
    while (*at < c->count && c->values[*at].name && !*c->values[*at].name)
        ++*at;
    if (*at >= c->count)
        return false;
    size_t end = *at + 1;
    while (end < c->count && !c->values[end].name)
        end++;
    *ret = (struct item){c->values + *at, captured + *at, end - *at};
    *at = end;
    return true;
}

static void write_unknown(struct walker *w) { words_add(w->out, w->json ? "null" : "?"); }

static void write_missing(struct walker *w, enum capture_missing why) {
    if (why == VALUE_GONE && !w->json)
        words_add(w->out, "<gone>");
    else
        write_unknown(w);
}

/* ---- objects with several parts ---- */

static void begin_list(struct walker *w, bool array) {
    words_char(w->out, w->json && array ? '[' : '{');
    w->depth++;
}

static void end_list(struct walker *w, bool array, bool first, bool left_out) {
    if (left_out && !w->json)
        words_add(w->out, first ? "..." : ", ...");
    w->cut = w->cut || left_out;
    words_char(w->out, w->json && array ? ']' : '}');
    w->depth--;
}

static void write_name(struct walker *w, const struct type_member *m) {
    if (w->json)
        words_json_text(w->out, m->name);
    else
        words_add(w->out, m->name);
    if (w->json || *m->name)
        words_char(w->out, w->json ? ':' : '=');
}

static struct object member_of(const struct walker *w, const struct object *o,
                               const struct type_member *m) {
    struct object inner = {.type = m->type, .at = o->at + m->bit_offset / 8};
    look_at(w, &inner);
    if (m->bit_size) {
        inner.bit_at = o->at * 8 + m->bit_offset;
        inner.bits = m->bit_size;
    }
    return inner;
}

static bool was_asked(const struct walker *w, const struct object *o) {
    if (o->bits)
        return image_was_asked(&w->image, o->bit_at / 8, (o->bit_at % 8 + o->bits + 7) / 8);
    return image_was_asked(&w->image, o->at, o->size);
}

/* True if there is nothing in it. */
static bool is_empty(const struct walker *w, const struct object *o) {
    return o->seen && !o->bits && o->seen->kind != TYPE_FORWARD &&
           shape_is_empty(w->printer->types, o->type);
}

static bool is_full(const struct walker *w) {
    return w->depth > MOST_DEPTH || w->out->count > MOST_OUTPUT;
}

/* Of an enum of Rust: whether M is the variant that is there, by the BITS of its discriminant. */
static bool is_variant_there(const struct object *o, const struct type_member *m, uint64_t value,
                             uint64_t bits) {
    if (!(m->flags & MEMBER_DEFAULT))
        return (((uint64_t)m->value ^ value) << (64 - bits)) == 0;
    for (uint32_t i = 0; i < o->seen->count; i++) {
        const struct type_member *other = &o->seen->members[i];
        if (other != m && (other->flags & MEMBER_VARIANT) &&
            is_variant_there(o, other, value, bits))
            return false;
    }
    return true;
}

/* NULL: not known. */
static const struct type_member *variant_of(const struct walker *w, const struct object *o) {
    const struct type_member *members = o->seen->members, *ret = NULL;
    uint64_t value = 0, bits = 64;
    for (uint32_t i = 0; i < o->seen->count; i++) {
        const struct object inner = member_of(w, o, &members[i]);
        if (!(members[i].flags & MEMBER_DISCRIMINANT))
            continue;
        if (!inner.size || inner.size > 8 || !image_has(&w->image, inner.at, inner.size))
            return NULL;
        bits = inner.size * 8;
        value = image_bits(&w->image, inner.at * 8, bits);
    }
    for (uint32_t i = 0; i < o->seen->count && !ret; i++)
        if ((members[i].flags & MEMBER_VARIANT) && is_variant_there(o, &members[i], value, bits))
            ret = &members[i];
    return ret;
}

/* "Some={__0=3}" or "None". */
static void write_variant(struct walker *w, const struct object *o, const struct type_member *m) {
    struct object inner = member_of(w, o, m);
    if (w->json || !is_empty(w, &inner)) {
        write_name(w, m);
        walk(w, &inner);
    } else {
        words_add(w->out, m->name);
    }
}

static void write_variants(struct walker *w, const struct object *o) {
    const struct type_member *there = variant_of(w, o);
    if (!there) {
        write_unknown(w);
        return;
    }
    begin_list(w, false);
    write_variant(w, o, there);
    end_list(w, false, false, false);
}

static void write_members(struct walker *w, const struct object *o) {
    const struct type_member *members = o->seen->members;
    bool first = true, left_out = false;
    begin_list(w, false);
    for (uint32_t i = 0; i < o->seen->count; i++) {
        struct object inner = member_of(w, o, &members[i]);
        if (is_empty(w, &inner))
            continue;
        if (!was_asked(w, &inner) || is_full(w)) {
            left_out = true;
            continue;
        }
        words_add(w->out, first ? "" : w->json ? "," : ", ");
        write_name(w, &members[i]);
        walk(w, &inner);
        first = false;
    }
    end_list(w, false, first, left_out);
}

static void write_elements(struct walker *w, const struct object *o) {
    struct object inner = {.type = o->seen->of, .at = o->at};
    look_at(w, &inner);
    uint64_t size = inner.size, i = 0;
    begin_list(w, true);
    for (; size && i < o->seen->elements && i < MOST_ELEMENTS && !is_full(w); i++) {
        if (!was_asked(w, &inner))
            break;
        words_add(w->out, i == 0 ? "" : w->json ? "," : ", ");
        walk(w, &inner);
        inner.at += size;
    }
    end_list(w, true, i == 0, i < o->seen->elements);
}

/* ---- texts ---- */

static void write_string(struct walker *w, const uint8_t *text, size_t length, unsigned unit) {
    if (w->json)
        words_json(w->out, text, length, unit);
    else
        words_quote(w->out, text, length, unit);
}

/* An array of characters: up to its first zero, or what is there of it. */
static bool write_array_text(struct walker *w, const struct object *o) {
    unsigned unit = shape_character(w->printer->types, o->seen->of);
    if (!unit || (o->seen->flags & TYPE_VECTOR) || !image_has(&w->image, o->at, unit))
        return false;
    static const uint8_t zero[4];
    const uint8_t *text = w->image.bytes + o->at;
    uint64_t length = 0;
    while (length + unit <= o->size && image_has(&w->image, o->at + length, unit) &&
           memcmp(text + length, zero, unit) != 0)
        length += unit;
    bool cut = length + unit <= o->size && !image_has(&w->image, o->at + length, unit);
    write_string(w, text, cut && unit == 1 ? words_whole(text, length) : length, unit);
    if (cut && !w->json)
        words_add(w->out, "...");
    w->cut = w->cut || cut;
    return true;
}

static bool is_null(const struct walker *w, const struct object *o) {
    uint64_t size = o->size;
    return o->seen->kind == TYPE_POINTER && size <= 8 && image_has(&w->image, o->at, size) &&
           image_bits(&w->image, o->at * 8, size * 8) == 0;
}

/* A pointer whose text is not known is shown itself. */
static bool write_text(struct walker *w, const struct object *o) {
    const struct capture_value *v;
    const struct captured *text = image_text(&w->image, w->printer->types, o->at, o->type, &v);
    if (!text)
        return false;
    if (text->missing == VALUE_THERE) {
        write_string(w, text->bytes,
                     text->cut && v->unit == 1 ? words_whole(text->bytes, text->length)
                                               : text->length,
                     v->unit);
        if (text->cut && !w->json)
            words_add(w->out, "...");
        w->cut = w->cut || text->cut;
    } else if (w->json) {
        words_add(w->out, "null");
    } else if (is_null(w, o)) {
        words_add(w->out, "0x0");
    } else if (o->seen->kind == TYPE_POINTER && image_has(&w->image, o->at, o->size)) {
        words_printf(w->out, "0x%jx ?", (uintmax_t)image_bits(&w->image, o->at * 8, o->size * 8));
    } else {
        write_unknown(w);
    }
    return true;
}

/* ---- anything ---- */

/* Only ten bytes of x87's floats count. */
static bool is_x87(const struct walker *w, const struct object *o) {
    uint64_t each = o->seen->flags & TYPE_COMPLEX ? o->size / 2 : o->size;
    return o->seen->kind == TYPE_FLOAT && each >= 10 && !w->printer->quads &&
           !shape_is_quad(o->seen);
}

static bool is_there(const struct walker *w, const struct object *o) {
    if (o->bits)
        return o->bits <= 64 &&
               image_has(&w->image, o->bit_at / 8, (o->bit_at % 8 + o->bits + 7) / 8);
    if (is_x87(w, o)) {
        uint64_t each = o->seen->flags & TYPE_COMPLEX ? o->size / 2 : 0;
        return image_has(&w->image, o->at, 10) && image_has(&w->image, o->at + each, 10);
    }
    return o->size && image_has(&w->image, o->at, o->size);
}

static void write_scalar(struct walker *w, const struct object *o) {
    if (!is_there(w, o)) {
        write_unknown(w);
        return;
    }
    struct scalar s = {.type = o->type, .bytes = w->image.bytes + o->at, .size = o->size};
    uint64_t bits = 0;
    if (o->bits) {
        bool whole = o->bits == o->size * 8;
        bits = image_bits(&w->image, o->bit_at, o->bits);
        s = (struct scalar){.type = o->type,
                            .bytes = (const uint8_t *)&bits,
                            .size = sizeof bits,
                            .bits = whole ? 0 : (unsigned)o->bits};
        s.size = whole ? o->size : sizeof bits;
    }
    s.format = w->item->values[0].format;
    scalar_write(w->printer, &s, w->json, w->out);
}

static void walk(struct walker *w, const struct object *o) {
    bool known = o->seen && !is_full(w);
    if (known && write_text(w, o))
        return;
    if (!known || (!was_asked(w, o) && !is_empty(w, o)))
        write_unknown(w);
    else if (o->seen->flags & TYPE_VARIANTS)
        write_variants(w, o);
    else if (o->seen->kind == TYPE_STRUCT || o->seen->kind == TYPE_UNION)
        write_members(w, o);
    else if (o->seen->kind != TYPE_ARRAY)
        write_scalar(w, o);
    else if (!write_array_text(w, o))
        write_elements(w, o);
}

/* The part that is the whole item as text: its number, or 0. */
static size_t text_of(const struct item *item) {
    for (size_t i = 1; i < item->count; i++)
        if (item->values[i].string && item->values[i].type == item->values[0].type)
            return i;
    return 0;
}

static bool is_all_zero(const struct captured *c) {
    for (uint32_t i = 0; i < c->length; i++)
        if (c->bytes[i])
            return false;
    return c->missing == VALUE_THERE;
}

/* Behind a scalar in its image is what it depends on (values/formatted.c). */
static bool is_beside(const struct printer *p, const struct item *item, size_t i) {
    const struct type *type = shape_get(p->types, item->values[0].type);
    const uint64_t bytes = shape_bytes(p->types, item->values[0].type);
    return type && !shape_is_composite(type) && bytes && item->values[i].at >= bytes;
}

/* VALUE_THERE: something is known. */
static enum capture_missing missing_of(const struct printer *p, const struct item *item) {
    size_t text = text_of(item), first = text;
    if (text && item->values[0].at == 0 && is_all_zero(&item->captured[0]))
        return VALUE_THERE; /* a null pointer */
    enum capture_missing last = VALUE_THERE;
    for (size_t i = first; i < (text ? text + 1 : item->count); i++) {
        if (is_beside(p, item, i))
            continue;
        last = item->captured[i].missing;
        if (last == VALUE_THERE)
            break;
    }
    return last;
}

const char *print_missing(const struct printer *p, const struct item *item) {
    static const char *const reasons[] = {[VALUE_OPTIMIZED_OUT] = "optimized-out",
                                          [VALUE_UNREADABLE] = "unreadable",
                                          [VALUE_UNTYPED] = "untyped",
                                          [VALUE_GONE] = "gone"};
    return reasons[missing_of(p, item)];
}

/* Bytes without a type: a number in hexadecimal. */
static void write_untyped(struct walker *w) {
    size_t size = w->image.size;
    if (!size || size > 8 || !image_has(&w->image, 0, size)) {
        write_unknown(w);
        return;
    }
    words_printf(w->out, w->json ? "\"0x%jx\"" : "0x%jx",
                 (uintmax_t)image_bits(&w->image, 0, size * 8));
}

static bool print(const struct printer *p, const struct item *item, bool json, struct words *ret) {
    struct walker w = {.printer = p, .item = item, .out = ret, .json = json};
    struct object whole = {.type = item->values[0].type};
    look_at(&w, &whole);
    if (item->values[0].width && whole.seen && !shape_is_composite(whole.seen)) {
        whole.bits = item->values[0].width;
        whole.bit_at = image_is_shifted(&item->values[0]) ? 0 : item->values[0].shift;
    }
    image_init(&w.image, item);
    const enum capture_missing missing = missing_of(p, item);
    if (missing && !(text_of(item) && whole.seen))
        write_missing(&w, missing);
    else if (whole.seen)
        walk(&w, &whole);
    else
        write_untyped(&w);
    image_done(&w.image);
    return w.cut;
}

void print_inner(const struct printer *p, const struct item *item, const struct inner *inner,
                 bool json, struct words *ret) {
    struct walker w = {.printer = p, .item = item, .out = ret, .json = json};
    struct object o = {
        .type = inner->type, .at = inner->at, .bit_at = inner->bit_at, .bits = inner->bits};
    look_at(&w, &o);
    image_init(&w.image, item);
    walk(&w, &o);
    image_done(&w.image);
}

void print_text(const struct printer *p, const struct item *item, struct words *ret) {
    print(p, item, false, ret);
}

void print_json(const struct printer *p, const struct item *item, struct words *ret) {
    print(p, item, true, ret);
}

bool print_is_cut(const struct printer *p, const struct item *item) {
    struct words unused = {0};
    bool cut = print(p, item, true, &unused);
    words_done(&unused);
    return cut;
}

void print_type(struct types *types, const struct item *item, struct words *ret) {
    AUTO_FREE char *name = item->values[0].type ? types_spell(types, item->values[0].type) : NULL;
    AUTO_FREE char *referred = name && item->values[0].pointee ? mem_printf("%s &", name) : NULL;
    words_json_text(ret, referred ? referred : name ? name : "");
}
