/*
 * An object with a format is recorded as if it had another type: a struct whose members are the
 * format's values. So all that reads, shows and compares values knows nothing of formats.
 *
 *     std::vector<int>   →   struct { int64_t size; int first; }
 *
 *     value   from     minus   only_if   at
 *     0       finish   1       -         0    size
 *     1       start    -       -         8    no member has these bytes
 *     2       *start   -       0         16   first
 */
#include "values/formatted.h"

#include <errno.h>
#include <fnmatch.h>

#include "values/evaluate.h"
#include "values/formats.h"
#include "values/names.h"
#include "values/shape.h"
#include "values/slots.h"
#include "values/texts.h"

enum {
    MOST_MEMBER = 4096,
    ALIGN = 8
}; /* bytes of a value, or of an object that holds some; of a difference, those of both words */

struct formatting {
    struct collector *c;
    const struct access *object;
    struct err *err;
};

/* ---- a value ---- */

static int find_operand(const struct formatting *f, const struct format_value *v,
                        const struct spec_node *node, struct access *ret) {
    struct values_request request = *f->c->request;
    request.spec = v->text;
    const struct evaluator e = {&request, NULL, f->c->context, f->err, f->object};
    int status = evaluate(&e, node, ret);
    if (status < 0)
        return status;
    const struct type *t = shape_get(request.types, ret->type);
    if (t && t->kind == TYPE_POINTER && (t->flags & TYPE_REFERENCE) && !ret->address &&
        !access_follow(&e.context, ret, t->of))
        return spec_error(f->err, v->text, node->at, "this is too many pointers away");
    const uint64_t bytes = shape_bytes(request.types, ret->type);
    if (ret->bits)
        return spec_error(f->err, v->text, node->at, "this is a bit field");
    if (ret->address || !bytes || bytes > MOST_MEMBER)
        return spec_error(f->err, v->text, node->at, "this is no value of a known size");
    return 0;
}

/* The bytes of what a pointer at A points to; 0: it is none, or they are not known. */
static uint64_t element_bytes(const struct formatting *f, const struct access *a) {
    struct types *types = f->c->context.types;
    const struct type *t = shape_get(types, a->type);
    const bool is_pointer = t && t->kind == TYPE_POINTER && !(t->flags & TYPE_MEMBER_POINTER);
    const uint64_t bytes = is_pointer ? shape_bytes(types, t->of) : 0;
    return bytes <= UINT32_MAX ? bytes : 0;
}

/* Where a value is: LEFT, or LEFT − RIGHT if it is a difference. */
struct found {
    struct access left, right;
    uint32_t divisor; /* of the difference; 0: it is none */
    type_id type;
    uint32_t bytes; /* in the image */
};

static int find_value(const struct formatting *f, const struct format_value *v, struct found *ret) {
    struct types *types = f->c->context.types;
    int status = find_operand(f, v, v->root, &ret->left);
    if (status < 0)
        return status;
    ret->divisor = 0;
    ret->type = ret->left.type;
    ret->bytes = (uint32_t)shape_bytes(types, ret->type);
    if (!v->minus)
        return 0;
    status = find_operand(f, v, v->minus, &ret->right);
    if (status < 0)
        return status;
    ret->divisor = (uint32_t)element_bytes(f, &ret->left);
    if (!ret->divisor || ret->divisor != element_bytes(f, &ret->right))
        return spec_error(f->err, v->text, v->minus->at,
                          "only pointers to elements of one known size have a difference");
    ret->type = name_integer(types, f->c->context.word, true);
    ret->bytes = 2 * ALIGN;
    return 0;
}

/* ---- a type ---- */

static uint32_t aligned(uint32_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

/* The struct that shows FORMAT's values of objects of TYPE. */
static int make_type(const struct formatting *f, const struct format *format, type_id *ret) {
    struct types *types = f->c->context.types;
    const struct type *own = shape_get(types, f->object->type);
    ARRAY(struct type_member) members = {0};
    uint64_t at = 0;
    int status = 0;
    for (size_t i = 0; i < format->values.count && status == 0; i++) {
        const struct format_value *v = &format->values.at[i];
        struct found found;
        status = find_value(f, v, &found);
        if (status < 0)
            break;
        const struct type_member m = {.name = v->name, .type = found.type, .bit_offset = at * 8};
        ARRAY_PUSH(&members, m);
        at += aligned(found.bytes);
    }
    if (status == 0)
        *ret = types_add(types, &(struct type){.kind = TYPE_STRUCT,
                                               .flags = own->flags & (TYPE_CLASS | TYPE_TAG),
                                               .name = own->name,
                                               .bytes = at,
                                               .members = members.at,
                                               .count = (uint32_t)members.count});
    ARRAY_FREE(&members);
    return status;
}

static void note_misfit(struct formats *formats, struct format *format, const char *type,
                        const struct err *err) {
    if (!format->file || format->reported)
        return;
    format->reported = true;
    char *text = mem_printf("%s:%u: %s: %s", format->file, format->line, type, err->text);
    ARRAY_PUSH(&formats->misfits, text);
}

/* Looks for a format of objects of the type that F's has, as if they were at a pointer. */
static struct format_use try_formats(const struct formatting *f, struct formats *formats,
                                     const char *name) {
    struct format_use use = {.tried = true};
    struct format *misfit = NULL;
    struct err why;
    for (size_t i = 0; i < formats->list.count && !use.format; i++) {
        struct format *format = &formats->list.at[i];
        struct err err;
        const struct formatting one = {f->c, f->object, &err};
        if (fnmatch(format->pattern, name, 0) != 0)
            continue;
        if (make_type(&one, format, &use.shown) == 0) {
            use.format = use.shown ? format : NULL;
        } else if (!misfit) {
            misfit = format;
            why = err;
        }
    }
    if (misfit && (!use.format || !use.format->file))
        note_misfit(formats, misfit, name, &why);
    return use;
}

static struct format_use use_of(struct collector *c, type_id type) {
    struct formats *formats = c->request->formats;
    const struct type *t = shape_get(c->context.types, type);
    const type_id id = shape_id(c->context.types, type);
    if (!t || (t->kind != TYPE_STRUCT && t->kind != TYPE_UNION) || !*t->name)
        return (struct format_use){.tried = true};
    while (formats->uses.count <= id)
        ARRAY_PUSH(&formats->uses, (struct format_use){0});
    if (formats->uses.at[id].tried)
        return formats->uses.at[id];
    const struct access object = {
        .kind = ACCESS_MEMORY, .type = id, .base = {.from = FROM_REGISTER, .length_of = -1}};
    const struct format_use use =
        try_formats(&(struct formatting){c, &object, NULL}, formats, t->name);
    formats->uses.at[id] = use;
    return use;
}

/* ---- an object ---- */

/* Adds the pointer at A to the image at AT. Its number; −1: it is not one word. */
static int add_pointer(struct collector *c, const struct access *a, uint32_t at) {
    const size_t before = c->values.count;
    const struct access_slice slice = {0, c->context.word, at};
    ARRAY_RESERVE(&c->values, before + CAPTURE_MOST_VALUES);
    struct access_values list = {c->values.at, before, CAPTURE_MOST_VALUES};
    if (!access_values(&c->context, a, &slice, &list) || list.count != before + 1)
        return -1;
    const struct capture_value *v = &c->values.at[before];
    if (v->bytes != c->context.word || v->width || !capture_value_records(v))
        return -1;
    c->values.count++;
    return (int)before;
}

static void add_difference(struct collector *c, const struct found *found, uint32_t at) {
    const size_t before = c->values.count;
    const int left = add_pointer(c, &found->left, at);
    const int right = left < 0 ? -1 : add_pointer(c, &found->right, at + ALIGN);
    if (right < 0) {
        c->values.count = before;
        return;
    }
    c->values.at[left].minus = (uint16_t)(right + 1);
    c->values.at[left].divisor = found->divisor;
}

/* Whether values can be made dependent on the one that was added as number CONDITION. END is behind
 * the last number that it has. */
static bool is_condition(const struct collector *c, size_t condition, size_t end) {
    if (condition == end)
        return false;
    const struct capture_value *v = &c->values.at[condition];
    const bool is_alone = end == condition + 1 || v->minus;
    return is_alone && v->bytes && v->bytes <= 8 && !v->string && capture_value_records(v);
}

static void add_value(const struct formatting *f, const struct format_value *v, uint32_t at) {
    struct found found;
    if (find_value(f, v, &found) < 0)
        return; /* it is too many pointers away here: a hole */
    if (found.divisor)
        add_difference(f->c, &found, at);
    else
        collect_inner(f->c, &found.left, at);
}

/* Makes values known only if the one with the number CONDITION is not 0. */
static void depend(struct collector *c, size_t from, size_t to, size_t condition) {
    for (size_t i = from; i < to; i++)
        c->values.at[i].only_if = (uint16_t)(condition + 1);
}

/* FORMAT's values, in the image from BASE on, while there is room for any: views show the others as
 * left out. */
static void add_values(const struct formatting *f, const struct format *format,
                       const struct type *shown, uint32_t base) {
    struct collector *c = f->c;
    /* The number of the first value of each of FORMAT's, and the end. */
    AUTO_FREE size_t *first = mem_alloc((format->values.count + 1) * sizeof *first);
    for (size_t i = 0; i < format->values.count; i++) {
        const struct format_value *v = &format->values.at[i];
        const size_t condition = v->only_if - 1;
        first[i] = c->values.count;
        if (c->format_values &&
            (!v->only_if || is_condition(c, first[condition], first[condition + 1]))) {
            add_value(f, v, base + (uint32_t)(shown->members[i].bit_offset / 8));
            c->format_values--;
        }
        first[i + 1] = c->values.count;
        if (v->only_if)
            depend(c, first[i], c->values.count, first[condition]);
    }
}

/* ---- objects that hold such objects ---- */

enum { MOST_HOLDERS = 4 /* one within the other */, MOST_LOOKED_AT = 1024 };

/* What is found while a type is looked through. */
struct holding {
    struct collector *c;
    struct held held[FORMATS_MOST_HELD];
    size_t count;
    uint64_t end;    /* of the image so far */
    unsigned budget; /* of members: a hostile type may hold exponentially many */
};

static type_id hold(struct holding *h, type_id type, uint64_t at, unsigned depth);

/* The type that shows the member M, AT bytes in the item: its own, if no format is in it. What has
 * a format is behind all else in the image. */
static struct type_member hold_member(struct holding *h, struct type_member m, uint64_t base,
                                      unsigned depth) {
    struct types *types = h->c->context.types;
    const uint64_t at = base + m.bit_offset / 8;
    if (m.bit_size || (m.flags & (MEMBER_VIRTUAL | MEMBER_VARIANT)) ||
        h->count == FORMATS_MOST_HELD || !h->budget)
        return m;
    h->budget--;
    const struct format_use use = use_of(h->c, m.type);
    if (!use.format) {
        const type_id held = hold(h, m.type, at, depth + 1);
        m.type = held ? held : m.type;
        return m;
    }
    h->held[h->count++] = (struct held){use.format, use.shown, m.type, at, h->end, depth == 0};
    m.type = use.shown;
    m.bit_offset = (h->end - base) * 8;
    h->end += types_get(types, use.shown)->bytes;
    return m;
}

/* A struct like TYPE, which is AT bytes in the item, that shows members by their formats. 0: none
 * has a format. */
static type_id hold(struct holding *h, type_id type, uint64_t at, unsigned depth) {
    struct types *types = h->c->context.types;
    const struct type *own = shape_get(types, type);
    const size_t before = h->count;
    unsigned unit;
    if (!own || own->kind != TYPE_STRUCT || depth == MOST_HOLDERS ||
        text_type_of(types, type, &unit))
        return 0;
    AUTO_FREE struct type_member *members = mem_alloc((own->count + 1) * sizeof *members);
    struct type shown = *own;
    for (uint32_t i = 0; i < own->count; i++)
        members[i] = hold_member(h, own->members[i], at, depth);
    shown.members = members;
    shown.bytes = h->end - at; /* views ask whether anything within was recorded */
    return h->count == before ? 0 : types_add(types, &shown);
}

/* ---- an item ---- */

static const struct holder *holder_of(struct collector *c, type_id type) {
    struct formats *formats = c->request->formats;
    const type_id id = shape_id(c->context.types, type);
    while (formats->uses.count <= id)
        ARRAY_PUSH(&formats->uses, (struct format_use){0});
    if (!formats->uses.at[id].holder) {
        const uint64_t bytes = shape_bytes(c->context.types, id);
        struct holding h = {.c = c, .budget = MOST_LOOKED_AT, .end = aligned((uint32_t)bytes)};
        struct holder *holder = arena_alloc(formats->arena, sizeof *holder);
        holder->shown = bytes <= MOST_MEMBER ? hold(&h, id, 0, 0) : 0;
        holder->count = holder->shown ? h.count : 0;
        memcpy(holder->held, h.held, sizeof h.held);
        formats->uses.at[id].holder = holder;
    }
    return formats->uses.at[id].holder;
}

/* Also appends what of A itself is recorded without formats. */
static bool collect_held(struct collector *c, struct access *a) {
    const struct holder *holder = holder_of(c, a->type);
    struct err ignored;
    if (!holder->count || !c->format_values || c->request->plain_members)
        return false;
    const struct access whole = *a;
    struct collect_hole holes[FORMATS_MOST_HELD];
    size_t count = 0;
    for (size_t i = 0; i < holder->count; i++) {
        const struct held *h = &holder->held[i];
        if (h->direct) /* else views would miss the member that has it */
            holes[count++] =
                (struct collect_hole){h->at, h->at + shape_bytes(c->context.types, h->type)};
    }
    collect_around(c, &whole, holes, count);
    for (size_t i = 0; i < holder->count; i++) {
        const struct held *h = &holder->held[i];
        struct access object = whole;
        access_enter(&object, (int64_t)h->at, h->type);
        add_values(&(struct formatting){c, &object, &ignored}, h->format,
                   types_get(c->context.types, h->shown), (uint32_t)h->image_at);
    }
    a->type = holder->shown;
    return true;
}

bool collect_formatted(struct collector *c, struct access *a) {
    struct err ignored;
    if (!c->request->formats)
        return false;
    const struct format_use use = use_of(c, a->type);
    if (!use.format)
        return collect_held(c, a);
    const size_t before = c->values.count;
    add_values(&(struct formatting){c, a, &ignored}, use.format,
               types_get(c->context.types, use.shown), 0);
    if (c->values.count == before)
        return false;
    a->type = use.shown;
    return true;
}

/* ---- a value by its name ---- */

static const struct format_value *value_named(const struct format *format, const char *name,
                                              size_t *ret) {
    for (*ret = 0; format && *ret < format->values.count; ++*ret)
        if (strcmp(format->values.at[*ret].name, name) == 0)
            return &format->values.at[*ret];
    return NULL;
}

/* Appends V, and behind it in the image what it depends on. */
static void add_alone(const struct formatting *f, const struct format *format,
                      const struct format_value *v, uint32_t bytes) {
    struct collector *c = f->c;
    const size_t first = c->values.count;
    add_value(f, v, 0);
    const size_t end = c->values.count;
    if (!v->only_if || end == first)
        return;
    add_value(f, &format->values.at[v->only_if - 1], aligned(bytes));
    if (is_condition(c, end, c->values.count))
        depend(c, first, end, end);
    else
        c->values.count = first;
}

bool collect_format_value(struct collector *c, const struct evaluator *e,
                          const struct spec_term *term, char shown) {
    const struct spec_node *n = term->root;
    struct access object;
    struct err ignored;
    struct evaluator quiet = *e;
    struct found found;
    size_t number;
    quiet.err = &ignored;
    if (!c->request->formats || (n->op != SPEC_MEMBER && n->op != SPEC_ARROW) ||
        evaluate_object(&quiet, n, &object) < 0)
        return false;
    const struct format *format = use_of(c, object.type).format;
    const struct format_value *v = value_named(format, n->name, &number);
    const struct formatting f = {c, &object, &ignored};
    if (!v || object.kind == ACCESS_MISSING || find_value(&f, v, &found) < 0)
        return false;
    const struct access value = {.type = found.type};
    const size_t first = c->values.count;
    add_alone(&f, format, v, found.bytes);
    collect_item(c, first, term->text, &value, shown);
    return true;
}
