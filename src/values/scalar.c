/* Scalars as text and JSON. Integers beyond ±2^53, NaN and infinities are strings in JSON. */
#include "values/scalar.h"

#include <stdio.h>

#include "values/image.h"
#include "values/shape.h"

struct number { /* of at most 16 bytes */
    uint64_t low, high;
    bool is_signed;
};

static struct number number_of(const struct scalar *s, bool is_signed) {
    struct number n = {.is_signed = is_signed};
    uint64_t size = s->size;
    memcpy(&n.low, s->bytes, size < 8 ? size : 8);
    if (size > 8)
        memcpy(&n.high, s->bytes + 8, size - 8 < 8 ? size - 8 : 8);
    unsigned bits = s->bits ? s->bits : (unsigned)size * 8;
    if (bits < 64 && is_signed && n.low >> (bits - 1) & 1)
        n.low |= UINT64_MAX << bits;
    if (bits <= 64 && is_signed && n.low >> 63)
        n.high = UINT64_MAX;
    return n;
}

static bool is_exact_in_json(const struct number *n) {
    uint64_t most = UINT64_C(1) << 53;
    if (n->is_signed && n->high == UINT64_MAX)
        return -n->low <= most && n->low;
    return n->high == 0 && n->low <= most;
}

static void write_number(const struct number *n, bool json, struct words *out) {
    bool quoted = json && !is_exact_in_json(n);
    if (quoted)
        words_char(out, '"');
    words_integer(out, n->low, n->high, n->is_signed);
    if (quoted)
        words_char(out, '"');
}

/* ---- characters ---- */

static void write_character(const struct number *n, uint64_t size, bool json, struct words *out) {
    uint32_t c = (uint32_t)n->low;
    if (size == 1)
        c &= 0xff;
    if (!json && size == 1 && c >= 0x80) {
        words_printf(out, "'\\%03o'", c);
    } else if (!json) {
        words_quote_char(out, c);
    } else if (size == 1) {
        uint8_t byte = (uint8_t)c;
        words_json(out, &byte, 1, 1);
    } else {
        words_json(out, (const uint8_t *)&c, sizeof c, sizeof c);
    }
}

/* ---- enums ---- */

/* A name that a foreign file has chosen. */
static void write_name(const char *name, bool json, struct words *out) {
    struct words quoted = {0};
    (json ? words_json : words_quote)(&quoted, (const uint8_t *)name, strlen(name), 1);
    if (quoted.count && quoted.at[0] == '"')
        words_add_bytes(out, quoted.at + 1, quoted.count - 2);
    words_done(&quoted);
}

static const char *enumerator(const struct type *t, int64_t value) {
    const struct type_value *values = t->values;
    for (uint32_t i = 0; i < t->count; i++)
        if (values[i].value == value)
            return values[i].name;
    return NULL;
}

/* True if all enumerators are single bits, or masks of those. At least two bits have a name. */
static bool has_flags(const struct type *t) {
    const struct type_value *values = t->values;
    uint64_t single = 0, all = 0;
    unsigned bits = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        uint64_t v = (uint64_t)values[i].value;
        all |= v;
        if (!v || (v & (v - 1)))
            continue;
        bits += !(single & v);
        single |= v;
    }
    return bits >= 2 && all == single;
}

static bool write_flags(const struct type *t, uint64_t value, bool json, struct words *out) {
    const struct type_value *values = t->values;
    bool first = true;
    if (!value || !has_flags(t))
        return false;
    for (uint32_t i = 0; i < t->count; i++) {
        uint64_t v = (uint64_t)values[i].value;
        if (!v || (v & (v - 1)) || !(value & v))
            continue;
        words_add(out, first ? "" : "|");
        write_name(values[i].name, json, out);
        value &= ~v;
        first = false;
    }
    if (first)
        return false;
    if (value)
        words_printf(out, "|0x%jx", (uintmax_t)value);
    return true;
}

static void write_enum(const struct type *t, const struct number *n, bool json, struct words *out) {
    const char *name = enumerator(t, (int64_t)n->low);
    size_t before = out->count;
    words_add(out, json ? "\"" : "");
    if (name) {
        write_name(name, json, out);
    } else if (!write_flags(t, n->low, json, out)) {
        out->count = before;
        write_number(n, json, out);
        return;
    }
    words_add(out, json ? "\"" : "");
}

/* ---- the others ---- */

static void write_pointer(const struct printer *p, const struct type *t, uint64_t address,
                          bool json, struct words *out) {
    const struct type *of = shape_get(p->types, t->of);
    const char *name = NULL;
    if (of && of->kind == TYPE_FUNCTION && address && p->function_at)
        name = p->function_at(p->ctx, address);
    if (name && json)
        words_json_text(out, name);
    else if (name)
        words_add(out, name);
    else
        words_printf(out, json ? "\"0x%jx\"" : "0x%jx", (uintmax_t)address);
}

static void write_one_float(const uint8_t *bytes, unsigned size, bool x87, bool json,
                            struct words *out) {
    size_t before = out->count;
    words_float(out, bytes, x87 ? 10 : size,
                x87          ? FLOAT_X87
                : size == 16 ? FLOAT_QUAD
                             : FLOAT_IEEE);
    char last = out->at[out->count - 1];
    if (!json || (last >= '0' && last <= '9'))
        return;
    words_char(out, '"'); /* nan, inf */
    memmove(out->at + before + 1, out->at + before, out->count - before - 1);
    out->at[before] = '"';
    words_char(out, '"');
}

static void write_float(const struct printer *p, const struct type *t, const struct scalar *s,
                        bool json, struct words *out) {
    bool complex = t->flags & TYPE_COMPLEX;
    unsigned size = (unsigned)s->size / (complex ? 2 : 1);
    bool x87 = size >= 10 && !p->quads && !shape_is_quad(t);
    if (complex && json)
        words_char(out, '[');
    write_one_float(s->bytes, size, x87, json, out);
    if (!complex)
        return;
    words_add(out, json ? "," : " + ");
    write_one_float(s->bytes + size, size, x87, json, out);
    words_char(out, json ? ']' : 'i');
}

/* As the user has asked for. */
static void write_format(const struct scalar *s, bool json, struct words *out) {
    struct number n = number_of(s, s->format == 'd');
    if (s->format == 'd' || s->format == 'u')
        write_number(&n, json, out);
    else if (s->format == 'c')
        write_character(&n, 1, json, out);
    else if (s->format == 'o')
        words_printf(out, json ? "\"0%jo\"" : "0%jo", (uintmax_t)n.low);
    else
        words_printf(out, json ? "\"0x%jx\"" : "0x%jx", (uintmax_t)n.low);
}

static void write_integer(const struct printer *p, const struct scalar *s, bool json,
                          struct words *out) {
    const struct type *t = shape_get(p->types, s->type);
    struct number n = number_of(s, t->flags & TYPE_SIGNED);
    if ((t->flags & TYPE_BOOLEAN) && n.high == 0 && n.low <= 1)
        words_add(out, n.low ? "true" : "false");
    else if (!s->bits && shape_character(p->types, s->type))
        write_character(&n, s->size, json, out);
    else
        write_number(&n, json, out);
}

static bool enum_is_signed(struct types *types, const struct type *t) {
    const struct type *of = shape_get(types, t->of);
    return (t->flags | (of ? of->flags : 0)) & TYPE_SIGNED;
}

void scalar_write(const struct printer *p, const struct scalar *s, bool json, struct words *out) {
    const struct type *t = shape_get(p->types, s->type);
    struct number n = number_of(s, false);
    if (s->size > 32 || (s->size > 16 && t->kind != TYPE_FLOAT)) {
        words_add(out, json ? "null" : "?");
    } else if (t->kind == TYPE_FLOAT && !s->bits) {
        write_float(p, t, s, json, out);
    } else if (s->format) {
        write_format(s, json, out);
    } else if (t->kind == TYPE_ENUM) {
        n = number_of(s, enum_is_signed(p->types, t));
        write_enum(t, &n, json, out);
    } else if (t->kind == TYPE_POINTER) {
        write_pointer(p, t, n.low, json, out);
    } else {
        write_integer(p, s, json, out);
    }
}
