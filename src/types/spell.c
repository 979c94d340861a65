/*
 * Types as C writes them. A declaration grows from the name outwards: pointers are written before
 * it, arrays and parameters behind, and brackets stand where a pointer is nearer than these.
 */
#include "base/mem.h"
#include "types/types.h"

enum { DEEPEST = 24, LONGEST = 4096 };

static char *spell(struct types *graph, type_id id, char *inner, int depth);

static bool binds_behind(struct types *graph, type_id id) {
    const struct type *type = types_get(graph, id);
    for (int i = 0; i < DEEPEST && type->kind == TYPE_QUALIFIER; i++)
        type = types_get(graph, type->of);
    return !*type->name && (type->kind == TYPE_ARRAY || type->kind == TYPE_FUNCTION);
}

/* BASE, and INNER behind it if there is any. Frees INNER. */
static char *join(const char *base, char *inner) {
    char *joined = mem_printf("%s%s%s", base, *inner ? " " : "", inner);
    free(inner);
    return joined;
}

static const char *word_of(const struct type *type) {
    bool is_union = type->kind == TYPE_UNION || type->flags & TYPE_OF_UNION;
    bool is_enum = type->kind == TYPE_ENUM || type->flags & TYPE_OF_ENUM;
    return is_union ? "union" : is_enum ? "enum" : "struct";
}

static char *spell_tagged(const struct type *type, char *inner) {
    AUTO_FREE char *base = *type->name
                               ? mem_printf("%s%s%s", type->flags & TYPE_TAG ? word_of(type) : "",
                                            type->flags & TYPE_TAG ? " " : "", type->name)
                               : mem_printf("%s {\u2026}", word_of(type));
    return join(base, inner);
}

static char *spell_pointer(struct types *graph, const struct type *type, char *inner, int depth) {
    const char *sign = type->flags & TYPE_RVALUE           ? "&&"
                       : type->flags & TYPE_REFERENCE      ? "&"
                       : type->flags & TYPE_MEMBER_POINTER ? "::*"
                                                           : "*";
    bool brackets = binds_behind(graph, type->of);
    bool spaced = *inner && *inner != '*' && *inner != '&' && *inner != '(' && *inner != '[';
    char *outer = mem_printf(brackets ? "(%s%s%s)" : "%s%s%s", sign, spaced ? " " : "", inner);
    free(inner);
    return spell(graph, type->of, outer, depth);
}

static char *spell_array(struct types *graph, const struct type *type, char *inner, int depth) {
    char *outer = type->flags & TYPE_OPEN ? mem_printf("%s[]", inner)
                                          : mem_printf("%s[%ju]", inner, type->elements);
    free(inner);
    return spell(graph, type->of, outer, depth);
}

static char *spell_function(struct types *graph, const struct type *type, char *inner, int depth) {
    char *list = mem_strdup("");
    for (uint32_t i = 0; i < type->count && strlen(list) < LONGEST; i++) {
        AUTO_FREE char *one = spell(graph, type->members[i].type, mem_strdup(""), depth);
        char *longer = mem_printf("%s%s%s", list, i ? ", " : "", one);
        free(list);
        list = longer;
    }
    bool varargs = type->flags & TYPE_VARARGS;
    char *outer = mem_printf("%s(%s%s)", inner, list,
                             !varargs      ? ""
                             : type->count ? ", ..."
                                           : "...");
    free(list);
    free(inner);
    return spell(graph, type->of, outer, depth);
}

static char *spell_qualifier(struct types *graph, const struct type *type, char *inner, int depth) {
    static const struct {
        uint32_t flag;
        const char *word;
    } words[] = {{TYPE_CONST, "const"},
                 {TYPE_VOLATILE, "volatile"},
                 {TYPE_RESTRICT, "restrict"},
                 {TYPE_ATOMIC, "_Atomic"}};
    const struct type *of = types_get(graph, type->of);
    const char *word = "";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (type->flags & words[i].flag)
            word = words[i].word;
    if (of->kind == TYPE_POINTER && !*of->name)
        return spell(graph, type->of, join(word, inner), depth);
    AUTO_FREE char *base = spell(graph, type->of, inner, depth);
    return mem_printf("%s%s%s", word, *word ? " " : "", base);
}

/* Frees INNER, the declaration so far. */
static char *spell(struct types *graph, type_id id, char *inner, int depth) {
    const struct type *type = types_get(graph, id);
    if (depth == DEEPEST || strlen(inner) > LONGEST)
        return join("\u2026", inner);
    switch (type->kind) {
    case TYPE_STRUCT:
    case TYPE_UNION:
    case TYPE_ENUM:
    case TYPE_FORWARD:
        return spell_tagged(type, inner);
    case TYPE_QUALIFIER:
        return spell_qualifier(graph, type, inner, depth + 1);
    case TYPE_POINTER:
        return *type->name ? join(type->name, inner) : spell_pointer(graph, type, inner, depth + 1);
    case TYPE_ARRAY:
        return *type->name ? join(type->name, inner) : spell_array(graph, type, inner, depth + 1);
    case TYPE_FUNCTION:
        return *type->name ? join(type->name, inner)
                           : spell_function(graph, type, inner, depth + 1);
    default:
        return join(*type->name ? type->name : "?", inner);
    }
}

char *types_spell(struct types *graph, type_id id) { return spell(graph, id, mem_strdup(""), 0); }
