/* From a request to a capture. */
#include "values/compile.h"

#include <elf.h>
#include <errno.h>

#include "base/mem.h"
#include "values/collect.h"
#include "values/evaluate.h"
#include "values/formatted.h"
#include "values/names.h"
#include "values/shape.h"

bool values_abi(const struct module *m, enum abi *ret) {
    if (m->machine == EM_X86_64)
        *ret = ABI_X86_64;
    else if (m->machine == EM_AARCH64)
        *ret = ABI_AARCH64;
    else
        *ret = m->float_abi == FLOAT_ABI_HARD ? ABI_ARM_HARD : ABI_ARM_SOFT;
    return *ret == ABI_X86_64 || *ret == ABI_AARCH64 || m->float_abi != FLOAT_ABI_UNKNOWN;
}

/* ---- by types ---- */

static bool is_hidden(const struct parameter *p) {
    return ((p->flags & PARAMETER_ARTIFICIAL) && strncmp(p->name, "__", 2) == 0) ||
           strcmp(p->name, ".dict") == 0; /* of Go's generic functions */
}

static void add_place(struct collector *c, const char *name, const struct abi_place *place,
                      type_id type) {
    struct access a = access_begin(&c->context, place, type);
    collect_object(c, name, &a, 0);
}

static void add_parameters(struct collector *c, const struct signature *s,
                           const struct places *places) {
    for (size_t i = 0; i < s->count; i++) {
        const struct parameter *p = &s->parameters[i];
        if ((p->flags & PARAMETER_RESULT) || is_hidden(p))
            continue;
        AUTO_FREE char *number = mem_printf("arg%zu", i + 1);
        add_place(c, *p->name ? p->name : number, &places->parameters[i], p->type);
    }
}

static void add_results(struct collector *c, const struct signature *s,
                        const struct places *places) {
    for (size_t i = 0; i < s->count; i++)
        if (s->parameters[i].flags & PARAMETER_RESULT)
            add_place(c, s->parameters[i].name, &places->parameters[i], s->parameters[i].type);
    if (types_plain(c->context.types, s->result))
        add_place(c, "ret", &places->result, s->result);
}

/* ---- by a SPEC ---- */

/* The type that a format asks for, where the expression has none of its own. */
static type_id type_of_format(const struct evaluator *e, const struct spec_format *f) {
    unsigned bytes = f->bits ? f->bits / 8u : e->context.word;
    struct types *types = e->request->types;
    if (f->letter == 'f')
        return name_float(types, f->bits ? bytes : 8);
    if (f->letter == 'p')
        return name_pointer(types, 0, e->context.word);
    if (f->letter == 'c')
        return name_char(types);
    if (f->letter == 's')
        return name_pointer(types, name_char(types), e->context.word);
    return name_integer(types, bytes, f->letter == 'i');
}

static bool has_type(const struct spec_node *n, const struct evaluator *e) {
    if (n->op == SPEC_RESULT)
        return e->request->signature && e->request->signature->result;
    return n->op != SPEC_INTEGER && n->op != SPEC_FLOAT && n->op != SPEC_REGISTER;
}

static char shown_as(const struct spec_format *f) {
    switch (f->letter) {
    case 'i':
        return 'd';
    case 'u':
    case 'x':
    case 'o':
    case 'c':
        return f->letter;
    default:
        return 0;
    }
}

/* uftrace's long doubles are on the stack or in st(0). */
static void take_x87(const struct evaluator *e, const struct spec_term *t, struct access *a) {
    bool x86 = e->request->abi == ABI_X86_64 && t->format.letter == 'f' && !has_type(t->root, e);
    if (x86 && t->format.bits == 80 && t->root->op == SPEC_RESULT) {
        a->place.piece[0] = (struct abi_piece){.from = FROM_X87, .bytes = 10};
    } else if (x86 && t->root->op == SPEC_RESULT) {
        a->place.piece[0] = (struct abi_piece){.from = FROM_VECTOR, .bytes = 8};
    } else if (x86 && t->format.bits == 80 && t->root->op == SPEC_FLOAT) {
        a->place.piece[0].from = FROM_STACK;
        a->place.piece[0].stack_offset = 8 + 16 * ((int32_t)t->root->number - 1);
        a->place.piece[0].bytes = 10;
    }
}

static int format_term(const struct evaluator *e, const struct spec_term *t, struct access *a) {
    type_id type = type_of_format(e, &t->format);
    const struct type *old = shape_get(e->request->types, a->type);
    uint64_t bytes = shape_bytes(e->request->types, a->type);
    bool float_now = old && old->kind == TYPE_FLOAT, float_asked = t->format.letter == 'f';
    if (a->address || a->kind == ACCESS_MISSING)
        return 0;
    if (!has_type(t->root, e)) {
        take_x87(e, t, a);
        a->type = type;
        return 0;
    }
    if (t->format.letter == 's' && old && old->kind != TYPE_POINTER && bytes < e->context.word)
        return spec_error(e->err, e->request->spec, t->at, "this is no pointer to a text");
    if (!old || shape_is_composite(old) || float_now != float_asked) {
        AUTO_FREE char *name = old ? types_spell(e->request->types, a->type) : NULL;
        return spec_error(e->err, e->request->spec, t->at,
                          "its type%s%s%s does not go with the format", name ? ", " : "",
                          name ? name : "", name ? "," : "");
    }
    if (t->format.bits && t->format.bits / 8u > bytes)
        return spec_error(e->err, e->request->spec, t->at, "it has fewer bits than the format");
    if (!a->bits && (t->format.bits || t->format.letter == 's' || t->format.letter == 'p'))
        a->type = type;
    return 0;
}

static int add_term(const struct evaluator *e, const struct spec_term *t, struct collector *c) {
    struct access a;
    int status = evaluate(e, t->root, &a);
    if (status < 0 && collect_format_value(c, e, t, shown_as(&t->format)))
        return 0;
    if (status == 0 && t->format.letter)
        status = format_term(e, t, &a);
    if (status < 0)
        return status;
    const struct type *shape = shape_get(e->request->types, a.type);
    bool text = t->format.letter == 's' && !a.address && shape && shape->kind == TYPE_POINTER;
    if (text)
        collect_text(c, t->text, &a, 1);
    else
        collect_object(c, t->text, &a, shown_as(&t->format));
    return 0;
}

static bool has_item(const struct collector *c, const char *name) {
    for (size_t i = 0; i < c->values.count; i++)
        if (c->values.at[i].name && strcmp(c->values.at[i].name, name) == 0)
            return true;
    return false;
}

/* A result is not known before the return, a parameter no longer then. */
static int add_terms(const struct evaluator *e, const struct spec *spec, struct collector *c) {
    for (size_t i = 0; i < spec->terms.count; i++) {
        const struct spec_term *t = &spec->terms.at[i];
        if (spec_has_result(t->root) != (e->request->kind == EVENT_RETURN) ||
            (!t->format.letter && has_item(c, t->text)))
            continue;
        int status = add_term(e, t, c);
        if (status < 0)
            return status;
    }
    return 0;
}

static int compile(const struct values_request *r, const struct places *places, struct collector *c,
                   struct err *err) {
    const bool by_types = r->signature && (!r->spec || r->by_types);
    if (by_types && r->kind == EVENT_ENTRY)
        add_parameters(c, r->signature, places);
    else if (by_types && r->kind == EVENT_RETURN)
        add_results(c, r->signature, places);
    if (!r->spec)
        return 0;
    struct evaluator e = {r, r->signature ? places : NULL, c->context, err, NULL};
    struct spec spec;
    int status = spec_parse(r->spec, &spec, err);
    if (status < 0)
        return status;
    status = add_terms(&e, &spec, c);
    spec_done(&spec);
    return status;
}

int values_compile(const struct values_request *r, struct capture *ret, struct err *err) {
    struct collector c = {.context = {r->types, abi_word(r->abi)},
                          .abi = r->abi,
                          .strings = r->strings,
                          .object_bytes = r->object_bytes ? r->object_bytes : CAPTURE_MOST_BYTES,
                          .format = collect_formatted,
                          .request = r,
                          .format_values = r->format_values ? r->format_values : UINT32_MAX};
    struct places places = {0};
    struct capture made = {.kind = r->kind};
    if (c.strings > CAPTURE_MOST_STRING)
        c.strings = CAPTURE_MOST_STRING;
    if (r->signature)
        places_init(&places, r->types, r->signature, r->abi);
    int status = compile(r, &places, &c, err);
    collect_end(&c, &made);
    places_done(&places);
    if (status < 0)
        capture_done(&made);
    else
        *ret = made;
    return status;
}
