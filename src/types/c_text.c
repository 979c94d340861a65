/*
 * Writes C declarations. A struct is needed in whole where an object of it is held, and only by its
 * name behind a pointer; a typedef is needed in both cases.
 */
#include "types/c_text.h"

#include <inttypes.h>

#include "types/ctf_bytes.h"

enum { DEEPEST = 400, COMMENT_COLUMN = 48 };

enum state { NEW, OPEN, DONE }; /* OPEN: what it needs is being written */

struct c_text {
    struct types *graph;
    FILE *to;
    ARRAY(uint8_t) states; /* by type */
    struct ctf_words written;
    unsigned depth;
};

struct c_text *c_text_new(struct types *graph, FILE *to) {
    struct c_text *c = mem_alloc(sizeof *c);
    c->graph = graph;
    c->to = to;
    ctf_words_start(&c->written);
    return c;
}

void c_text_forget(struct c_text *c) { c->states.count = 0; }

void c_text_free(struct c_text *c) {
    if (!c)
        return;
    ARRAY_FREE(&c->states);
    ctf_words_done(&c->written);
    free(c);
}

static uint8_t *state_of(struct c_text *c, type_id id) {
    while (c->states.count <= id)
        ARRAY_PUSH(&c->states, NEW);
    return &c->states.at[id];
}

/* ---- what a type needs ---- */

static void need(struct c_text *c, type_id id, bool whole);

static void need_parts(struct c_text *c, const struct type *t, bool whole) {
    if (t->kind == TYPE_ENUM)
        return;
    for (uint32_t i = 0; i < t->count; i++)
        need(c, t->members[i].type, whole);
}

static void define(struct c_text *c, type_id id, const struct type *t);

/* False: C knows the struct, union or enum TEXT already. */
static bool is_new(struct c_text *c, const char *text) {
    AUTO_FREE char *key = mem_printf("tag %s", text);
    return !(*ctf_number(&c->written, key))++;
}

/* Parameters may point to it only if it is declared before. */
static void name(struct c_text *c, type_id id, const struct type *t) {
    AUTO_FREE char *text =
        *state_of(c, id) == NEW && t->flags & TYPE_TAG ? types_spell(c->graph, id) : NULL;
    if (text && is_new(c, text))
        fprintf(c->to, "%s;\n", text);
}

static void need(struct c_text *c, type_id id, bool whole) {
    const struct type *t = types_get(c->graph, id);
    bool record = t->kind == TYPE_STRUCT || t->kind == TYPE_UNION || t->kind == TYPE_ENUM;
    if (!id || c->depth >= DEEPEST)
        return;
    c->depth++;
    if (t->kind == TYPE_POINTER || t->kind == TYPE_FUNCTION)
        whole = false;
    if (t->kind == TYPE_TYPEDEF || (record && *t->name && (whole || t->kind == TYPE_ENUM)))
        define(c, id, t);
    else if (*t->name && (record || t->kind == TYPE_FORWARD))
        name(c, id, t);
    else if (record && !*t->name)
        need_parts(c, t, whole);
    else if (t->kind == TYPE_FUNCTION)
        need_parts(c, t, false);
    if (t->kind == TYPE_POINTER || t->kind == TYPE_ARRAY || t->kind == TYPE_QUALIFIER ||
        t->kind == TYPE_FUNCTION || (t->kind == TYPE_TYPEDEF && whole))
        need(c, t->of, whole);
    c->depth--;
}

/* ---- text ---- */

static void spaces(FILE *to, int count) { fprintf(to, "%*s", count, ""); }

/* A comment behind LENGTH columns of code. */
static void comment(FILE *to, int length, const char *text) {
    spaces(to, length < COMMENT_COLUMN ? COMMENT_COLUMN - length : 1);
    fprintf(to, "/* %s */\n", text);
}

/* The struct, union or enum without a name that ID is made of, as an array or pointer to it. */
static const struct type *nameless_part(struct types *graph, type_id id) {
    for (int i = 0; i < 64; i++) {
        const struct type *t = types_get(graph, id);
        bool record = t->kind == TYPE_STRUCT || t->kind == TYPE_UNION || t->kind == TYPE_ENUM;
        if (record)
            return *t->name ? NULL : t;
        if (t->kind != TYPE_POINTER && t->kind != TYPE_ARRAY && t->kind != TYPE_QUALIFIER)
            return NULL;
        id = t->of;
    }
    return NULL;
}

struct place {
    int indent;
    uint64_t base; /* bits from the begin of the struct that is written */
};

static void body(struct c_text *c, FILE *to, const struct type *t, struct place at);

/* As C has it: compilers name complex numbers without the keyword, and functions without a
 * prototype have an ellipsis here. */
static char *c_declaration(struct types *graph, type_id id, const char *name) {
    static const char complex[] = "complex ", open[] = "(...)";
    AUTO_FREE char *text = types_declare(graph, id, name);
    char *ellipsis = strstr(text, open);
    if (ellipsis)
        memmove(ellipsis + 1, ellipsis + sizeof open - 2, strlen(ellipsis + sizeof open - 2) + 1);
    bool is_complex = strncmp(text, complex, sizeof complex - 1) == 0;
    return mem_printf("%s%s", is_complex ? "_C" : "", text + is_complex);
}

/* Declares NAME with the type ID; a nameless struct is written out. Returns the columns of the last
 * line. */
static int declare(struct c_text *c, type_id id, const char *name, FILE *to, struct place at) {
    static const char dots[] = "{\u2026}";
    AUTO_FREE char *text = c_declaration(c->graph, id, name);
    const struct type *nameless = c->depth < 32 ? nameless_part(c->graph, id) : NULL;
    char *cut = nameless ? strstr(text, dots) : NULL;
    if (!cut)
        return fprintf(to, "%*s%s", at.indent, "", text);
    c->depth++;
    fprintf(to, "%*s%.*s", at.indent, "", (int)(cut - text), text);
    body(c, to, nameless, at);
    c->depth--;
    return at.indent + 1 + fprintf(to, "%s", cut + sizeof dots - 1);
}

static void member(struct c_text *c, FILE *to, const struct type_member *m, struct place in) {
    char note[64];
    uint64_t at = in.base + m->bit_offset;
    int length = declare(c, m->type, m->flags & MEMBER_BASE ? "" : m->name, to,
                         (struct place){in.indent, at});
    if (m->bit_size)
        length += fprintf(to, ":%u", m->bit_size);
    length += fprintf(to, ";");
    if (m->bit_size)
        snprintf(note, sizeof note, "%ju:%ju", (uintmax_t)(at / 8), (uintmax_t)(at % 8));
    else
        snprintf(note, sizeof note, "%ju, %ju", (uintmax_t)(at / 8),
                 (uintmax_t)types_bytes(c->graph, m->type));
    comment(to, length, note);
}

/* From the opening brace to the closing one. */
static void body(struct c_text *c, FILE *to, const struct type *t, struct place at) {
    int indent = at.indent + 4;
    fputs("{\n", to);
    for (uint32_t i = 0; i < t->count; i++)
        if (t->kind == TYPE_ENUM)
            fprintf(to, "%*s%s = %jd,\n", indent, "", t->values[i].name,
                    (intmax_t)t->values[i].value);
        else
            member(c, to, &t->members[i], (struct place){indent, at.base});
    if (t->kind == TYPE_ENUM && !t->count) /* their values have no form in CTF */
        fprintf(to, "%*senum_%s_has_no_values,\n", indent, "", t->name);
    fprintf(to, "%*s}", at.indent, "");
}

static const char *word_of(const struct type *t) {
    return t->kind == TYPE_UNION ? "union" : t->kind == TYPE_ENUM ? "enum" : "struct";
}

static void definition(struct c_text *c, FILE *to, type_id id, const struct type *t) {
    unsigned depth = c->depth;
    c->depth = 0;
    if (t->kind == TYPE_TYPEDEF) {
        fputs("typedef ", to);
        declare(c, t->of, t->name, to, (struct place){0});
        fputs(";\n", to);
    } else if (t->kind == TYPE_FORWARD) {
        AUTO_FREE char *text = types_spell(c->graph, id);
        fprintf(to, "%s;\n", text);
    } else {
        char note[32];
        fprintf(to, "%s %s ", word_of(t), t->name);
        body(c, to, t, (struct place){0});
        int length = fprintf(to, ";") + 1;
        snprintf(note, sizeof note, "size: %ju", (uintmax_t)t->bytes);
        comment(to, length, note);
    }
    c->depth = depth;
}

/* Equal definitions are written once. Another one of the same name is not for the compiler. */
static void write_once(struct c_text *c, const struct type *t, const char *text) {
    AUTO_FREE char *name =
        mem_printf("%s %s", t->kind == TYPE_TYPEDEF ? "typedef" : word_of(t), t->name);
    uint32_t *seen = ctf_number(&c->written, text);
    if ((*seen)++)
        return;
    seen = ctf_number(&c->written, name);
    if (!(*seen)++)
        fprintf(c->to, "%s", text);
    else
        fprintf(c->to, "#if 0 /* another %s */\n%s#endif\n", name, text);
}

static void define(struct c_text *c, type_id id, const struct type *t) {
    if (*state_of(c, id) != NEW)
        return;
    *state_of(c, id) = OPEN;
    if (t->kind == TYPE_TYPEDEF)
        need(c, t->of, nameless_part(c->graph, t->of) != NULL);
    else
        need_parts(c, t, true);
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (to) {
        definition(c, to, id, t);
        fclose(to);
        write_once(c, t, text);
    }
    free(text);
    if (t->flags & TYPE_TAG) {
        AUTO_FREE char *spelling = types_spell(c->graph, id);
        is_new(c, spelling);
    }
    *state_of(c, id) = DONE;
}

void c_text_type(struct c_text *c, type_id id) {
    const struct type *t = types_get(c->graph, id);
    bool defined = t->kind == TYPE_STRUCT || t->kind == TYPE_UNION || t->kind == TYPE_ENUM ||
                   t->kind == TYPE_TYPEDEF || t->kind == TYPE_FORWARD;
    if (defined && *t->name)
        define(c, id, t);
    if (t->kind == TYPE_TYPEDEF)
        need(c, t->of, true);
}

void c_text_symbol(struct c_text *c, const struct type_symbol *symbol) {
    need(c, symbol->type, !symbol->function);
    if (types_get(c->graph, symbol->type)->kind == TYPE_UNKNOWN) {
        fprintf(c->to, "/* %s: its type has no form in CTF */\n", symbol->name);
        return;
    }
    if (!symbol->function)
        fputs("extern ", c->to);
    declare(c, symbol->type, symbol->name, c->to, (struct place){0});
    fputs(";\n", c->to);
}
