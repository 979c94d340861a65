/* Finds conditions that no call can meet, as stubs record nothing of what they compare; and names
 * that are no enumerators. */
#include "values/condition_node.h"
#include "values/meant.h"

/* What would be recorded if all of CAPTURE can be read: zeros, and empty texts. To be freed. */
static struct captured *readable(const struct capture *capture) {
    static const uint8_t zeros[CAPTURE_MOST_BYTES];
    struct captured *all = mem_alloc((capture->count + 1) * sizeof *all);
    for (size_t i = 0; i < capture->count; i++) {
        const struct capture_value *v = &capture->values[i];
        const bool nothing = v->from == FROM_NOTHING;
        const uint32_t length = v->bytes < sizeof zeros ? v->bytes : sizeof zeros;
        all[i] = (struct captured){.missing = nothing ? v->missing : VALUE_THERE,
                                   .bytes = zeros,
                                   .length = nothing ? 0 : length};
    }
    return all;
}

/* Sets the KNOWN of the operands that CAPTURE can give a value. */
static void find_known(const struct condition *c, struct types *types,
                       const struct capture *capture, bool *known) {
    const size_t count = condition_operand_count(c);
    AUTO_FREE struct operand_reader *readers = mem_alloc((count + 1) * sizeof *readers);
    AUTO_FREE struct plain_value *values = mem_alloc((count + 1) * sizeof *values);
    AUTO_FREE struct captured *captured = readable(capture);
    condition_bind(c, types, capture, readers);
    condition_read(c, readers, capture, captured, values);
    for (size_t i = 0; i < count; i++)
        known[i] |= values[i].kind != PLAIN_NOTHING;
}

/* A comparison with an unknown value is neither true nor false; others may be both. */
static bool may_be(const struct condition_node *n, const bool *known, bool wanted) {
    if (n->op == CONDITION_NOT)
        return may_be(n->left, known, !wanted);
    if (!condition_compares(n)) {
        const bool left = may_be(n->left, known, wanted), right = may_be(n->right, known, wanted);
        return (n->op == CONDITION_AND) == wanted ? left && right : left || right;
    }
    for (int i = 0; i < 2; i++)
        if (n->values[i].is_expression && !known[n->values[i].number])
            return false;
    return true;
}

const char *condition_never_known(const struct condition *c, struct types *types,
                                  const struct capture *captures, size_t count) {
    AUTO_FREE bool *known = mem_alloc(condition_operand_count(c) + 1);
    struct condition_operand o;
    for (size_t i = 0; i < count; i++)
        find_known(c, types, &captures[i], known);
    if (may_be(c->root, known, true))
        return NULL;
    for (size_t i = 0; condition_operand(c, i, &o); i++)
        if (!known[i])
            return o.text;
    return NULL;
}

/* ---- enumerators ---- */

/* The enum of the value that operand I is compared with, or NULL. */
static const struct type *enum_beside(const struct condition_node *n, size_t i,
                                      const struct operand_reader *readers) {
    if (!condition_compares(n)) {
        const struct type *left = enum_beside(n->left, i, readers);
        return left || !n->right ? left : enum_beside(n->right, i, readers);
    }
    for (int k = 0; k < 2; k++) {
        const struct compared *own = &n->values[k], *other = &n->values[1 - k];
        if (own->is_expression && own->number == i && other->is_expression &&
            readers[other->number].place == READER_RECORDED)
            return readers[other->number].reader.as_enum;
    }
    return NULL;
}

static void set_misnamed(const struct condition_operand *o, const struct type *type,
                         struct err *err) {
    AUTO_FREE char *what =
        mem_printf("%s has no enumerator of this name", *type->name ? type->name : "the enum");
    struct meant meant;
    meant_begin(&meant, o->node->name);
    for (uint32_t i = 0; i < type->count; i++)
        meant_consider(&meant, type->values[i].name);
    meant_fail(&meant, err, o->text, 0, what);
}

bool condition_misnames(const struct condition *c, size_t i, struct types *types,
                        const struct capture *capture, struct err *err) {
    const size_t operands = condition_operand_count(c);
    AUTO_FREE struct operand_reader *readers = mem_alloc((operands + 1) * sizeof *readers);
    struct condition_operand o;
    if (!condition_operand(c, i, &o) || o.node->op != SPEC_NAME)
        return false;
    condition_bind(c, types, capture, readers);
    const struct type *type = enum_beside(c->root, i, readers);
    if (type)
        set_misnamed(&o, type, err);
    return type != NULL;
}
