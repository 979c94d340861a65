/* Types as JSON: an object for each, which names others as C spells them. */
#include <inttypes.h>
#include <stdio.h>

#include "cmd/ctf.h"
#include "cmd/json.h"

static const char *const kinds[] = {
    [TYPE_UNKNOWN] = "unknown", [TYPE_INTEGER] = "integer",     [TYPE_FLOAT] = "float",
    [TYPE_POINTER] = "pointer", [TYPE_ARRAY] = "array",         [TYPE_STRUCT] = "struct",
    [TYPE_UNION] = "union",     [TYPE_ENUM] = "enum",           [TYPE_TYPEDEF] = "typedef",
    [TYPE_FORWARD] = "forward", [TYPE_QUALIFIER] = "qualifier", [TYPE_FUNCTION] = "function",
    [TYPE_STRING] = "string"};

static void print_spelling(struct types *graph, type_id id) {
    AUTO_FREE char *text = types_spell(graph, id);
    json_print_string(stdout, text);
}

static void print_members(struct types *graph, const struct type *t) {
    for (uint32_t i = 0; i < t->count; i++) {
        const struct type_member *m = &t->members[i];
        fputs(i ? ", {\"name\": " : "{\"name\": ", stdout);
        json_print_string(stdout, m->name);
        fputs(", \"type\": ", stdout);
        print_spelling(graph, m->type);
        if (t->kind != TYPE_FUNCTION)
            printf(", \"bit_offset\": %ju", (uintmax_t)m->bit_offset);
        if (m->bit_size)
            printf(", \"bits\": %u", m->bit_size);
        putchar('}');
    }
}

static void print_values(const struct type *t) {
    for (uint32_t i = 0; i < t->count; i++) {
        fputs(i ? ", {\"name\": " : "{\"name\": ", stdout);
        json_print_string(stdout, t->values[i].name);
        printf(", \"value\": %jd}", (intmax_t)t->values[i].value);
    }
}

static void print_parts(struct types *graph, const struct type *t) {
    if (t->of || t->kind == TYPE_FUNCTION || t->kind == TYPE_POINTER) {
        fputs(", \"of\": ", stdout);
        print_spelling(graph, t->of);
    }
    if (t->kind == TYPE_ARRAY)
        printf(", \"elements\": %ju", (uintmax_t)t->elements);
    if (t->kind == TYPE_FUNCTION)
        printf(", \"varargs\": %s", t->flags & TYPE_VARARGS ? "true" : "false");
    if (t->kind == TYPE_ENUM) {
        fputs(", \"values\": [", stdout);
        print_values(t);
        putchar(']');
    } else if (t->kind == TYPE_STRUCT || t->kind == TYPE_UNION || t->kind == TYPE_FUNCTION) {
        printf(", \"%s\": [", t->kind == TYPE_FUNCTION ? "parameters" : "members");
        print_members(graph, t);
        putchar(']');
    }
}

static const char *between(bool first) { return first ? "[\n" : ",\n"; }

void ctf_print_json(struct types *graph, type_id id, bool first) {
    const struct type *t = types_get(graph, id);
    fputs(between(first), stdout);
    printf("{\"kind\": \"%s\", \"name\": ", kinds[t->kind]);
    json_print_string(stdout, t->name);
    fputs(", \"spelling\": ", stdout);
    print_spelling(graph, id);
    printf(", \"size\": %ju", (uintmax_t)types_bytes(graph, id));
    if (t->kind == TYPE_INTEGER)
        printf(", \"signed\": %s", t->flags & TYPE_SIGNED ? "true" : "false");
    print_parts(graph, t);
    putchar('}');
}

void ctf_print_json_symbol(struct types *graph, const struct type_symbol *s, bool first) {
    fputs(between(first), stdout);
    printf("{\"kind\": \"symbol\", \"name\": ");
    json_print_string(stdout, s->name);
    printf(", \"function\": %s, \"type\": ", s->function ? "true" : "false");
    print_spelling(graph, s->type);
    putchar('}');
}

void ctf_print_json_end(bool none) { puts(none ? "[]" : "\n]"); }
