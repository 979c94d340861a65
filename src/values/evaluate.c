/* Evaluates expressions: each step enters a member or follows a pointer. */
#include "values/evaluate.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "values/meant.h"
#include "values/names.h"
#include "values/shape.h"

static int fail(const struct evaluator *e, const struct spec_node *n, const char *why) {
    return spec_error(e->err, e->request->spec, n->at, "%s", why);
}

/* ---- names ---- */

static int fail_name(const struct evaluator *e, const struct spec_node *n, const char *what,
                     struct meant *m) {
    return meant_fail(m, e->err, e->request->spec, n->at, what);
}

static void consider_members(const struct evaluator *e, type_id type, struct meant *meant,
                             unsigned depth) {
    const struct type *t = shape_get(e->request->types, type);
    if (!t || depth > 8 || (t->kind != TYPE_STRUCT && t->kind != TYPE_UNION))
        return;
    for (uint32_t i = 0; i < t->count; i++) {
        meant_consider(meant, t->members[i].name);
        if (!*t->members[i].name || (t->members[i].flags & MEMBER_BASE))
            consider_members(e, t->members[i].type, meant, depth + 1);
    }
}

static void begin_at(const struct evaluator *e, const struct abi_place *place, type_id type,
                     struct access *ret) {
    *ret = access_begin(&e->context, place, type);
}

static const struct parameter *this_of(const struct signature *s) {
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->parameters[i].name, "this") == 0 ||
            strcmp(s->parameters[i].name, "self") == 0)
            return &s->parameters[i];
    return NULL;
}

/* References are what they refer to. */
static bool see_through(const struct evaluator *e, struct access *a) {
    const struct type *t = shape_get(e->request->types, a->type);
    if (!t || t->kind != TYPE_POINTER || !(t->flags & TYPE_REFERENCE) || a->address ||
        a->kind == ACCESS_MISSING)
        return true;
    return access_follow(&e->context, a, t->of);
}

static bool has_no_members(const struct type *t) {
    return t->kind != TYPE_FORWARD && !shape_is_composite(t);
}

static int fail_type(const struct evaluator *e, const struct spec_node *n, type_id type,
                     const char *what) {
    AUTO_FREE char *name = types_spell(e->request->types, type);
    AUTO_FREE char *why = mem_printf("%s %s", name, what);
    return fail(e, n, why);
}

static int enter_member(const struct evaluator *e, const struct spec_node *n, struct access *a) {
    struct type_member m;
    if (!types_member(e->request->types, shape_id(e->request->types, a->type), n->name, &m)) {
        const struct type *t = shape_get(e->request->types, a->type);
        if (t && has_no_members(t))
            return fail_type(e, n, a->type, "has no members");
        AUTO_FREE char *type = types_spell(e->request->types, a->type);
        AUTO_FREE char *what = mem_printf("%s has no member of this name", type);
        struct meant meant;
        meant_begin(&meant, n->name);
        consider_members(e, a->type, &meant, 0);
        return fail_name(e, n, what, &meant);
    }
    if (m.flags & MEMBER_VIRTUAL)
        return fail(e, n, "the place of a virtual base class is not known");
    access_enter(a, (int64_t)(m.bit_offset / 8), m.type);
    if (m.bit_size) {
        a->bits = m.bit_size;
        a->bit_at = m.bit_offset % 8;
    }
    return 0;
}

/* Prototypes of the C library name none. */
static bool has_no_names(const struct signature *s) {
    for (size_t i = 0; i < s->count; i++)
        if (*s->parameters[i].name)
            return false;
    return true;
}

static int take_parameter(const struct evaluator *e, const struct spec_node *n,
                          struct access *ret) {
    const struct signature *s = e->request->signature;
    if (!s)
        return fail(e, n, "the function's types are not known; use argN, fpargN or %REGISTER");
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->parameters[i].name, n->name) == 0 &&
            !(s->parameters[i].flags & PARAMETER_RESULT)) {
            begin_at(e, &e->places->parameters[i], s->parameters[i].type, ret);
            return 0;
        }
    const struct parameter *self = this_of(s);
    const struct type *t = self ? shape_get(e->request->types, self->type) : NULL;
    struct type_member m;
    struct meant meant;
    if (t && t->kind == TYPE_POINTER && types_member(e->request->types, t->of, n->name, &m)) {
        begin_at(e, &e->places->parameters[self - s->parameters], self->type, ret);
        if (ret->kind != ACCESS_MISSING && !access_follow(&e->context, ret, t->of))
            return fail(e, n, "this is too many pointers away");
        ret->type = t->of;
        return enter_member(e, n, ret);
    }
    if (s->count && has_no_names(s))
        return fail(e, n, "names of its parameters are not known; use arg1, or fparg1 of floats");
    meant_begin(&meant, n->name);
    for (size_t i = 0; i < s->count; i++)
        if (!(s->parameters[i].flags & PARAMETER_RESULT))
            meant_consider(&meant, s->parameters[i].name);
    return fail_name(e, n,
                     s->count ? "the function has no parameter of this name"
                              : "the function has no parameters",
                     &meant);
}

/* ---- registers ---- */

static int take_piece(const struct evaluator *e, struct abi_piece piece, type_id type,
                      struct access *ret) {
    struct abi_place place = {.count = 1, .piece = {piece}};
    begin_at(e, &place, type, ret);
    return 0;
}

static bool overlap(const struct abi_piece *a, const struct abi_piece *b) {
    if (a->from != b->from)
        return false;
    if (a->from == FROM_STACK)
        return a->stack_offset < b->stack_offset + (int32_t)b->bytes &&
               b->stack_offset < a->stack_offset + (int32_t)a->bytes;
    return a->reg == b->reg;
}

/* True if PLACE covers PIECE, or is not known, or is no place where a caller passes arguments. */
static bool may_hold(const struct abi_place *place, const struct abi_piece *piece) {
    if (place->missing)
        return true;
    for (unsigned i = 0; i < place->count; i++) {
        const enum capture_from from = place->piece[i].from;
        if ((from != FROM_REGISTER && from != FROM_VECTOR && from != FROM_STACK) ||
            overlap(&place->piece[i], piece))
            return true;
    }
    return false;
}

/* True if none of the function's parameters is in PIECE, by which argN and fpargN count. */
static bool is_no_parameter(const struct evaluator *e, const struct abi_piece *piece) {
    const struct signature *s = e->request->signature;
    if (!s || !s->count || s->changed || s->varargs || e->places->result.indirect ||
        !(s->language == SOURCE_CXX || (s->language == SOURCE_C && s->prototyped)))
        return false;
    for (size_t i = 0; i < s->count; i++)
        if (may_hold(&e->places->parameters[i], piece))
            return false;
    return true;
}

static int take_register(const struct evaluator *e, const struct spec_node *n, struct access *ret) {
    struct types *types = e->request->types;
    struct abi_piece piece;
    if (n->op != SPEC_REGISTER)
        piece = name_argument(e->request->abi, (unsigned)n->number, n->op == SPEC_FLOAT);
    else if (!name_register(e->request->abi, n->name, &piece))
        return fail(e, n, "this machine has no register of this name");
    bool is_float = piece.from == FROM_VECTOR || n->op == SPEC_FLOAT;
    type_id type =
        is_float ? name_float(types, 8) : name_integer(types, abi_word(e->request->abi), true);
    if (n->op != SPEC_REGISTER && is_no_parameter(e, &piece)) {
        begin_at(e, &(struct abi_place){.missing = VALUE_UNTYPED}, type, ret);
        return 0;
    }
    return take_piece(e, piece, type, ret);
}

/* The first of Go's. */
static bool take_first_result(const struct evaluator *e, struct access *ret) {
    const struct signature *s = e->request->signature;
    for (size_t i = 0; s && i < s->count; i++)
        if (s->parameters[i].flags & PARAMETER_RESULT) {
            begin_at(e, &e->places->parameters[i], s->parameters[i].type, ret);
            return true;
        }
    return false;
}

static int take_result(const struct evaluator *e, struct access *ret) {
    const struct signature *s = e->request->signature;
    unsigned word = abi_word(e->request->abi);
    if (take_first_result(e, ret))
        return 0;
    if (s && s->result) {
        begin_at(e, &e->places->result, s->result, ret);
        return 0;
    }
    struct abi_piece piece = {.from = FROM_REGISTER, .bytes = word}; /* rax, x0, r0: all are 0 */
    return take_piece(e, piece, name_integer(e->request->types, word, true), ret);
}

/* ---- steps ---- */

static int follow(const struct evaluator *e, const struct spec_node *n, type_id to,
                  struct access *a) {
    if (a->kind == ACCESS_MISSING)
        a->type = to;
    else if (!access_follow(&e->context, a, to))
        return fail(e, n, "this is too many pointers away");
    return 0;
}

static int step_pointer(const struct evaluator *e, const struct spec_node *n, struct access *a) {
    const struct type *t = shape_get(e->request->types, a->type);
    if (a->address) {
        a->address = false;
        a->type = t->of;
        return 0;
    }
    if (t && t->kind == TYPE_ARRAY) {
        access_enter(a, 0, t->of);
        return 0;
    }
    if (!t || t->kind != TYPE_POINTER || (t->flags & TYPE_MEMBER_POINTER))
        return fail(e, n, "this is no pointer");
    if (!shape_get(e->request->types, t->of))
        return fail(e, n, "what this points to has no known type");
    return follow(e, n, t->of, a);
}

static int step_index(const struct evaluator *e, const struct spec_node *n, struct access *a) {
    const struct type *t = shape_get(e->request->types, a->type);
    bool array = t && t->kind == TYPE_ARRAY && !a->address;
    if (array && t->elements && (n->number < 0 || (uint64_t)n->number >= t->elements))
        return fail(e, n, "the array has no such element");
    int status = step_pointer(e, n, a);
    uint64_t bytes = shape_bytes(e->request->types, a->type);
    if (status < 0)
        return status;
    if (!bytes || n->number > INT32_MAX || n->number < INT32_MIN)
        return fail(e, n, "the size of an element is not known");
    access_enter(a, n->number * (int64_t)bytes, a->type);
    return 0;
}

/* From what is before "." or "->" to the object that has the member. */
static int step_object(const struct evaluator *e, const struct spec_node *n, struct access *a) {
    const struct type *t = shape_get(e->request->types, a->type);
    bool pointer = t && t->kind == TYPE_POINTER && !(t->flags & TYPE_REFERENCE);
    if (n->op == SPEC_MEMBER && pointer)
        return fail(e, n, "\".\" is behind a pointer: use \"->\"");
    if (t && !pointer && !a->address && has_no_members(t))
        return fail_type(e, n, a->type, "has no members");
    if (n->op == SPEC_ARROW && !pointer && !a->address)
        return fail(e, n, "\"->\" is not behind a pointer: use \".\"");
    int status = n->op == SPEC_ARROW ? step_pointer(e, n, a) : 0;
    if (status == 0 && !see_through(e, a))
        status = fail(e, n, "this is too many pointers away");
    return status;
}

static bool is_number_of_kind(const struct type *t, bool is_float) {
    return (t->kind == TYPE_FLOAT) == is_float && !shape_is_composite(t);
}

static int step_cast(const struct evaluator *e, const struct spec_node *n, struct access *a) {
    struct types *types = e->request->types;
    type_id to = name_type(types, n->name, e->context.word);
    const struct type *new = shape_get(types, to), *old = shape_get(types, a->type);
    if (!new)
        return fail(e, n, "no type of this name is known");
    if (!old || a->bits || a->address || !is_number_of_kind(new, old->kind == TYPE_FLOAT) ||
        shape_is_composite(old) || shape_bytes(types, to) > shape_bytes(types, a->type))
        return fail(e, n, "a cast only gives an integer or pointer another type, not a wider one");
    a->type = to;
    return 0;
}

static int step_address(const struct evaluator *e, const struct spec_node *n, struct access *a) {
    struct capture_value unused;
    if (a->kind != ACCESS_MISSING && (a->address || !access_address(a, &unused)))
        return fail(e, n,
                    a->bits ? "a bit field has no address"
                            : "this has no address: it is in a register");
    a->address = true;
    a->type = name_pointer(e->request->types, a->type, e->context.word);
    return 0;
}

static int evaluate_before(const struct evaluator *e, const struct spec_node *n,
                           struct access *ret) {
    int status = evaluate(e, n->of, ret);
    if (status == 0 && n->op != SPEC_ADDRESS && !see_through(e, ret))
        status = fail(e, n, "this is too many pointers away");
    return status;
}

int evaluate_object(const struct evaluator *e, const struct spec_node *n, struct access *ret) {
    int status = evaluate_before(e, n, ret);
    return status < 0 ? status : step_object(e, n, ret);
}

int evaluate(const struct evaluator *e, const struct spec_node *n, struct access *ret) {
    if (e->object && !n->of) {
        *ret = *e->object;
        return enter_member(e, n, ret);
    }
    if (n->op == SPEC_RESULT)
        return take_result(e, ret);
    if (n->op == SPEC_NAME)
        return take_parameter(e, n, ret);
    if (n->op == SPEC_INTEGER || n->op == SPEC_FLOAT || n->op == SPEC_REGISTER)
        return take_register(e, n, ret);
    int status = evaluate_before(e, n, ret);
    if (status < 0)
        return status;
    switch (n->op) {
    case SPEC_MEMBER:
    case SPEC_ARROW:
        status = step_object(e, n, ret);
        return status < 0 ? status : enter_member(e, n, ret);
    case SPEC_INDEX:
        return step_index(e, n, ret);
    case SPEC_DEREF:
        return step_pointer(e, n, ret);
    case SPEC_CAST:
        return step_cast(e, n, ret);
    default:
        return see_through(e, ret) ? step_address(e, n, ret) : -EINVAL;
    }
}
