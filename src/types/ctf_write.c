/*
 * Writes a CTF dictionary. Types that are equal are written once: each is described in text by its
 * kind, name, members, and the numbers of the types that it refers to. Members of structs with a
 * name are described by the spelling of their types, since these may lead back to the struct.
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

struct symbol {
    uint32_t name, type;
    bool function;
};

struct ctf_dictionary {
    struct types *graph;
    bool (*forget)(void *ctx, type_id *kept, size_t count); /* may be NULL */
    void *ctx;
    struct ctf_bytes bytes;       /* of records, in any order */
    ARRAY(struct record) records; /* by number, from 1 */
    ARRAY(type_id) waiting;       /* structs that have numbers, but no records yet */
    ARRAY(uint32_t) waiting_numbers;
    ARRAY(struct symbol) symbols;
    struct ctf_words words; /* strings; numbers by text */
    uint32_t *numbers;      /* by the graph's; 0: not known yet */
    size_t number_count;
    unsigned depth;
    bool full;
};

static uint32_t number_of(struct ctf_dictionary *w, type_id id);

/* ---- records ---- */

/* Whether this is the first type of its name in the name space of KIND; only that can be found. */
static bool is_root(struct ctf_dictionary *w, enum ctf_kind kind, const char *name) {
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
static void head(struct ctf_dictionary *w, uint32_t number, enum ctf_kind kind, uint32_t parts,
                 const char *name) {
    bool root = kind != CTF_SLICE && is_root(w, kind, name);
    w->records.at[number - 1].start = w->bytes.size;
    ctf_put(&w->bytes, ctf_name(&w->words, name));
    ctf_put(&w->bytes, (uint32_t)kind << 26 | (root ? CTF_ROOT : 0) | parts);
    w->full |= parts > CTF_MOST_PARTS;
}

static uint32_t end(struct ctf_dictionary *w, uint32_t number) {
    w->records.at[number - 1].end = w->bytes.size;
    return number;
}

static void size_word(struct ctf_dictionary *w, uint64_t size) {
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
static uint32_t known(struct ctf_dictionary *w, const char *key, uint32_t *ret_new) {
    uint32_t *number = ctf_number(&w->words, key);
    if (*number)
        return *number;
    ARRAY_PUSH(&w->records, (struct record){0});
    w->full |= w->records.count > CTF_MOST_TYPES;
    *ret_new = *number = (uint32_t)w->records.count;
    return 0;
}

static uint32_t write_unknown(struct ctf_dictionary *w, const struct type *t) {
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

static uint32_t write_number(struct ctf_dictionary *w, const struct type *t) {
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
static uint32_t write_reference(struct ctf_dictionary *w, enum ctf_kind kind, const char *name,
                                uint32_t of) {
    AUTO_FREE char *key = mem_printf("%d %s %u", kind, name, of);
    uint32_t number, old = known(w, key, &number);
    if (old)
        return old;
    head(w, number, kind, 0, name);
    ctf_put(&w->bytes, of);
    return end(w, number);
}

static uint32_t write_qualifier(struct ctf_dictionary *w, const struct type *t, uint32_t of) {
    if (t->flags & TYPE_VOLATILE)
        of = write_reference(w, CTF_VOLATILE, "", of);
    if (t->flags & TYPE_CONST)
        of = write_reference(w, CTF_CONST, "", of);
    if (t->flags & TYPE_RESTRICT)
        of = write_reference(w, CTF_RESTRICT, "", of);
    return of;
}

/* An array's index is counted by it. */
static uint32_t index_type(struct ctf_dictionary *w) {
    return write_number(
        w, &(struct type){.kind = TYPE_INTEGER, .name = "long unsigned int", .bytes = 8});
}

static uint32_t write_array(struct ctf_dictionary *w, const struct type *t) {
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

static uint32_t write_function(struct ctf_dictionary *w, const struct type *t) {
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

static uint32_t write_enum(struct ctf_dictionary *w, const struct type *t) {
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

static uint32_t slice_of(struct ctf_dictionary *w, uint32_t type, uint32_t bits) {
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

static uint32_t member_number(struct ctf_dictionary *w, const struct type_member *m) {
    uint32_t type = number_of(w, m->type);
    return m->bit_size && type ? slice_of(w, type, m->bit_size) : type;
}

/* What makes the struct different from others of its name. */
static char *struct_key(struct ctf_dictionary *w, const struct type *t) {
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

static void put_member(struct ctf_dictionary *w, struct ctf_bytes *to, const struct type_member *m,
                       bool large) {
    ctf_put(to, ctf_name(&w->words, m->flags & MEMBER_BASE ? "" : m->name));
    ctf_put(to, (uint32_t)(large ? m->bit_offset >> 32 : m->bit_offset));
    ctf_put(to, member_number(w, m));
    if (large)
        ctf_put(to, (uint32_t)m->bit_offset);
}

/* Its record comes later, since its members may lead back to it. */
static uint32_t write_struct(struct ctf_dictionary *w, type_id id, const struct type *t) {
    AUTO_FREE char *key = struct_key(w, t);
    uint32_t number, old = known(w, key, &number);
    if (old)
        return old;
    ARRAY_PUSH(&w->waiting, id);
    ARRAY_PUSH(&w->waiting_numbers, number);
    return number;
}

static void write_members(struct ctf_dictionary *w, type_id id, uint32_t number) {
    const struct type *t = types_get(w->graph, id);
    bool large = t->bytes >= CTF_LARGE_STRUCT;
    struct ctf_bytes members = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (is_written(&t->members[i])) {
            put_member(w, &members, &t->members[i], large);
            count++;
        }
    head(w, number, t->kind == TYPE_UNION ? CTF_UNION : CTF_STRUCT, count, t->name);
    size_word(w, t->bytes);
    ctf_append(&w->bytes, &members);
    end(w, number);
    ctf_bytes_done(&members);
}

static void write_waiting(struct ctf_dictionary *w) {
    while (w->waiting.count) {
        if (w->forget && w->forget(w->ctx, w->waiting.at, w->waiting.count))
            memset(w->numbers, 0, w->number_count * sizeof *w->numbers);
        const size_t last = w->waiting.count - 1;
        w->waiting.count = w->waiting_numbers.count = last;
        write_members(w, w->waiting.at[last], w->waiting_numbers.at[last]);
    }
    if (w->forget && w->forget(w->ctx, NULL, 0))
        memset(w->numbers, 0, w->number_count * sizeof *w->numbers);
}

static uint32_t write_forward(struct ctf_dictionary *w, type_id id, const struct type *t) {
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

static uint32_t write_type(struct ctf_dictionary *w, type_id id) {
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
static void reserve_numbers(struct ctf_dictionary *w) {
    size_t count = types_count(w->graph);
    if (count <= w->number_count)
        return;
    count += count / 2;
    w->numbers = mem_resize(w->numbers, count, sizeof *w->numbers);
    memset(w->numbers + w->number_count, 0, (count - w->number_count) * sizeof *w->numbers);
    w->number_count = count;
}

/* As compilers write it, so that other readers know its name. */
static uint32_t write_void(struct ctf_dictionary *w) {
    return write_number(w,
                        &(struct type){.kind = TYPE_INTEGER, .name = "void", .flags = TYPE_SIGNED});
}

static uint32_t number_of(struct ctf_dictionary *w, type_id id) {
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

void ctf_dictionary_add(struct ctf_dictionary *d, type_id id) {
    number_of(d, id);
    write_waiting(d);
}

/* ---- names of functions and variables ---- */

void ctf_dictionary_name(struct ctf_dictionary *d, const struct type_symbol *symbol) {
    AUTO_FREE char *key = mem_printf("symbol %d %s", symbol->function, symbol->name);
    uint32_t *seen = ctf_number(&d->words, key);
    if ((*seen)++)
        return;
    const uint32_t name = ctf_name(&d->words, symbol->name);
    const uint32_t type = number_of(d, symbol->type);
    ARRAY_PUSH(&d->symbols, ((struct symbol){name, type, symbol->function}));
    write_waiting(d);
}

static int by_name(const void *a, const void *b, void *strings) {
    const struct symbol *x = a, *y = b;
    return strcmp((char *)strings + x->name, (char *)strings + y->name);
}

enum part { OBJECTS, FUNCTIONS, OBJECT_NAMES, FUNCTION_NAMES, VARIABLES, PARTS };

/* In order of names. */
static void put_symbols(struct ctf_dictionary *w, struct ctf_bytes *parts) {
    if (w->symbols.count)
        qsort_r(w->symbols.at, w->symbols.count, sizeof *w->symbols.at, by_name,
                w->words.strings.at);
    for (size_t i = 0; i < w->symbols.count; i++) {
        const struct symbol *s = &w->symbols.at[i];
        ctf_put(&parts[s->function ? FUNCTIONS : OBJECTS], s->type);
        ctf_put(&parts[s->function ? FUNCTION_NAMES : OBJECT_NAMES], s->name);
        if (s->function)
            continue;
        ctf_put(&parts[VARIABLES], s->name);
        ctf_put(&parts[VARIABLES], s->type);
    }
}

/* ---- the file ---- */

/* Fills the header's places. False: they are too large. */
static bool lay_out(const struct ctf_dictionary *w, const struct ctf_bytes *parts,
                    struct ctf_header *h) {
    uint32_t *places[PARTS] = {&h->objects, &h->functions, &h->object_names, &h->function_names,
                               &h->variables};
    size_t at = 0;
    for (size_t i = 0; i < PARTS; i++) {
        *places[i] = (uint32_t)at;
        at += parts[i].size;
    }
    h->types = (uint32_t)at;
    h->strings = (uint32_t)(at + w->bytes.size);
    h->string_bytes = (uint32_t)w->words.strings.size;
    return !w->full && at + w->bytes.size + w->words.strings.size <= INT32_MAX;
}

int ctf_dictionary_write(struct ctf_dictionary *d, const char *unit,
                         void (*put)(void *ctx, const void *bytes, size_t size), void *ctx,
                         struct err *err) {
    struct ctf_bytes parts[PARTS] = {0};
    struct ctf_header h = {.magic = CTF_MAGIC,
                           .version = CTF_VERSION,
                           .flags = CTF_NEW_FUNCTIONS | CTF_SORTED,
                           .unit = ctf_name(&d->words, unit)};
    put_symbols(d, parts);
    const bool fits = lay_out(d, parts, &h);
    if (fits)
        put(ctx, &h, sizeof h);
    for (size_t i = 0; i < PARTS; i++) {
        if (fits && parts[i].size)
            put(ctx, parts[i].at, parts[i].size);
        ctf_bytes_done(&parts[i]);
    }
    if (!fits)
        return err_set(err, EFBIG, "ctf-large", "there are more types than a CTF file holds");
    for (size_t i = 0; i < d->records.count; i++) {
        const struct record *r = &d->records.at[i];
        put(ctx, d->bytes.at + r->start, r->end - r->start);
    }
    put(ctx, d->words.strings.at, d->words.strings.size);
    return 0;
}

struct ctf_dictionary *ctf_dictionary_new(struct types *graph,
                                          bool (*forget)(void *ctx, type_id *kept, size_t count),
                                          void *ctx) {
    struct ctf_dictionary *d = mem_alloc(sizeof *d);
    *d = (struct ctf_dictionary){.graph = graph, .forget = forget, .ctx = ctx};
    ctf_words_start(&d->words);
    return d;
}

void ctf_dictionary_free(struct ctf_dictionary *d) {
    if (!d)
        return;
    ctf_bytes_done(&d->bytes);
    ctf_words_done(&d->words);
    ARRAY_FREE(&d->records);
    ARRAY_FREE(&d->waiting);
    ARRAY_FREE(&d->waiting_numbers);
    ARRAY_FREE(&d->symbols);
    free(d->numbers);
    free(d);
}

static void append(void *ctx, const void *bytes, size_t size) {
    ctf_append(ctx, &(struct ctf_bytes){.at = (uint8_t *)bytes, .size = size});
}

int ctf_write(const struct type_set *set, const char *unit, uint8_t **ret, size_t *ret_size,
              struct err *err) {
    struct ctf_dictionary *d = ctf_dictionary_new(set->graph, NULL, NULL);
    struct ctf_bytes all = {0};
    for (size_t i = 0; i < set->all.count; i++)
        ctf_dictionary_add(d, set->all.at[i]);
    for (size_t i = 0; i < set->symbols.count; i++)
        ctf_dictionary_name(d, &set->symbols.at[i]);
    int rc = ctf_dictionary_write(d, unit, append, &all, err);
    ctf_dictionary_free(d);
    if (rc < 0) {
        ctf_bytes_done(&all);
        return rc;
    }
    *ret = all.at;
    *ret_size = all.size;
    return 0;
}
