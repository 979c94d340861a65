/* Reads formats, line by line. */
#include "values/formats.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "formats.inc"
#include "values/spec_parser.h"

enum { MOST_VALUES = 16 }; /* of a format */

struct reader {
    struct formats *formats;
    const char *file; /* NULL: built in */
    unsigned line;
    bool in_format; /* a pattern came before */
    struct err *err;
};

struct formats *formats_new(void) {
    struct formats *f = mem_alloc(sizeof *f);
    f->arena = arena_new();
    return f;
}

void formats_free(struct formats *f) {
    if (!f)
        return;
    for (size_t i = 0; i < f->list.count; i++)
        ARRAY_FREE(&f->list.at[i].values);
    for (size_t i = 0; i < f->misfits.count; i++)
        free(f->misfits.at[i]);
    ARRAY_FREE(&f->list);
    ARRAY_FREE(&f->uses);
    ARRAY_FREE(&f->misfits);
    arena_free(f->arena);
    free(f);
}

/* ---- a value ---- */

static struct format *last_of(const struct reader *r) {
    return &r->formats->list.at[r->formats->list.count - 1];
}

/* A name of letters at PS. NULL: none is there. */
static char *take_name(struct spec_parser *ps) {
    spec_skip_blanks(ps);
    const char *from = ps->p;
    while (isalnum((unsigned char)*ps->p) || *ps->p == '_')
        ps->p++;
    if (ps->p == from || isdigit((unsigned char)*from))
        return NULL;
    char *name = arena_alloc(ps->arena, (size_t)(ps->p - from) + 1);
    memcpy(name, from, (size_t)(ps->p - from));
    return name;
}

/* The number, from 1, of the value NAME; 0: there is none. */
static size_t number_of(const struct format *f, const char *name) {
    for (size_t i = 0; i < f->values.count; i++)
        if (strcmp(f->values.at[i].name, name) == 0)
            return i + 1;
    return 0;
}

static bool refuse(struct spec_parser *ps, const char *at, const char *why) {
    spec_fail(ps, at, why);
    return false;
}

/* An object has no registers, and its address is no value of it. */
static bool take_operand(struct spec_parser *ps, const struct spec_node **ret) {
    *ret = spec_operand(ps);
    if (*ret && (*ret)->op == SPEC_ADDRESS)
        return refuse(ps, ps->text + (*ret)->at, "an address is no value of the object");
    for (const struct spec_node *n = *ret; n; n = n->of)
        if (n->op == SPEC_REGISTER)
            return refuse(ps, ps->text + n->at, "only members of the object are known here");
    return *ret != NULL;
}

static bool take_condition(struct spec_parser *ps, const struct format *f, size_t *ret) {
    const char *at = ps->p;
    const char *word = take_name(ps);
    if (!word || strcmp(word, "if") != 0)
        return refuse(ps, at, "only \"-\" and \"if\" may follow");
    spec_skip_blanks(ps);
    at = ps->p;
    const char *name = take_name(ps);
    *ret = name ? number_of(f, name) : 0;
    spec_skip_blanks(ps);
    if (!*ret)
        return refuse(ps, at, "behind \"if\" is the name of a value before it");
    return !*ps->p || refuse(ps, ps->p, "nothing may follow");
}

static bool take_value(struct spec_parser *ps, const struct format *f, struct format_value *ret) {
    const char *at = ps->p;
    ret->text = ps->text;
    ret->name = take_name(ps);
    if (!ret->name)
        return refuse(ps, at, "a value's name is expected");
    if (number_of(f, ret->name))
        return refuse(ps, at, "there is a value of this name");
    spec_skip_blanks(ps);
    if (*ps->p != '=')
        return refuse(ps, ps->p, "\"=\" is missing");
    ps->p++;
    if (!take_operand(ps, &ret->root))
        return false;
    spec_skip_blanks(ps);
    if (*ps->p == '-') {
        ps->p++;
        if (!take_operand(ps, &ret->minus))
            return false;
        spec_skip_blanks(ps);
    }
    return !*ps->p || take_condition(ps, f, &ret->only_if);
}

/* ---- lines ---- */

static int fail(const struct reader *r, const char *why) {
    return err_set(r->err, EINVAL, "formats", "%s:%u: %s", r->file ? r->file : "formats.txt",
                   r->line, why);
}

/* The last pattern has no values. */
static int fail_empty(struct reader *r) {
    r->line = last_of(r)->line;
    return fail(r, "no values follow this pattern: lines NAME = EXPRESSION, with a blank before");
}

static int read_pattern(struct reader *r, const char *text) {
    struct format f = {.pattern = text, .file = r->file, .line = r->line};
    if (r->in_format && !last_of(r)->values.count)
        return fail_empty(r);
    ARRAY_PUSH(&r->formats->list, f);
    r->in_format = true;
    return 0;
}

static int read_value(struct reader *r, const char *text) {
    struct err why;
    struct spec_parser ps = {r->formats->arena, text, text, 0, &why};
    struct format_value v = {0};
    if (!r->in_format)
        return fail(r, "a value needs a line before it that begins with a pattern of a type");
    if (last_of(r)->values.count == MOST_VALUES)
        return fail(r, "there are too many values");
    if (!take_value(&ps, last_of(r), &v))
        return fail(r, why.text);
    ARRAY_PUSH(&last_of(r)->values, v);
    return 0;
}

static int read_line(struct reader *r, char *line) {
    const bool is_value = isspace((unsigned char)*line);
    size_t length = strlen(line);
    while (length && isspace((unsigned char)line[length - 1]))
        line[--length] = '\0';
    while (isspace((unsigned char)*line))
        line++;
    if (!*line || *line == '#')
        return 0;
    return is_value ? read_value(r, line) : read_pattern(r, line);
}

int formats_add(struct formats *f, const char *file, const char *text, struct err *err) {
    struct reader r = {f, file ? arena_strdup(f->arena, file) : NULL, 0, false, err};
    char *line = arena_strdup(f->arena, text);
    int status = 0;
    while (line && status == 0) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        r.line++;
        status = read_line(&r, line);
        line = end ? end + 1 : NULL;
    }
    if (status == 0 && r.in_format && !last_of(&r)->values.count)
        status = fail_empty(&r);
    return status;
}

void formats_add_built_in(struct formats *f) {
    AUTO_FREE char *text = mem_alloc(formats_size + 1);
    struct err err;
    memcpy(text, formats_bytes, formats_size);
    const int status = formats_add(f, NULL, text, &err);
    assert(status == 0);
    (void)status;
}
