/* Types as fields of a record. */
#include "trace/type_table.h"

#include <stdlib.h>

#include "base/mem.h"
#include "trace/varint.h"

enum { MOST_TYPES = 1 << 22, MOST_MEMBERS = 1 << 16 };

static const char *text_of(struct fields *f) {
    const char *text = fields_text(f);
    return text ? text : "";
}

static void put_signed(struct bytes *b, int64_t value) { bytes_put_varint(b, zigzag(value)); }

static void put_type(struct bytes *b, const struct type *t) {
    bytes_put_varint(b, t->kind);
    bytes_put_string(b, t->name);
    bytes_put_varint(b, t->bytes);
    bytes_put_varint(b, t->flags);
    bytes_put_varint(b, t->of);
    bytes_put_varint(b, t->elements);
    bytes_put_varint(b, t->members || t->values ? t->count : 0);
    for (uint32_t i = 0; t->members && i < t->count; i++) {
        bytes_put_string(b, t->members[i].name);
        bytes_put_varint(b, t->members[i].type);
        bytes_put_varint(b, t->members[i].bit_offset);
        bytes_put_varint(b, t->members[i].bit_size);
        bytes_put_varint(b, t->members[i].flags);
        put_signed(b, t->members[i].value);
    }
    for (uint32_t i = 0; !t->members && t->values && i < t->count; i++) {
        bytes_put_string(b, t->values[i].name);
        put_signed(b, t->values[i].value);
    }
}

void type_table_put(struct bytes *ret, struct types *graph, type_id first, type_id end) {
    bytes_put_varint(ret, first);
    bytes_put_varint(ret, end - first);
    for (type_id id = first; id < end; id++)
        put_type(ret, types_get(graph, id));
}

/* Numbers for types that are mentioned before they come. */
static type_id reserved(struct types *graph, uint32_t id) {
    if (id >= MOST_TYPES)
        return 0;
    while (types_count(graph) <= id)
        types_reserve(graph, NULL, 0);
    return id;
}

static void load_member(struct fields *f, struct types *graph, struct type_member *m) {
    m->name = text_of(f);
    m->type = reserved(graph, fields_bounded(f, MOST_TYPES));
    m->bit_offset = fields_number(f);
    m->bit_size = fields_bounded(f, UINT32_MAX);
    m->flags = fields_bounded(f, UINT32_MAX);
    m->value = fields_signed(f);
}

static bool load_type(struct fields *f, struct types *graph, type_id id) {
    struct type t = {.kind = fields_bounded(f, TYPE_STRING)};
    t.name = text_of(f);
    t.bytes = fields_number(f);
    t.flags = fields_bounded(f, UINT32_MAX);
    t.of = reserved(graph, fields_bounded(f, MOST_TYPES));
    t.elements = fields_number(f);
    t.count = fields_bounded(f, MOST_MEMBERS);
    if (f->bad || t.count > (size_t)(f->end - f->at))
        return false;
    bool values = t.kind == TYPE_ENUM;
    AUTO_FREE struct type_member *members = mem_alloc((values ? 0 : t.count) * sizeof *members);
    AUTO_FREE struct type_value *enumerators =
        mem_alloc((values ? t.count : 0) * sizeof *enumerators);
    for (uint32_t i = 0; i < t.count && !f->bad; i++) {
        if (!values) {
            load_member(f, graph, &members[i]);
            continue;
        }
        enumerators[i].name = text_of(f);
        enumerators[i].value = fields_signed(f);
    }
    t.members = values || !t.count ? NULL : members;
    t.values = values && t.count ? enumerators : NULL;
    if (!f->bad && reserved(graph, id) == id && types_get(graph, id)->kind == TYPE_UNKNOWN)
        types_set(graph, id, &t);
    return !f->bad;
}

bool type_table_load(struct fields *f, struct types *graph) {
    uint32_t first = fields_bounded(f, MOST_TYPES), count = fields_bounded(f, MOST_TYPES);
    for (uint32_t i = 0; i < count && !f->bad; i++)
        if (first == 0 || first + i >= MOST_TYPES || !load_type(f, graph, first + i))
            return false;
    return !f->bad;
}
