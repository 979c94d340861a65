/*
 * Writes a CTF dictionary. Types that are equal are written once: each is described in text by its
 * kind, name, members, and the numbers of the types that it refers to (of members of structs with
 * a name: by their spelling, since they may lead back to the struct).
 */
#include <errno.h>
#include <stdio.h>

#include "types/ctf.h"
#include "types/ctf_bytes.h"
#include "types/ctf_format.h"

enum { DEEPEST = 200 };

struct record {
    size_t start, end; /* within `bytes` */
};

struct waiting {
    type_id id;
    uint32_t number;
};

struct writer {
    struct types *graph;
    struct ctf_bytes bytes;        /* of records, in any order */
    ARRAY(struct record) records;  /* by number, from 1 */
    ARRAY(struct waiting) structs; /* have numbers, but no records yet */
    struct ctf_words words;        /* strings; numbers by text */
    uint32_t *numbers;             /* by the graph's; 0: not known yet */
    size_t number_count;
    unsigned depth;
    bool full;
};

static uint32_t number_of(struct writer *w, type_id id);

/* ---- records ---- */

/* Whether this is the first type of its name in the name space of KIND; only that can be found. */
static bool is_root(struct writer *w, enum ctf_kind kind, const char *name) {
    if (!*name)
        return true;
    char space = kind == CTF_STRUCT || kind == CTF_FORWARD ? 's'
                 : kind == CTF_UNION                       ? 'u'
                 : kind == CTF_ENUM                        ? 'e'
                                                           : 't';
    AUTO_FREE char *key = mem_printf("root %c %s", space, name);
    uint32_t *seen = ctf_number(&w->words, key);
    return !(*seen)++;
}

/* Begins the record NUMBER; no other may begin before end(). */
static void head(struct writer *w, uint32_t number, enum ctf_kind kind, uint32_t parts,
                 const char *name) {
    bool root = kind != CTF_SLICE && is_root(w, kind, name);
    w->records.at[number - 1].start = w->bytes.size;
    ctf_put(&w->bytes, ctf_name(&w->words, name));
    ctf_put(&w->bytes, (uint32_t)kind << 26 | (root ? CTF_ROOT : 0) | parts);
    w->full |= parts > CTF_MOST_PARTS;
}

static uint32_t end(struct writer *w, uint32_t number) {
    w->records.at[number - 1].end = w->bytes.size;
    return number;
}

static void size_word(struct writer *w, uint64_t size) {
    if (size < UINT32_MAX) {
        ctf_put(&w->bytes, (uint32_t)size);
        return;
    }
    ctf_put(&w->bytes, (uint32_t)CTF_SIZE_LARGE);
    ctf_put(&w->bytes, (uint32_t)(size >> 32));
    ctf_put(&w->bytes, (uint32_t)size);
}

/* The number of the record that is described by KEY; 0: *RET_NEW is one that is to be written now.
 */
static uint32_t known(struct writer *w, const char *key, uint32_t *ret_new) {
    uint32_t *number = ctf_number(&w->words, key);
    if (*number)
        return *number;
    ARRAY_PUSH(&w->records, (struct record){0});
    w->full |= w->records.count > CTF_MOST_TYPES;
    *ret_new = *number = (uint32_t)w->records.count;
    return 0;
}

static uint32_t write_unknown(struct writer *w, const struct type *t) {
    AUTO_FREE char *key = mem_printf("unknown %s", t->name);
    uint32_t number, old = known(w, key, &number);
    if (old)
        return old;
    head(w, number, CTF_UNKNOWN, 0, t->name);
    size_word(w, 0);
    return end(w, number);
}

static uint32_t encoding_of(const struct type *t) {
    if (t->kind == TYPE_INTEGER)
        return (t->flags & TYPE_SIGNED ? CTF_SIGNED : 0u) |
               (t->flags & TYPE_BOOLEAN ? CTF_BOOL : 0u) |
               (t->flags & TYPE_CHARACTER ? CTF_CHAR : 0u);
    if (t->flags & TYPE_COMPLEX)
        return t->bytes <= 8 ? CTF_COMPLEX : t->bytes <= 16 ? CTF_DOUBLE_COMPLEX : CTF_LONG_COMPLEX;
    return t->bytes <= 4 ? CTF_SINGLE : t->bytes <= 8 ? CTF_DOUBLE : CTF_LONG_DOUBLE;
}

static uint32_t write_number(struct writer *w, const struct type *t) {
    bool has_form = !(t->flags & (TYPE_DECIMAL | (t->kind == TYPE_INTEGER ? TYPE_COMPLEX : 0u)));
    if (!has_form)
        return write_unknown(w, t);
    enum ctf_kind kind = t->kind == TYPE_INTEGER ? CTF_INTEGER : CTF_FLOAT;
    AUTO_FREE char *key =
        mem_printf("%d %s %llu %u", kind, t->name, (unsigned long long)t->bytes, encoding_of(t));
    uint32_t number, old = known(w, key, &number);
    if (old)
        return old;
    head(w, number, kind, 0, t->name);
    size_word(w, t->bytes);
    ctf_put(&w->bytes, encoding_of(t) << 24 | (uint32_t)(t->bytes * 8 & 0xffff));
    return end(w, number);
}

/* A record whose last word is a type: NAME, KIND and the number OF tell it. */
static uint32_t write_reference(struct writer *w, enum ctf_kind kind, const char *name,
                                uint32_t of) {
    AUTO_FREE char *key = mem_printf("%d %s %u", kind, name, of);
    uint32_t number, old = known(w, key, &number);
    if (old)
        return old;
    head(w, number, kind, 0, name);
    ctf_put(&w->bytes, of);
    return end(w, number);
}

static uint32_t write_qualifier(struct writer *w, const struct type *t, uint32_t of) {
    if (t->flags & TYPE_VOLATILE)
        of = write_reference(w, CTF_VOLATILE, "", of);
    if (t->flags & TYPE_CONST)
        of = write_reference(w, CTF_CONST, "", of);
    if (t->flags & TYPE_RESTRICT)
        of = write_reference(w, CTF_RESTRICT, "", of);
    return of;
}

/* An array's index is counted by it. */
static uint32_t index_type(struct writer *w) {
    return write_number(
        w, &(struct type){.kind = TYPE_INTEGER, .name = "long unsigned int", .bytes = 8});
}

static uint32_t write_array(struct writer *w, const struct type *t) {
    uint32_t of = number_of(w, t->of), index = index_type(w);
    uint32_t elements = t->elements > UINT32_MAX ? 0 : (uint32_t)t->elements;
    if (t->flags & TYPE_VECTOR)
        return write_unknown(w, t);
    AUTO_FREE char *key = mem_printf("array %u %u", of, elements);
    uint32_t number, old = known(w, key, &number);
    if (old)
        return old;
    head(w, number, CTF_ARRAY, 0, "");
    size_word(w, 0);
    ctf_put(&w->bytes, of);
    ctf_put(&w->bytes, index);
    ctf_put(&w->bytes, elements);
    return end(w, number);
}

static uint32_t write_function(struct writer *w, const struct type *t) {
    struct ctf_bytes parameters = {0}, key = {0};
    uint32_t result = number_of(w, t->of), number;
    ctf_bytes_printf(&key, "function %u", result);
    for (uint32_t i = 0; i < t->count; i++) {
        ctf_put(&parameters, number_of(w, t->members[i].type));
    }
    if (t->flags & TYPE_VARARGS)
        ctf_put(&parameters, 0);
    size_t count = parameters.size / 4;
    for (size_t i = 0; i < count; i++)
        ctf_bytes_printf(&key, " %u", ((uint32_t *)parameters.at)[i]);
    uint32_t old = known(w, ctf_bytes_text(&key), &number);
    if (!old) {
        head(w, number, CTF_FUNCTION, (uint32_t)count, "");
        ctf_put(&w->bytes, result);
        if (count & 1)
            ctf_put(&parameters, 0);
        ctf_append(&w->bytes, &parameters);
        end(w, number);
    }
    ctf_bytes_done(&parameters);
    ctf_bytes_done(&key);
    return old ? old : number;
}

/* ---- enums ---- */

static bool fits(const struct type_value *v) {
    return v->value >= INT32_MIN && v->value <= (int64_t)UINT32_MAX;
}

static uint32_t write_enum(struct writer *w, const struct type *t) {
    struct ctf_bytes key = {0}, values = {0};
    uint32_t number;
    ctf_bytes_printf(&key, "enum %s %llu", t->name, (unsigned long long)t->bytes);
    for (uint32_t i = 0; i < t->count; i++)
        if (fits(&t->values[i])) {
            ctf_bytes_printf(&key, " %s=%lld", t->values[i].name, (long long)t->values[i].value);
            ctf_put(&values, ctf_name(&w->words, t->values[i].name));
            ctf_put(&values, (uint32_t)t->values[i].value);
        }
    uint32_t old = known(w, ctf_bytes_text(&key), &number);
    if (!old) {
        head(w, number, CTF_ENUM, (uint32_t)(values.size / 8), t->name);
        size_word(w, t->bytes);
        ctf_append(&w->bytes, &values);
        end(w, number);
    }
    ctf_bytes_done(&key);
    ctf_bytes_done(&values);
    return old ? old : number;
}

/* ---- structs and unions ---- */

static bool is_written(const struct type_member *m) { return !(m->flags & MEMBER_VIRTUAL); }

static uint32_t slice_of(struct writer *w, uint32_t type, uint32_t bits) {
    AUTO_FREE char *key = mem_printf("slice %u %u", type, bits);
    uint32_t number, size = 1, old = known(w, key, &number);
    if (old)
        return old;
    while (size * 8 < bits)
        size *= 2;
    head(w, number, CTF_SLICE, 0, "");
    size_word(w, size);
    ctf_put(&w->bytes, type);
    ctf_put(&w->bytes, bits << 16);
    return end(w, number);
}

static uint32_t member_number(struct writer *w, const struct type_member *m) {
    uint32_t type = number_of(w, m->type);
    return m->bit_size && type ? slice_of(w, type, m->bit_size) : type;
}

/* What makes the struct different from others of its name. */
static char *struct_key(struct writer *w, const struct type *t) {
    struct ctf_bytes key = {0};
    ctf_bytes_printf(&key, "%s %s %llu", t->kind == TYPE_UNION ? "union" : "struct", t->name,
                     (unsigned long long)t->bytes);
    for (uint32_t i = 0; i < t->count; i++) {
        const struct type_member *m = &t->members[i];
        ctf_bytes_printf(&key, " %s@%llu:%u", m->name, (unsigned long long)m->bit_offset,
                         m->bit_size);
        AUTO_FREE char *spelling = *t->name ? types_spell(w->graph, m->type) : NULL;
        if (spelling)
            ctf_bytes_printf(&key, " %s", spelling);
        else
            ctf_bytes_printf(&key, " %u", number_of(w, m->type));
    }
    return ctf_bytes_text(&key);
}

static void put_member(struct writer *w, struct ctf_bytes *to, const struct type_member *m,
                       bool large) {
    ctf_put(to, ctf_name(&w->words, m->flags & MEMBER_BASE ? "" : m->name));
    ctf_put(to, (uint32_t)(large ? m->bit_offset >> 32 : m->bit_offset));
    ctf_put(to, member_number(w, m));
    if (large)
        ctf_put(to, (uint32_t)m->bit_offset);
}

/* Its record comes later, since its members may lead back to it. */
static uint32_t write_struct(struct writer *w, type_id id, const struct type *t) {
    AUTO_FREE char *key = struct_key(w, t);
    uint32_t number, old = known(w, key, &number);
    if (!old)
        ARRAY_PUSH(&w->structs, ((struct waiting){id, number}));
    return old ? old : number;
}

static void write_members(struct writer *w, const struct waiting *s) {
    const struct type *t = types_get(w->graph, s->id);
    bool large = t->bytes >= CTF_LARGE_STRUCT;
    struct ctf_bytes members = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (is_written(&t->members[i])) {
            put_member(w, &members, &t->members[i], large);
            count++;
        }
    head(w, s->number, t->kind == TYPE_UNION ? CTF_UNION : CTF_STRUCT, count, t->name);
    size_word(w, t->bytes);
    ctf_append(&w->bytes, &members);
    end(w, s->number);
    ctf_bytes_done(&members);
}

static void write_waiting(struct writer *w) {
    while (w->structs.count) {
        struct waiting s = w->structs.at[--w->structs.count];
        write_members(w, &s);
    }
}

static uint32_t write_forward(struct writer *w, type_id id, const struct type *t) {
    type_id definition = types_definition(w->graph, id);
    if (definition && definition != id)
        return number_of(w, definition);
    enum ctf_kind kind = t->flags & TYPE_OF_UNION  ? CTF_UNION
                         : t->flags & TYPE_OF_ENUM ? CTF_ENUM
                                                   : CTF_STRUCT;
    AUTO_FREE char *key = mem_printf("forward %d %s", kind, t->name);
    uint32_t number, old = known(w, key, &number);
    if (old)
        return old;
    head(w, number, CTF_FORWARD, 0, t->name);
    ctf_put(&w->bytes, kind);
    return end(w, number);
}

/* ---- all ---- */

static uint32_t write_type(struct writer *w, type_id id) {
    const struct type *t = types_get(w->graph, id);
    switch (t->kind) {
    case TYPE_INTEGER:
    case TYPE_FLOAT:
        return write_number(w, t);
    case TYPE_POINTER:
        return write_reference(w, CTF_POINTER, "", number_of(w, t->of));
    case TYPE_TYPEDEF:
        return write_reference(w, CTF_TYPEDEF, t->name, number_of(w, t->of));
    case TYPE_QUALIFIER:
        return write_qualifier(w, t, number_of(w, t->of));
    case TYPE_ARRAY:
        return write_array(w, t);
    case TYPE_FUNCTION:
        return write_function(w, t);
    case TYPE_STRUCT:
    case TYPE_UNION:
        return write_struct(w, id, t);
    case TYPE_ENUM:
        return write_enum(w, t);
    case TYPE_FORWARD:
        return write_forward(w, id, t);
    default:
        return *t->name && strcmp(t->name, "void") != 0 ? write_unknown(w, t) : 0;
    }
}

/* The numbers of types that become known meanwhile have room, too. */
static void reserve_numbers(struct writer *w) {
    size_t count = types_count(w->graph);
    if (count <= w->number_count)
        return;
    count += count / 2;
    w->numbers = mem_resize(w->numbers, count, sizeof *w->numbers);
    memset(w->numbers + w->number_count, 0, (count - w->number_count) * sizeof *w->numbers);
    w->number_count = count;
}

/* As compilers write it, so that other readers know its name. */
static uint32_t write_void(struct writer *w) {
    return write_number(w,
                        &(struct type){.kind = TYPE_INTEGER, .name = "void", .flags = TYPE_SIGNED});
}

static uint32_t number_of(struct writer *w, type_id id) {
    if (!id)
        return write_void(w);
    if (id >= types_count(w->graph))
        return 0;
    types_get(w->graph, id); /* may add types */
    reserve_numbers(w);
    if (w->numbers[id] || w->depth >= DEEPEST)
        return w->numbers[id];
    w->depth++;
    uint32_t number = write_type(w, id);
    w->depth--;
    w->numbers[id] = number;
    return number;
}

/* ---- names of functions and variables ---- */

static int by_name(const void *a, const void *b) {
    const struct type_symbol *x = a, *y = b;
    return strcmp(x->name, y->name);
}

struct parts {
    struct ctf_bytes objects, functions, object_names, function_names, variables, types;
};

static void put_symbol(struct writer *w, const struct type_symbol *symbol, struct parts *p) {
    uint32_t name = ctf_name(&w->words, symbol->name), type = number_of(w, symbol->type);
    ctf_put(symbol->function ? &p->functions : &p->objects, type);
    ctf_put(symbol->function ? &p->function_names : &p->object_names, name);
    if (symbol->function)
        return;
    ctf_put(&p->variables, name);
    ctf_put(&p->variables, type);
}

/* In order of names, of two equal ones the first. */
static void put_symbols(struct writer *w, const struct type_set *set, struct parts *p) {
    size_t count = set->symbols.count;
    AUTO_FREE struct type_symbol *sorted = mem_alloc((count + 1) * sizeof *sorted);
    const char *last[2] = {"", ""};
    if (count) {
        memcpy(sorted, set->symbols.at, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_name);
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(sorted[i].name, last[sorted[i].function]) == 0)
            continue;
        last[sorted[i].function] = sorted[i].name;
        put_symbol(w, &sorted[i], p);
    }
}

static void order_records(const struct writer *w, struct ctf_bytes *to) {
    for (size_t i = 0; i < w->records.count; i++) {
        const struct record *r = &w->records.at[i];
        ctf_append(to,
                   &(struct ctf_bytes){.at = w->bytes.at + r->start, .size = r->end - r->start});
    }
}

/* The parts in the order of the file, with their places in the header H. */
static void join(struct writer *w, struct parts *p, struct ctf_header *h, struct ctf_bytes *to) {
    const struct ctf_bytes *parts[] = {&p->objects,        &p->functions, &p->object_names,
                                       &p->function_names, &p->variables, &p->types};
    uint32_t *places[] = {&h->objects,        &h->functions, &h->object_names,
                          &h->function_names, &h->variables, &h->types};
    struct ctf_bytes body = {0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *places[i] = (uint32_t)body.size;
        ctf_append(&body, parts[i]);
    }
    h->strings = (uint32_t)body.size;
    h->string_bytes = (uint32_t)w->words.strings.size;
    w->full |= body.size + w->words.strings.size > INT32_MAX;
    ctf_append(&body, &w->words.strings);
    *to = (struct ctf_bytes){0};
    ctf_append(to, &(struct ctf_bytes){.at = (uint8_t *)h, .size = sizeof *h});
    ctf_append(to, &body);
    ctf_bytes_done(&body);
}

static void parts_done(struct parts *p) {
    struct ctf_bytes *all[] = {&p->objects,        &p->functions, &p->object_names,
                               &p->function_names, &p->variables, &p->types};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ctf_bytes_done(all[i]);
}

static void writer_done(struct writer *w) {
    ctf_bytes_done(&w->bytes);
    ctf_words_done(&w->words);
    ARRAY_FREE(&w->records);
    ARRAY_FREE(&w->structs);
    free(w->numbers);
}

int ctf_write(const struct type_set *set, const char *unit, uint8_t **ret, size_t *ret_size,
              struct err *err) {
    struct writer w = {.graph = set->graph};
    struct parts p = {0};
    struct ctf_bytes out;
    ctf_words_start(&w.words);
    struct ctf_header h = {.magic = CTF_MAGIC,
                           .version = CTF_VERSION,
                           .flags = CTF_NEW_FUNCTIONS | CTF_SORTED,
                           .unit = ctf_name(&w.words, unit)};
    for (size_t i = 0; i < set->all.count; i++) {
        number_of(&w, set->all.at[i]);
        write_waiting(&w);
    }
    put_symbols(&w, set, &p);
    write_waiting(&w);
    order_records(&w, &p.types);
    join(&w, &p, &h, &out);
    parts_done(&p);
    writer_done(&w);
    if (w.full) {
        ctf_bytes_done(&out);
        return err_set(err, EFBIG, "ctf-large", "there are more types than a CTF file holds");
    }
    *ret = out.at;
    *ret_size = out.size;
    return 0;
}
