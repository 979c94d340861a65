/* The graph: an array of types in an arena, and a hash table of names. */
#include <string.h>

#include "base/mem.h"
#include "types/types.h"

enum { MOST_TYPES = 1 << 26, DEEPEST = 64 };

struct entry {
    const struct type *type; /* NULL: not read yet */
    const struct type_source *source;
    uint64_t handle;
};

struct types {
    struct arena *arena;
    ARRAY(struct entry) entries;
    const char **names; /* open addressing; a power of two of places */
    size_t name_count, name_room;
    unsigned depth; /* of types that are being read, each for another */
};

static const struct type UNKNOWN = {.name = "void"};

static void begin(struct types *graph) {
    graph->arena = arena_new();
    ARRAY_PUSH(&graph->entries, ((struct entry){.type = &UNKNOWN}));
}

struct types *types_new(void) {
    struct types *graph = mem_alloc(sizeof *graph);
    begin(graph);
    return graph;
}

static void end(struct types *graph) {
    arena_free(graph->arena);
    ARRAY_FREE(&graph->entries);
    free(graph->names);
}

void types_free(struct types *graph) {
    if (!graph)
        return;
    end(graph);
    free(graph);
}

void types_clear(struct types *graph) {
    end(graph);
    *graph = (struct types){0};
    begin(graph);
}

/* ---- names ---- */

static uint64_t hash_of(const char *text) {
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3;
    return hash ^ hash >> 32;
}

static const char **name_place(const struct types *graph, const char *name) {
    size_t mask = graph->name_room - 1, at = hash_of(name) & mask;
    while (graph->names[at] && strcmp(graph->names[at], name) != 0)
        at = (at + 1) & mask;
    return &graph->names[at];
}

static void grow_names(struct types *graph) {
    const char **old = graph->names;
    size_t count = graph->name_room;
    graph->name_room = count ? count * 2 : 256;
    graph->names = mem_alloc(graph->name_room * sizeof *graph->names);
    for (size_t i = 0; i < count; i++)
        if (old[i])
            *name_place(graph, old[i]) = old[i];
    free(old);
}

const char *types_name(struct types *graph, const char *name) {
    if (!*name)
        return "";
    if (graph->name_count * 2 >= graph->name_room)
        grow_names(graph);
    const char **place = name_place(graph, name);
    if (!*place) {
        *place = arena_strdup(graph->arena, name);
        graph->name_count++;
    }
    return *place;
}

/* ---- adding ---- */

static const struct type_member *copy_members(struct types *graph, const struct type *type) {
    struct type_member *copy = arena_alloc(graph->arena, type->count * sizeof *copy);
    for (uint32_t i = 0; i < type->count; i++) {
        copy[i] = type->members[i];
        copy[i].name = types_name(graph, copy[i].name);
    }
    return copy;
}

static const struct type_value *copy_values(struct types *graph, const struct type *type) {
    struct type_value *copy = arena_alloc(graph->arena, type->count * sizeof *copy);
    for (uint32_t i = 0; i < type->count; i++) {
        copy[i] = type->values[i];
        copy[i].name = types_name(graph, copy[i].name);
    }
    return copy;
}

void types_set(struct types *graph, type_id id, const struct type *type) {
    struct type *copy = arena_alloc(graph->arena, sizeof *copy);
    *copy = *type;
    copy->name = types_name(graph, type->name);
    copy->members = type->count && type->members ? copy_members(graph, type) : NULL;
    copy->values = type->count && type->values ? copy_values(graph, type) : NULL;
    if (!copy->members && !copy->values)
        copy->count = 0;
    graph->entries.at[id].type = copy;
}

type_id types_reserve(struct types *graph, const struct type_source *source, uint64_t handle) {
    if (graph->entries.count >= MOST_TYPES)
        return 0;
    ARRAY_PUSH(&graph->entries, ((struct entry){.source = source, .handle = handle}));
    return (type_id)(graph->entries.count - 1);
}

type_id types_add(struct types *graph, const struct type *type) {
    type_id id = types_reserve(graph, NULL, 0);
    if (id)
        types_set(graph, id, type);
    return id;
}

bool types_handle(const struct types *graph, type_id id, const struct type_source *source,
                  uint64_t *ret) {
    if (!id || id >= graph->entries.count || graph->entries.at[id].source != source)
        return false;
    *ret = graph->entries.at[id].handle;
    return true;
}

void types_detach(struct types *graph, const struct type_source *source) {
    for (size_t i = 0; i < graph->entries.count; i++)
        if (graph->entries.at[i].source == source)
            graph->entries.at[i].source = NULL;
}

/* ---- asking ---- */

static void read_entry(struct types *graph, type_id id) {
    const struct entry entry = graph->entries.at[id];
    struct type type = {.name = ""};
    void *to_free = NULL;
    graph->entries.at[id].type = &UNKNOWN;
    graph->depth++;
    if (entry.source && entry.source->read(entry.source->ctx, entry.handle, &type, &to_free))
        types_set(graph, id, &type);
    graph->depth--;
    free(to_free);
}

const struct type *types_get(struct types *graph, type_id id) {
    if (id >= graph->entries.count)
        return &UNKNOWN;
    if (!graph->entries.at[id].type && graph->depth == DEEPEST)
        return &UNKNOWN;
    if (!graph->entries.at[id].type)
        read_entry(graph, id);
    return graph->entries.at[id].type;
}

type_id types_count(const struct types *graph) { return (type_id)graph->entries.count; }

type_id types_plain(struct types *graph, type_id id) {
    for (int depth = 0; depth < DEEPEST; depth++) {
        const struct type *type = types_get(graph, id);
        if (type->kind != TYPE_TYPEDEF && type->kind != TYPE_QUALIFIER)
            return id;
        id = type->of;
    }
    return 0;
}

const struct type *types_get_plain(struct types *graph, type_id id) {
    return types_get(graph, types_plain(graph, id));
}

static uint64_t bytes_of(struct types *graph, type_id id, int depth) {
    const struct type *type = types_get_plain(graph, id);
    uint64_t bytes;
    if (type->kind != TYPE_ARRAY || type->bytes)
        return type->bytes;
    if (depth == DEEPEST ||
        __builtin_mul_overflow(bytes_of(graph, type->of, depth + 1), type->elements, &bytes))
        return 0;
    return bytes;
}

uint64_t types_bytes(struct types *graph, type_id id) { return bytes_of(graph, id, 0); }

type_id types_definition(struct types *graph, type_id id) {
    type_id plain = types_plain(graph, id);
    const struct type *type = types_get(graph, plain);
    const struct type_source *source = graph->entries.at[plain].source;
    if (type->kind != TYPE_FORWARD || !source || !source->define)
        return id;
    type_id found = source->define(source->ctx, graph->entries.at[plain].handle, type->name);
    return found ? found : id;
}

type_id types_find(const struct types *graph, enum type_kind kind, const char *name) {
    for (size_t i = 1; i < graph->entries.count; i++) {
        const struct type *type = graph->entries.at[i].type;
        if (type && type->kind == kind && strcmp(type->name, name) == 0)
            return (type_id)i;
    }
    return 0;
}

/* ---- members ---- */

struct search {
    struct types *graph;
    const char *name;
    unsigned budget;  /* of structs: a hostile graph may hold exponentially many */
    unsigned nesting; /* of bases that are looked into */
    bool deeper;      /* there are more of them */
};

static bool find_member(struct search *s, type_id id, struct type_member *ret);

/* Looks in the members of M, which lies in a struct whose members' names are as its own. */
static bool find_within(struct search *s, const struct type_member *m, struct type_member *ret) {
    if (*m->name && !(m->flags & MEMBER_BASE))
        return false;
    if (m->flags & (MEMBER_VIRTUAL | MEMBER_VARIANT))
        return false;
    const unsigned base = m->flags & MEMBER_BASE ? 1 : 0;
    if (s->nesting < base) {
        s->deeper = true;
        return false;
    }
    s->nesting -= base;
    const bool found = find_member(s, m->type, ret);
    s->nesting += base;
    if (!found)
        return false;
    ret->bit_offset += m->bit_offset;
    return true;
}

static bool find_member(struct search *s, type_id id, struct type_member *ret) {
    const struct type *type = types_get_plain(s->graph, id);
    if (!s->budget || !type->members || type->kind == TYPE_FUNCTION)
        return false;
    s->budget--;
    for (uint32_t i = 0; i < type->count; i++)
        if (strcmp(type->members[i].name, s->name) == 0) {
            *ret = type->members[i];
            return true;
        }
    for (uint32_t i = 0; i < type->count; i++)
        if (find_within(s, &type->members[i], ret))
            return true;
    return false;
}

bool types_member(struct types *graph, type_id id, const char *name, struct type_member *ret) {
    for (unsigned nesting = 0; *name && nesting <= DEEPEST; nesting++) {
        struct search s = {.graph = graph, .name = name, .budget = 256, .nesting = nesting};
        if (find_member(&s, id, ret))
            return true;
        if (!s.deeper)
            return false;
    }
    return false;
}
