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

static bool find_item(const struct capture *c, const char *spelled, struct part_place *ret) {
    for (size_t i = 0; i < c->count; i++) {
        if (!c->values[i].name || !is_spelled(c->values[i].name, spelled))
            continue;
        *ret = (struct part_place){.first = i, .count = 1, .whole = true};
        while (i + ret->count < c->count && !c->values[i + ret->count].name)
            ret->count++;
        return true;
    }
    return false;
}

/* ---- places ---- */

static void begin(struct types *types, const struct capture_value *v, struct part_place *ret) {
    const struct type *type = shape_get(types, v->type);
    ret->type = v->type;
    if (v->width && type && !shape_is_composite(type)) {
        ret->bits = v->width;
        ret->bit_at = image_is_shifted(v) ? 0 : v->shift;
    }
}

static bool enter_member(struct types *types, const struct spec_node *n, struct part_place *p) {
    struct type_member m;
    if (p->bits || !types_member(types, shape_id(types, p->type), n->name, &m) ||
        (m.flags & MEMBER_VIRTUAL))
        return false;
    p->type = m.type;
    if (m.bit_size) {
        p->bit_at = p->at * 8 + m.bit_offset;
        p->bits = m.bit_size;
    }
    p->at += m.bit_offset / 8;
    return true;
}

static bool enter_element(struct types *types, const struct spec_node *n, struct part_place *p) {
    const struct type *type = shape_get(types, p->type);
    if (!type || type->kind != TYPE_ARRAY || n->number < 0 || (uint64_t)n->number >= type->elements)
        return false;
    p->at += (uint64_t)n->number * shape_bytes(types, type->of);
    p->type = type->of;
    return true;
}

/* "r.x" and "r->x" of an item that is what a reference refers to. */
static bool enter(struct types *types, const struct capture *c, const struct spec_node *n,
                  struct part_place *p) {
    const bool refers = p->whole && c->values[p->first].pointee;
    bool inside = false;
    if (n->op == SPEC_MEMBER || (n->op == SPEC_ARROW && refers))
        inside = enter_member(types, n, p);
    else if (n->op == SPEC_INDEX)
        inside = enter_element(types, n, p);
    p->whole = false;
    return inside;
}

bool part_find(struct types *types, const struct capture *c, const struct spec_node *node,
               struct part_place *ret) {
    struct words words = {0};
    spell(node, &words);
    const bool here = find_item(c, words_text(&words), ret);
    words_done(&words);
    if (here) {
        begin(types, &c->values[ret->first], ret);
        return true;
    }
    return node->of && node->op != SPEC_ADDRESS && part_find(types, c, node->of, ret) &&
           enter(types, c, node, ret);
}

struct part part_of(const struct part_place *place, const struct capture *c,
                    const struct captured *captured) {
    return (struct part){place, {c->values + place->first, captured + place->first, place->count}};
}

static void print_part(const struct printer *p, const struct part *part, bool json,
                       struct words *ret) {
    const struct part_place *at = part->place;
    const struct inner inner = {at->type, at->at, at->bit_at, at->bits};
    if (at->whole)
        (json ? print_json : print_text)(p, &part->item, ret);
    else
        print_inner(p, &part->item, &inner, json, ret);
}

void part_text(const struct printer *p, const struct part *part, struct words *ret) {
    print_part(p, part, false, ret);
}

void part_json(const struct printer *p, const struct part *part, struct words *ret) {
    print_part(p, part, true, ret);
}

/* ---- how values are read ---- */

static bool is_signed(struct types *types, const struct type *type) {
    const struct type *of = type->kind == TYPE_ENUM ? shape_get(types, type->of) : NULL;
    return (type->flags | (of ? of->flags : 0)) & TYPE_SIGNED;
}

/* The text that stands for the object; 0: none does. */
static size_t text_of(struct types *types, const struct capture *c, const struct part_place *p) {
    for (size_t i = 1; i < p->count && !p->bits; i++) {
        const struct capture_value *v = &c->values[p->first + i];
        if (v->string && v->at == p->at && shape_id(types, v->type) == shape_id(types, p->type))
            return i;
    }
    return 0;
}

static enum part_form form_of(struct types *types, const struct type *type,
                              const struct part_reader *r) {
    const uint64_t bits = r->place.bits ? r->place.bits : r->size * 8;
    if (r->text)
        return PART_STRING;
    if (type->kind == TYPE_ARRAY)
        return shape_character(types, type->of) == 1 ? PART_CHARACTERS : PART_OPAQUE;
    if (type->kind == TYPE_STRUCT || type->kind == TYPE_UNION || !bits ||
        (type->flags & (TYPE_COMPLEX | TYPE_DECIMAL)))
        return PART_OPAQUE;
    if (type->kind == TYPE_FLOAT)
        return !r->place.bits && (r->size == 4 || r->size == 8) ? PART_REAL : PART_OPAQUE;
    return bits <= 64 ? PART_INTEGER : PART_OPAQUE;
}

void part_reader_init(struct types *types, const struct capture *c, const struct part_place *place,
                      struct part_reader *ret) {
    const struct type *type = shape_get(types, place->type);
    *ret = (struct part_reader){.place = *place};
    if (!type) { /* bytes without a type: a number */
        ret->size = c->values[place->first].bytes;
        ret->form = place->whole && place->count == 1 && ret->size && ret->size <= 8 ? PART_INTEGER
                                                                                     : PART_OPAQUE;
        return;
    }
    ret->size = shape_bytes(types, place->type);
    ret->text = text_of(types, c, place);
    ret->is_signed = is_signed(types, type);
    ret->is_pointer = type->kind == TYPE_POINTER;
    ret->as_enum = type->kind == TYPE_ENUM ? type : NULL;
    ret->form = form_of(types, type, ret);
}

/* ---- values ---- */

static uint64_t pointer_at(const struct image *image, const struct part_reader *r) {
    return r->size <= 8 && image_has(image, r->place.at, r->size)
               ? image_bits(image, r->place.at * 8, r->size * 8)
               : 0;
}

static void take_text(const struct image *image, const struct part_reader *r,
                      struct plain_value *ret) {
    const struct captured *text = &image->item->captured[r->text];
    const struct capture_value *v = &image->item->values[r->text];
    const uint64_t pointer = r->is_pointer ? pointer_at(image, r) : 0;
    if (text->missing == VALUE_THERE && v->unit == 1)
        *ret = (struct plain_value){.kind = PLAIN_TEXT,
                                    .magnitude = pointer,
                                    .bytes = text->bytes,
                                    .length = text->length,
                                    .cut = text->cut};
    else if (r->is_pointer && !pointer && image_has(image, r->place.at, r->size))
        ret->kind = PLAIN_INTEGER; /* a null pointer */
}

/* An array of characters, up to its first zero. */
static void take_characters(const struct image *image, const struct part_reader *r,
                            struct plain_value *ret) {
    const uint64_t at = r->place.at;
    size_t length = 0;
    while (length < r->size && length < sizeof ret->store && image_has(image, at + length, 1) &&
           image->bytes[at + length])
        length++;
    if (!length && !image_has(image, at, 1))
        return;
    const bool ends =
        length == r->size || (length < sizeof ret->store && image_has(image, at + length, 1));
    memcpy(ret->store, image->bytes + at, length);
    ret->kind = PLAIN_TEXT;
    ret->bytes = ret->store;
    ret->length = length;
    ret->cut = !ends;
}

static void take_integer(const struct image *image, const struct part_reader *r,
                         struct plain_value *ret) {
    const uint64_t bits = r->place.bits ? r->place.bits : r->size * 8;
    const uint64_t at = r->place.bits ? r->place.bit_at : r->place.at * 8;
    if (!image_has(image, at / 8, (at % 8 + bits + 7) / 8))
        return;
    uint64_t low = image_bits(image, at, bits);
    const bool negative = r->is_signed && low >> (bits - 1) & 1;
    if (negative && bits < 64)
        low |= UINT64_MAX << bits;
    ret->kind = PLAIN_INTEGER;
    ret->negative = negative;
    ret->magnitude = negative ? -low : low;
}

static void take_real(const struct image *image, const struct part_reader *r,
                      struct plain_value *ret) {
    const uint8_t *bytes = image->bytes + r->place.at;
    float single;
    if (!image_has(image, r->place.at, r->size))
        return;
    if (r->size == sizeof single) {
        memcpy(&single, bytes, sizeof single);
        ret->real = (double)single;
    } else {
        memcpy(&ret->real, bytes, sizeof ret->real);
    }
    ret->kind = PLAIN_REAL;
}

void part_read(const struct part_reader *r, const struct capture *c,
               const struct captured *captured, struct plain_value *ret) {
    const struct part part = part_of(&r->place, c, captured);
    struct image image;
    *ret = (struct plain_value){.kind = PLAIN_NOTHING};
    if (r->form == PART_OPAQUE)
        return;
    image_init(&image, &part.item);
    if (r->form == PART_STRING)
        take_text(&image, r, ret);
    else if (r->form == PART_CHARACTERS)
        take_characters(&image, r, ret);
    else if (r->form == PART_REAL)
        take_real(&image, r, ret);
    else
        take_integer(&image, r, ret);
    image_done(&image);
}

bool part_number(const struct printer *p, const struct item *item, struct plain_value *ret) {
    const struct capture_value *v = &item->values[0];
    const struct type *type = shape_get(p->types, v->type);
    const struct capture alone = {.values = (struct capture_value *)v, .count = item->count};
    struct part_place place = {.count = item->count, .whole = true};
    struct part_reader reader;
    const bool is_plain = type && !v->format &&
                          (type->kind == TYPE_INTEGER || type->kind == TYPE_FLOAT) &&
                          !(type->flags & TYPE_BOOLEAN) && !shape_character(p->types, v->type);
    if (!is_plain)
        return false;
    begin(p->types, v, &place);
    part_reader_init(p->types, &alone, &place, &reader);
    part_read(&reader, &alone, item->captured, ret);
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
