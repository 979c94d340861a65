/* Parses SPECs by recursive descent. */
#include "values/spec_parser.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

enum { MOST_NESTING = 32, MOST_TERMS = 32, MOST_TEXT = 1024, ERROR_ROOM = 200 };

int spec_error(struct err *err, const char *text, size_t at, const char *fmt, ...) {
    char why[ERROR_ROOM];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    return err_set(err, EINVAL, "spec", "%.*s^%s: %s", (int)at, text, text + at, why);
}

void *spec_fail(struct spec_parser *ps, const char *at, const char *why) {
    spec_error(ps->err, ps->text, (size_t)(at - ps->text), "%s", why);
    return NULL;
}

void spec_skip_blanks(struct spec_parser *ps) {
    while (isspace((unsigned char)*ps->p))
        ps->p++;
}

static struct spec_node *node(struct spec_parser *ps, enum spec_op op, const struct spec_node *of,
                              const char *at) {
    struct spec_node *n = arena_alloc(ps->arena, sizeof *n);
    *n = (struct spec_node){.op = op, .of = of, .at = (size_t)(at - ps->text)};
    return n;
}

static char *copy(struct spec_parser *ps, const char *from, const char *end) {
    char *text = arena_alloc(ps->arena, (size_t)(end - from) + 1);
    memcpy(text, from, (size_t)(end - from));
    return text;
}

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* A name; "A::b" too. NULL: none is here. */
static const char *name(struct spec_parser *ps) {
    spec_skip_blanks(ps);
    const char *from = ps->p;
    if (!is_name(*from) || isdigit((unsigned char)*from))
        return NULL;
    while (is_name(*ps->p) || (ps->p[0] == ':' && ps->p[1] == ':' && is_name(ps->p[2])))
        ps->p += *ps->p == ':' ? 2 : 1;
    return copy(ps, from, ps->p);
}

/* "argN" with PREFIX "arg". */
static bool is_numbered(const char *text, const char *prefix, int64_t *ret) {
    size_t n = strlen(prefix);
    if (strncmp(text, prefix, n) != 0 || !isdigit((unsigned char)text[n]) || text[n] == '0')
        return false;
    char *end;
    *ret = strtol(text + n, &end, 10);
    return !*end && *ret <= 255;
}

static struct spec_node *unary(struct spec_parser *ps);

static struct spec_node *named(struct spec_parser *ps) {
    const char *at = ps->p, *text = name(ps);
    if (!text)
        return spec_fail(ps, at,
                         *at ? "a parameter's name is expected" : "an expression ends too early");
    struct spec_node *n = node(ps, SPEC_NAME, NULL, at);
    n->name = text;
    if (strcmp(text, "ret") == 0 || strcmp(text, "retval") == 0)
        n->op = SPEC_RESULT;
    else if (is_numbered(text, "arg", &n->number))
        n->op = SPEC_INTEGER;
    else if (is_numbered(text, "fparg", &n->number))
        n->op = SPEC_FLOAT;
    return n;
}

static struct spec_node *primary(struct spec_parser *ps) {
    spec_skip_blanks(ps);
    const char *at = ps->p;
    if (*at == '(') {
        ps->p++;
        struct spec_node *n = unary(ps);
        spec_skip_blanks(ps);
        if (n && *ps->p != ')')
            return spec_fail(ps, ps->p, "\")\" is missing");
        ps->p += n != NULL;
        return n;
    }
    if (*at != '%')
        return named(ps);
    ps->p++;
    struct spec_node *n = node(ps, SPEC_REGISTER, NULL, at);
    n->name = name(ps);
    return n->name ? n : spec_fail(ps, at, "a register's name is expected behind %");
}

static struct spec_node *index_of(struct spec_parser *ps, const struct spec_node *of) {
    const char *at = ps->p++;
    char *end;
    spec_skip_blanks(ps);
    errno = 0;
    long long number = strtoll(ps->p, &end, 0);
    if (end == ps->p || errno)
        return spec_fail(ps, ps->p, "an index is a number");
    ps->p = end;
    spec_skip_blanks(ps);
    if (*ps->p != ']')
        return spec_fail(ps, ps->p, "\"]\" is missing");
    ps->p++;
    struct spec_node *n = node(ps, SPEC_INDEX, of, at);
    n->number = number;
    return n;
}

static struct spec_node *member_of(struct spec_parser *ps, const struct spec_node *of, bool arrow) {
    ps->p += arrow ? 2 : 1;
    spec_skip_blanks(ps);
    struct spec_node *n = node(ps, arrow ? SPEC_ARROW : SPEC_MEMBER, of, ps->p);
    const char *at = ps->p;
    while (isdigit((unsigned char)*ps->p)) /* a tuple's */
        ps->p++;
    n->name = ps->p > at ? copy(ps, at, ps->p) : name(ps);
    return n->name ? n : spec_fail(ps, at, "a member's name is expected");
}

static struct spec_node *postfix(struct spec_parser *ps) {
    struct spec_node *n = primary(ps);
    while (n) {
        spec_skip_blanks(ps);
        if (*ps->p == '[')
            n = index_of(ps, n);
        else if (*ps->p == '.')
            n = member_of(ps, n, false);
        else if (ps->p[0] == '-' && ps->p[1] == '>')
            n = member_of(ps, n, true);
        else
            return n;
    }
    return NULL;
}

/* A parenthesis holds a type if a value follows it. */
static const char *cast_end(const char *p) {
    unsigned depth = 0;
    const char *begin = p;
    for (; *p; p++) {
        depth += *p == '(';
        if (*p == ')' && --depth == 0)
            break;
    }
    const char *behind = p + (*p != '\0');
    while (isspace((unsigned char)*behind))
        behind++;
    bool value = is_name(*behind) || (*behind && strchr("(%*&", *behind));
    return *p && value && p > begin + 1 && is_name(begin[1]) ? p : NULL;
}

static struct spec_node *unary(struct spec_parser *ps) {
    spec_skip_blanks(ps);
    const char *at = ps->p, *end = *at == '(' ? cast_end(at) : NULL;
    if (!end && *at != '*' && *at != '&')
        return ++ps->nesting > MOST_NESTING ? spec_fail(ps, at, "this is nested too deeply")
                                            : postfix(ps);
    if (++ps->nesting > MOST_NESTING)
        return spec_fail(ps, at, "this is nested too deeply");
    ps->p = end ? end + 1 : at + 1;
    struct spec_node *of = unary(ps);
    if (!of)
        return NULL;
    struct spec_node *n = node(ps,
                               end          ? SPEC_CAST
                               : *at == '*' ? SPEC_DEREF
                                            : SPEC_ADDRESS,
                               of, at + (end != NULL));
    n->name = end ? copy(ps, at + 1, end) : NULL;
    return n;
}

static bool is_format(char letter, unsigned bits) {
    if (letter == 's' || letter == 'c')
        return bits == 0 || (letter == 'c' && bits == 8);
    if (letter == 'f')
        return bits == 0 || bits == 32 || bits == 64 || bits == 80;
    return bits == 0 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static int format(struct spec_parser *ps, struct spec_term *term) {
    const char *at = ++ps->p;
    char letter = *ps->p && strchr("iduxocfps", *ps->p) ? *ps->p++ : 0;
    unsigned bits = 0;
    while (isdigit((unsigned char)*ps->p) && bits < 1000)
        bits = bits * 10 + (unsigned)(*ps->p++ - '0');
    if (!letter && bits)
        letter = term->root->op == SPEC_FLOAT ? 'f' : 'i';
    spec_skip_blanks(ps);
    if (!letter || !is_format(letter, bits) || (*ps->p && *ps->p != ','))
        return spec_fail(ps, at,
                         "a format is one of i, d, u, x, o, c, f, p with 8, 16, 32 or 64, or s")
                   ? 0
                   : -EINVAL;
    term->format = (struct spec_format){letter == 'd' ? 'i' : letter, (uint8_t)bits};
    return 0;
}

struct spec_node *spec_operand(struct spec_parser *ps) {
    ps->nesting = 0;
    return unary(ps);
}

static int term(struct spec_parser *ps, struct spec *spec) {
    spec_skip_blanks(ps);
    const char *at = ps->p;
    struct spec_term t = {.root = spec_operand(ps), .at = (size_t)(at - ps->text)};
    if (!t.root)
        return -EINVAL;
    spec_skip_blanks(ps);
    const char *end = ps->p;
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    t.text = copy(ps, at, end);
    if (*ps->p == '/' && format(ps, &t) < 0)
        return -EINVAL;
    if (*ps->p && *ps->p != ',')
        return spec_fail(ps, ps->p, "only members, indexes, \"*\", \"&\" and casts are known here")
                   ? 0
                   : -EINVAL;
    ARRAY_PUSH(&spec->terms, t);
    return 0;
}

int spec_parse(const char *text, struct spec *ret, struct err *err) {
    *ret = (struct spec){.arena = arena_new()};
    ret->text = text = arena_strdup(ret->arena, text);
    struct spec_parser ps = {ret->arena, text, text, 0, err};
    int status = strlen(text) > MOST_TEXT
                     ? err_set(err, EINVAL, "spec", "this is longer than %d bytes", MOST_TEXT)
                     : term(&ps, ret);
    while (status == 0 && *ps.p == ',') {
        ps.p++;
        status = term(&ps, ret);
        if (status == 0 && ret->terms.count > MOST_TERMS)
            status = spec_fail(&ps, ps.p, "there are too many expressions") ? 0 : -EINVAL;
    }
    if (status < 0)
        spec_done(ret);
    return status;
}

void spec_done(struct spec *s) {
    ARRAY_FREE(&s->terms);
    arena_free(s->arena);
    *s = (struct spec){0};
}

bool spec_has_result(const struct spec_node *node) {
    for (; node; node = node->of)
        if (node->op == SPEC_RESULT)
            return true;
    return false;
}

/* ---- PATTERN@SPEC ---- */

/* Where PATTERN ends in TEXT: at the "@" before SPEC, or at the end. */
static const char *pattern_end(const char *text) {
    size_t length = strlen(text);
    const char *end = NULL;
    if (*text != '{')
        return strrchr(text, '@') ? strrchr(text, '@') : text + length;
    for (const char *p = text; (p = strstr(p, "}@")); p++)
        end = p + 1;
    return end ? end : text + length;
}

int spec_split(const char *text, char **ret_pattern, const char **ret_spec, struct err *err) {
    const char *end = pattern_end(text), *from = text, *to = end;
    if (*text == '{' && to > from + 1 && to[-1] == '}') {
        from++;
        to--;
    }
    if (from == to || (*end && !end[1]))
        return err_set(err, EINVAL, "spec", "%s: %s", text,
                       from == to ? "no pattern is before \"@\"" : "no expression is behind \"@\"");
    size_t length = strlen(text);
    char *pattern = mem_alloc(2 * length + 2);
    memcpy(pattern, from, (size_t)(to - from));
    *ret_spec = *end ? strcpy(pattern + length + 1, end + 1) : NULL;
    *ret_pattern = pattern;
    return 0;
}
