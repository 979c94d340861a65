/* Follows expressions through what was recorded. */
#include "values/parts.h"

#include "values/image.h"
#include "values/shape.h"

/* ---- names ---- */

static void spell(const struct spec_node *n, struct words *ret) {
    switch (n->op) {
    case SPEC_RESULT:
        words_add(ret, "ret");
        return;
    case SPEC_NAME:
    case SPEC_INTEGER:
    case SPEC_FLOAT:
        words_add(ret, n->name);
        return;
    case SPEC_REGISTER:
        words_char(ret, '%');
        words_add(ret, n->name);
        return;
    case SPEC_DEREF:
    case SPEC_ADDRESS:
        words_char(ret, n->op == SPEC_DEREF ? '*' : '&');
        spell(n->of, ret);
        return;
    case SPEC_CAST:
        words_char(ret, '(');
        words_add(ret, n->name);
        words_char(ret, ')');
        spell(n->of, ret);
        return;
    default:
        break;
    }
    const bool prefixed = n->of->op >= SPEC_DEREF;
    words_add(ret, prefixed ? "(" : "");
    spell(n->of, ret);
    words_add(ret, prefixed ? ")" : "");
    if (n->op == SPEC_INDEX) {
        words_printf(ret, "[%jd]", (intmax_t)n->number);
    } else {
        words_add(ret, n->op == SPEC_ARROW ? "->" : ".");
        words_add(ret, n->name);
    }
}

static bool is_plain_name(const char *name) { return !name[strcspn(name, "->[.*&(%) ")]; }

/* NAME as the user wrote it: blanks and parentheses may differ. */
static bool is_spelled(const char *name, const char *spelled) {
    struct spec spec;
    struct err ignored;
    if (strcmp(name, spelled) == 0)
        return true;
    if (is_plain_name(name) || spec_parse(name, &spec, &ignored) < 0)
        return false;
    struct words words = {0};
    spell(spec.terms.at[0].root, &words);
    const bool same = strcmp(words_text(&words), spelled) == 0;
    words_done(&words);
    spec_done(&spec);
    return same;
}

static bool find_item(const struct capture *c, const struct captured *captured, const char *spelled,
                      struct item *ret) {
    for (size_t at = 0; item_next(c, captured, &at, ret);)
        if (is_spelled(ret->values[0].name, spelled))
            return true;
    return false;
}

/* ---- parts ---- */

static void begin(struct types *types, const struct item *item, struct part *ret) {
    const struct capture_value *v = &item->values[0];
    const struct type *type = shape_get(types, v->type);
    *ret = (struct part){.item = *item, .type = v->type, .whole = true};
    if (v->width && type && !shape_is_composite(type)) {
        ret->bits = v->width;
        ret->bit_at = image_is_shifted(v) ? 0 : v->shift;
    }
}

static bool enter_member(struct types *types, const struct spec_node *n, struct part *part) {
    struct type_member m;
    if (part->bits || !types_member(types, shape_id(types, part->type), n->name, &m) ||
        (m.flags & MEMBER_VIRTUAL))
        return false;
    part->type = m.type;
    if (m.bit_size) {
        part->bit_at = part->at * 8 + m.bit_offset;
        part->bits = m.bit_size;
    }
    part->at += m.bit_offset / 8;
    return true;
}

static bool enter_element(struct types *types, const struct spec_node *n, struct part *part) {
    const struct type *type = shape_get(types, part->type);
    if (!type || type->kind != TYPE_ARRAY || n->number < 0 || (uint64_t)n->number >= type->elements)
        return false;
    part->at += (uint64_t)n->number * shape_bytes(types, type->of);
    part->type = type->of;
    return true;
}

/* "r.x" and "r->x" of an item that is what a reference refers to. */
static bool enter(struct types *types, const struct spec_node *n, struct part *part) {
    const bool refers = part->whole && part->item.values[0].pointee;
    bool inside = false;
    if (n->op == SPEC_MEMBER || (n->op == SPEC_ARROW && refers))
        inside = enter_member(types, n, part);
    else if (n->op == SPEC_INDEX)
        inside = enter_element(types, n, part);
    part->whole = false;
    return inside;
}

bool part_find(struct types *types, const struct capture *c, const struct captured *captured,
               const struct spec_node *node, struct part *ret) {
    struct words words = {0};
    struct item item;
    spell(node, &words);
    const bool here = find_item(c, captured, words_text(&words), &item);
    words_done(&words);
    if (here) {
        begin(types, &item, ret);
        return true;
    }
    return node->of && node->op != SPEC_ADDRESS && part_find(types, c, captured, node->of, ret) &&
           enter(types, node, ret);
}

/* ---- values ---- */

static void take_text(const struct image *image, const struct captured *text,
                      const struct capture_value *v, struct plain_value *ret) {
    const uint64_t pointer =
        image_has(image, v->at, sizeof(uint64_t)) ? image_bits(image, (uint64_t)v->at * 8, 64) : 0;
    if (text->missing == VALUE_THERE && v->unit == 1) {
        *ret = (struct plain_value){.kind = PLAIN_TEXT,
                                    .magnitude = pointer,
                                    .bytes = text->bytes,
                                    .length = text->length,
                                    .cut = text->cut};
    }
}

static bool is_null(const struct image *image, const struct part *part, uint64_t size) {
    return size <= 8 && image_has(image, part->at, size) &&
           image_bits(image, part->at * 8, size * 8) == 0;
}

/* An array of characters, up to its first zero. */
static void take_array(const struct image *image, const struct part *part, uint64_t size,
                       struct plain_value *ret) {
    size_t length = 0;
    while (length < size && length < sizeof ret->store && image_has(image, part->at + length, 1) &&
           image->bytes[part->at + length])
        length++;
    if (!length && !image_has(image, part->at, 1))
        return;
    const bool ends =
        length == size || (image_has(image, part->at + length, 1) && length < sizeof ret->store);
    memcpy(ret->store, image->bytes + part->at, length);
    ret->kind = PLAIN_TEXT;
    ret->bytes = ret->store;
    ret->length = length;
    ret->cut = !ends;
}

static void take_integer(uint64_t low, unsigned bits, bool is_signed, struct plain_value *ret) {
    if (bits < 64)
        low &= (UINT64_C(1) << bits) - 1;
    const bool negative = is_signed && bits && low >> (bits - 1) & 1;
    if (negative && bits < 64)
        low |= UINT64_MAX << bits;
    ret->kind = PLAIN_INTEGER;
    ret->negative = negative;
    ret->magnitude = negative ? -low : low;
}

static void take_float(const uint8_t *bytes, uint64_t size, struct plain_value *ret) {
    float single;
    if (size != sizeof single && size != sizeof ret->real)
        return;
    memcpy(size == sizeof single ? (void *)&single : (void *)&ret->real, bytes, size);
    ret->real = size == sizeof single ? (double)single : ret->real;
    ret->kind = PLAIN_REAL;
}

static bool is_signed(struct types *types, const struct type *type) {
    const struct type *of = type->kind == TYPE_ENUM ? shape_get(types, type->of) : NULL;
    return (type->flags | (of ? of->flags : 0)) & TYPE_SIGNED;
}

static void take_scalar(struct types *types, const struct image *image, const struct part *part,
                        const struct type *type, struct plain_value *ret) {
    const uint64_t size = shape_bytes(types, part->type);
    const uint64_t bits = part->bits ? part->bits : size * 8;
    const uint64_t bit_at = part->bits ? part->bit_at : part->at * 8;
    if (!bits || !image_has(image, bit_at / 8, (bit_at % 8 + bits + 7) / 8))
        return;
    if (type->flags & (TYPE_COMPLEX | TYPE_DECIMAL))
        return;
    if (type->kind == TYPE_FLOAT && !part->bits) {
        take_float(image->bytes + part->at, size, ret);
    } else if (type->kind != TYPE_FLOAT && bits <= 64) {
        take_integer(image_bits(image, bit_at, bits), (unsigned)bits, is_signed(types, type), ret);
        ret->as_enum = type->kind == TYPE_ENUM ? type : NULL;
    }
}

/* The text that is the whole item: the item's bytes may be those of its pointer and its length. */
static const struct captured *text_at(const struct image *image, struct types *types,
                                      const struct part *part, const struct capture_value **ret) {
    return part->bits ? NULL : image_text(image, types, part->at, part->type, ret);
}

static void read_part(const struct printer *p, const struct image *image, const struct part *part,
                      struct plain_value *ret) {
    const struct type *type = shape_get(p->types, part->type);
    const struct capture_value *v;
    const struct captured *text = type ? text_at(image, p->types, part, &v) : NULL;
    const uint64_t size = type ? shape_bytes(p->types, part->type) : 0;
    if (!type) {
        if (part->whole && image->size && image->size <= 8 && image_has(image, 0, image->size))
            take_integer(image_bits(image, 0, image->size * 8), (unsigned)image->size * 8, false,
                         ret);
    } else if (text) {
        take_text(image, text, v, ret);
        if (ret->kind == PLAIN_NOTHING && type->kind == TYPE_POINTER && is_null(image, part, size))
            ret->kind = PLAIN_INTEGER;
    } else if (type->kind == TYPE_ARRAY && shape_character(p->types, type->of) == 1) {
        take_array(image, part, size, ret);
    } else if (type->kind != TYPE_STRUCT && type->kind != TYPE_UNION && type->kind != TYPE_ARRAY) {
        take_scalar(p->types, image, part, type, ret);
    }
}

void part_value(const struct printer *p, const struct part *part, struct plain_value *ret) {
    struct image image;
    *ret = (struct plain_value){.kind = PLAIN_NOTHING};
    image_init(&image, &part->item);
    read_part(p, &image, part, ret);
    image_done(&image);
}

bool part_number(const struct printer *p, const struct item *item, struct plain_value *ret) {
    const struct capture_value *v = &item->values[0];
    const struct type *type = shape_get(p->types, v->type);
    struct part part;
    const bool is_plain = type && !v->format &&
                          (type->kind == TYPE_INTEGER || type->kind == TYPE_FLOAT) &&
                          !(type->flags & (TYPE_BOOLEAN | TYPE_COMPLEX | TYPE_DECIMAL)) &&
                          !shape_character(p->types, v->type);
    if (!is_plain)
        return false;
    begin(p->types, item, &part);
    part_value(p, &part, ret);
    return ret->kind == PLAIN_INTEGER || ret->kind == PLAIN_REAL;
}

bool part_enumerator(const struct type *type, const char *name, struct plain_value *ret) {
    for (uint32_t i = 0; i < type->count; i++) {
        const char *own = type->values[i].name;
        const size_t n = strlen(own), length = strlen(name);
        const bool scoped = length > n + 2 && strcmp(name + length - n, own) == 0 &&
                            strncmp(name + length - n - 2, "::", 2) == 0;
        if (strcmp(own, name) != 0 && !scoped)
            continue;
        const int64_t value = type->values[i].value;
        const bool negative = value < 0 && (type->flags & TYPE_SIGNED);
        *ret = (struct plain_value){.kind = PLAIN_INTEGER,
                                    .negative = negative,
                                    .magnitude = negative ? -(uint64_t)value : (uint64_t)value};
        return true;
    }
    return false;
}
