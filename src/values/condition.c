/* Parses conditions by recursive descent, and tests them. */
#include "values/condition.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "values/condition_node.h"
#include "values/spec_parser.h"

enum { MOST_TEXT = 4096, MOST_NESTING = 64 };

struct condition_parser {
    struct spec_parser spec;
    struct condition *condition;
    unsigned nesting;
};

/* ---- operands ---- */

static bool take_number(struct condition_parser *cp, struct plain_value *ret) {
    const char *at = cp->spec.p, *digits = at + (*at == '-');
    char *end, *real_end;
    if (!isdigit((unsigned char)*digits) && !(*digits == '.' && isdigit((unsigned char)digits[1])))
        return false;
    errno = 0;
    *ret = (struct plain_value){.kind = PLAIN_INTEGER, .negative = digits > at};
    ret->magnitude = strtoull(digits, &end, 0);
    bool too_large = errno != 0;
    ret->real = strtod(digits, &real_end);
    if (real_end > end || too_large) {
        ret->kind = PLAIN_REAL;
        ret->real = ret->negative ? -ret->real : ret->real;
        end = real_end;
    }
    ret->negative = ret->negative && ret->magnitude;
    while (*end && strchr("uUlLfF", *end))
        end++;
    cp->spec.p = end;
    return true;
}

static int hex_digit(char c) {
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? (c | 32) - 'a' + 10
                                        : -1;
}

/* The byte that an escape sequence of C stands for; *P is behind the backslash. */
static char escaped(const char **p) {
    static const char letters[] = "a\ab\bf\fn\nr\rt\tv\v0\0";
    char c = *(*p)++;
    if (c == 'x' && hex_digit(**p) >= 0) {
        int value = hex_digit(*(*p)++);
        if (hex_digit(**p) >= 0)
            value = value * 16 + hex_digit(*(*p)++);
        return (char)value;
    }
    for (size_t i = 0; i + 1 < sizeof letters; i += 2)
        if (letters[i] == c)
            return letters[i + 1];
    return c;
}

/* What is in quotes, without them. False: the second quote is missing. */
static bool take_quoted(struct condition_parser *cp, char quote, struct plain_value *ret) {
    const char *p = cp->spec.p + 1;
    uint8_t *bytes = arena_alloc(cp->spec.arena, strlen(p) + 1);
    size_t length = 0;
    while (*p && *p != quote) {
        char c = *p++;
        if (c == '\\' && *p)
            c = escaped(&p);
        bytes[length++] = (uint8_t)c;
    }
    *ret = (struct plain_value){.kind = PLAIN_TEXT, .bytes = bytes, .length = length};
    if (!*p)
        return false;
    cp->spec.p = p + 1;
    return true;
}

static bool take_character(struct condition_parser *cp, struct plain_value *ret) {
    const char *at = cp->spec.p;
    if (!take_quoted(cp, '\'', ret) || ret->length != 1)
        return spec_fail(&cp->spec, at, "a character in '…' is one byte");
    const uint8_t byte = ret->bytes[0];
    *ret = (struct plain_value){.kind = PLAIN_INTEGER, .magnitude = byte};
    return true;
}

/* "true", "NULL" and the like. */
static bool take_word(struct condition_parser *cp, struct plain_value *ret) {
    static const struct {
        const char *word;
        uint64_t value;
    } words[] = {{"true", 1}, {"false", 0}, {"NULL", 0}, {"nullptr", 0}, {"nil", 0}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i].word);
        const char behind = strncmp(cp->spec.p, words[i].word, n) == 0 ? cp->spec.p[n] : 'x';
        if (isalnum((unsigned char)behind) || behind == '_')
            continue;
        cp->spec.p += n;
        *ret = (struct plain_value){.kind = PLAIN_INTEGER, .magnitude = words[i].value};
        return true;
    }
    return false;
}

static bool take_expression(struct condition_parser *cp, struct compared *ret) {
    const char *at = cp->spec.p;
    const struct spec_node *node = spec_operand(&cp->spec);
    if (!node)
        return false;
    ret->is_expression = true;
    ret->number = cp->condition->expressions.count;
    const char *end = cp->spec.p;
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    char *text = arena_alloc(cp->spec.arena, (size_t)(end - at) + 1);
    memcpy(text, at, (size_t)(end - at));
    ARRAY_PUSH(&cp->condition->expressions, ((struct condition_operand){text, node}));
    return true;
}

static bool take_operand(struct condition_parser *cp, struct compared *ret);

/* What "(" begins; what follows its ")" tells. */
enum group { GROUP_CONDITION, GROUP_VALUE, GROUP_EXPRESSION /* "(*p).x", "(long)n" */ };

/* Behind the ")" of the "(" at P, or the end. */
static const char *behind_group(const char *p) {
    unsigned depth = 0;
    for (char quote = 0; *p; p++) {
        if (quote && *p == '\\' && p[1])
            p++;
        else if (quote)
            quote = *p == quote ? 0 : quote;
        else if (*p == '"' || *p == '\'')
            quote = *p;
        else if (*p == '(')
            depth++;
        else if (*p == ')' && --depth == 0)
            return p + 1;
    }
    return p;
}

static enum group group_at(const char *p) {
    p = behind_group(p);
    while (isspace((unsigned char)*p))
        p++;
    if (isalnum((unsigned char)*p) || (*p && strchr("_$.[-(*%", *p)))
        return GROUP_EXPRESSION;
    const bool compared = *p == '<' || *p == '>' || *p == '=' || (*p == '!' && p[1] == '=') ||
                          (*p == '&' && p[1] != '&');
    return compared ? GROUP_VALUE : GROUP_CONDITION;
}

static bool take_mask(struct condition_parser *cp, struct compared *ret) {
    struct plain_value mask;
    spec_skip_blanks(&cp->spec);
    if (cp->spec.p[0] != '&' || cp->spec.p[1] == '&')
        return true;
    cp->spec.p++;
    spec_skip_blanks(&cp->spec);
    const char *at = cp->spec.p;
    if (!take_number(cp, &mask) || mask.kind != PLAIN_INTEGER || mask.negative)
        return spec_fail(&cp->spec, at, "a number is expected behind \"&\"");
    ret->masked = true;
    ret->mask = mask.magnitude;
    return true;
}

static bool take_group(struct condition_parser *cp, struct compared *ret) {
    const char *at = cp->spec.p++;
    if (++cp->nesting > MOST_NESTING)
        return spec_fail(&cp->spec, at, "this is nested too deeply");
    const bool taken = take_operand(cp, ret);
    cp->nesting--;
    spec_skip_blanks(&cp->spec);
    if (taken && *cp->spec.p != ')')
        return spec_fail(&cp->spec, cp->spec.p, "\")\" is missing");
    cp->spec.p += taken;
    return taken;
}

static bool take_operand(struct condition_parser *cp, struct compared *ret) {
    spec_skip_blanks(&cp->spec);
    const char *at = cp->spec.p;
    bool taken;
    *ret = (struct compared){0};
    if (*at == '"')
        taken = take_quoted(cp, '"', &ret->constant) ||
                spec_fail(&cp->spec, at, "a string ends with a second quote");
    else if (*at == '\'')
        taken = take_character(cp, &ret->constant);
    else if (*at == '(' && group_at(at) != GROUP_EXPRESSION)
        taken = take_group(cp, ret);
    else
        taken = take_number(cp, &ret->constant) || take_word(cp, &ret->constant) ||
                take_expression(cp, ret);
    return taken && (ret->masked || take_mask(cp, ret));
}

/* ---- the whole ---- */

static const struct condition_node *disjunction(struct condition_parser *cp);

static struct condition_node *new_node(struct condition_parser *cp, enum condition_op op,
                                       const struct condition_node *left,
                                       const struct condition_node *right) {
    struct condition_node *n = arena_alloc(cp->spec.arena, sizeof *n);
    n->op = op;
    n->left = left;
    n->right = right;
    return n;
}

static bool take_sign(struct condition_parser *cp, const char *sign) {
    spec_skip_blanks(&cp->spec);
    const size_t n = strlen(sign);
    if (strncmp(cp->spec.p, sign, n) != 0)
        return false;
    cp->spec.p += n;
    return true;
}

static const struct condition_node *comparison(struct condition_parser *cp) {
    static const struct {
        const char *sign;
        enum condition_op op;
    } signs[] = {{"==", COMPARE_EQUAL},    {"!=", COMPARE_UNEQUAL}, {"<=", COMPARE_AT_MOST},
                 {">=", COMPARE_AT_LEAST}, {"<", COMPARE_LESS},     {">", COMPARE_MORE}};
    struct condition_node *n = new_node(cp, COMPARE_UNEQUAL, NULL, NULL);
    n->values[1].constant.kind = PLAIN_INTEGER;
    if (!take_operand(cp, &n->values[0]))
        return NULL;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (!take_sign(cp, signs[i].sign))
            continue;
        n->op = signs[i].op;
        return take_operand(cp, &n->values[1]) ? n : NULL;
    }
    const char *rest = cp->spec.p;
    if (*rest == '=')
        return spec_fail(&cp->spec, rest, "equality is \"==\"");
    return n;
}

static const struct condition_node *parenthesis(struct condition_parser *cp) {
    cp->spec.p++;
    const struct condition_node *n = disjunction(cp);
    return n && !take_sign(cp, ")") ? spec_fail(&cp->spec, cp->spec.p, "\")\" is missing") : n;
}

static const struct condition_node *negation(struct condition_parser *cp) {
    spec_skip_blanks(&cp->spec);
    if (++cp->nesting > MOST_NESTING)
        return spec_fail(&cp->spec, cp->spec.p, "this is nested too deeply");
    const struct condition_node *n;
    if (cp->spec.p[0] == '!' && cp->spec.p[1] != '=') {
        cp->spec.p++;
        n = negation(cp);
        n = n ? new_node(cp, CONDITION_NOT, n, NULL) : NULL;
    } else {
        const bool condition = *cp->spec.p == '(' && group_at(cp->spec.p) == GROUP_CONDITION;
        n = condition ? parenthesis(cp) : comparison(cp);
    }
    cp->nesting--;
    return n;
}

static const struct condition_node *conjunction(struct condition_parser *cp) {
    const struct condition_node *n = negation(cp);
    while (n && take_sign(cp, "&&")) {
        const struct condition_node *right = negation(cp);
        n = right ? new_node(cp, CONDITION_AND, n, right) : NULL;
    }
    return n;
}

static const struct condition_node *disjunction(struct condition_parser *cp) {
    const struct condition_node *n = conjunction(cp);
    while (n && take_sign(cp, "||")) {
        const struct condition_node *right = conjunction(cp);
        n = right ? new_node(cp, CONDITION_OR, n, right) : NULL;
    }
    return n;
}

int condition_parse(const char *text, struct condition **ret, struct err *err) {
    if (strlen(text) > MOST_TEXT)
        return err_set(err, EINVAL, "spec", "a condition is longer than %d bytes", MOST_TEXT);
    struct condition *c = mem_alloc(sizeof *c);
    c->arena = arena_new();
    text = arena_strdup(c->arena, text);
    struct condition_parser cp = {.spec = {c->arena, text, text, 0, err}, .condition = c};
    c->root = disjunction(&cp);
    spec_skip_blanks(&cp.spec);
    if (c->root && *cp.spec.p)
        c->root = spec_fail(
            &cp.spec, cp.spec.p,
            "only comparisons, \"&&\", \"||\", \"!\" and \"&\" with a number are known here");
    if (!c->root) {
        condition_free(c);
        return -EINVAL;
    }
    *ret = c;
    return 0;
}

void condition_free(struct condition *c) {
    if (!c)
        return;
    ARRAY_FREE(&c->expressions);
    arena_free(c->arena);
    free(c);
}

size_t condition_operand_count(const struct condition *c) { return c->expressions.count; }

bool condition_operand(const struct condition *c, size_t i, struct condition_operand *ret) {
    if (i >= c->expressions.count)
        return false;
    *ret = c->expressions.at[i];
    return true;
}

bool condition_has_result(const struct condition *c) {
    for (size_t i = 0; i < c->expressions.count; i++)
        if (spec_has_result(c->expressions.at[i].node))
            return true;
    return false;
}

int condition_split(const char *text, char **ret_pattern, const char **ret_condition,
                    struct err *err) {
    const char *brace = *text == '{' ? strstr(text, "}/") : NULL;
    const char *from = brace ? text + 1 : text, *to = brace ? brace : strchr(text, '/');
    const size_t length = strlen(text);
    const char *begin = to ? to + (brace ? 2 : 1) : NULL, *end = text + length - 1;
    if (!to || to == from || end < begin || *end != '/' || end == begin)
        return err_set(err, EINVAL, "spec",
                       "%s: this is not PATTERN/CONDITION/, like 'work/n > 3/'", text);
    char *pattern = mem_alloc(length + 1);
    memcpy(pattern, from, (size_t)(to - from));
    memcpy(pattern + (begin - text), begin, (size_t)(end - begin));
    *ret_pattern = pattern;
    *ret_condition = pattern + (begin - text);
    return 0;
}

/* ---- tests ---- */

static enum truth truth_of(bool is_true) { return is_true ? TRUTH_TRUE : TRUTH_FALSE; }

static enum truth fits(enum condition_op op, int order) {
    return truth_of(condition_fits(op, order));
}

static int order_of_integers(const struct plain_value *a, const struct plain_value *b) {
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    const int order = (a->magnitude > b->magnitude) - (a->magnitude < b->magnitude);
    return a->negative ? -order : order;
}

static long double real_of(const struct plain_value *v) {
    const long double magnitude = (long double)v->magnitude;
    return v->kind == PLAIN_REAL ? (long double)v->real : v->negative ? -magnitude : magnitude;
}

static enum truth compare_reals(enum condition_op op, const struct plain_value *a,
                                const struct plain_value *b) {
    const long double x = real_of(a), y = real_of(b);
    if (x != x || y != y) /* NaN */
        return truth_of(op == COMPARE_UNEQUAL);
    return fits(op, (x > y) - (x < y));
}

/* Of a text that was cut, only the beginning is known. */
static enum truth compare_texts(enum condition_op op, const struct plain_value *a,
                                const struct plain_value *b) {
    const size_t n = a->length < b->length ? a->length : b->length;
    const int order = n ? memcmp(a->bytes, b->bytes, n) : 0;
    if (order)
        return fits(op, order < 0 ? -1 : 1);
    if ((a->cut && a->length == n) || (b->cut && b->length == n)) {
        const bool certain =
            a->cut != b->cut && (a->cut ? a : b)->length == n && n > (a->cut ? b : a)->length;
        return certain ? fits(op, a->cut ? 1 : -1) : TRUTH_UNKNOWN;
    }
    return fits(op, (a->length > b->length) - (a->length < b->length));
}

static enum truth compare(enum condition_op op, const struct plain_value *a,
                          const struct plain_value *b) {
    if (a->kind == PLAIN_NOTHING || b->kind == PLAIN_NOTHING)
        return TRUTH_UNKNOWN;
    if (a->kind == PLAIN_TEXT && b->kind == PLAIN_TEXT)
        return compare_texts(op, a, b);
    if (a->kind == PLAIN_TEXT || b->kind == PLAIN_TEXT) {
        /* A pointer to a text, beside a number; a null pointer, beside a text. */
        const bool equality = op == COMPARE_EQUAL || op == COMPARE_UNEQUAL;
        const struct plain_value *text = a->kind == PLAIN_TEXT ? a : b, *other = text == a ? b : a;
        if (!equality || other->kind == PLAIN_REAL)
            return TRUTH_UNKNOWN;
        return truth_of((op == COMPARE_EQUAL) ==
                        (text->magnitude && text->magnitude == other->magnitude));
    }
    if (a->kind == PLAIN_REAL || b->kind == PLAIN_REAL)
        return compare_reals(op, a, b);
    return fits(op, order_of_integers(a, b));
}

void condition_mask(const struct compared *v, struct plain_value *value) {
    if (!v->masked || value->kind == PLAIN_NOTHING)
        return;
    const uint64_t bits = value->negative ? -value->magnitude : value->magnitude;
    const bool integer = value->kind == PLAIN_INTEGER;
    *value = (struct plain_value){.kind = integer ? PLAIN_INTEGER : PLAIN_NOTHING,
                                  .magnitude = bits & v->mask};
}

static void read_operand(const struct compared *v, const struct plain_value *values,
                         struct plain_value *ret) {
    *ret = v->is_expression ? values[v->number] : v->constant;
    condition_mask(v, ret);
}

static enum truth test_comparison(const struct condition_node *n,
                                  const struct plain_value *values) {
    struct plain_value a, b;
    read_operand(&n->values[0], values, &a);
    read_operand(&n->values[1], values, &b);
    return compare(n->op, &a, &b);
}

static enum truth test(const struct condition_node *n, const struct plain_value *values) {
    if (condition_compares(n))
        return test_comparison(n, values);
    const enum truth left = test(n->left, values);
    if (n->op == CONDITION_NOT)
        return left == TRUTH_UNKNOWN ? left : truth_of(left == TRUTH_FALSE);
    const enum truth decides = n->op == CONDITION_OR ? TRUTH_TRUE : TRUTH_FALSE;
    if (left == decides)
        return left;
    const enum truth right = test(n->right, values);
    return right == decides || left != TRUTH_UNKNOWN ? right : TRUTH_UNKNOWN;
}

enum truth condition_test(const struct condition *c, const struct plain_value *values) {
    return test(c->root, values);
}

/* ---- operands in what was recorded ---- */

static void name_enumerator(const struct condition *c, const struct compared *v,
                            const struct compared *other, struct operand_reader *ret) {
    struct operand_reader *own = &ret[v->number];
    const struct spec_node *node = c->expressions.at[v->number].node;
    const struct operand_reader *beside = other->is_expression ? &ret[other->number] : NULL;
    if (own->place == READER_UNKNOWN && node->op == SPEC_NAME && beside &&
        beside->place == READER_RECORDED && beside->reader.as_enum &&
        part_enumerator(beside->reader.as_enum, node->name, &own->constant))
        own->place = READER_CONSTANT;
}

static void name_enumerators(const struct condition *c, const struct condition_node *n,
                             struct operand_reader *ret) {
    if (!condition_compares(n)) {
        name_enumerators(c, n->left, ret);
        if (n->right)
            name_enumerators(c, n->right, ret);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (n->values[i].is_expression)
            name_enumerator(c, &n->values[i], &n->values[1 - i], ret);
}

void condition_bind(const struct condition *c, struct types *types, const struct capture *capture,
                    struct operand_reader *ret) {
    for (size_t i = 0; i < c->expressions.count; i++) {
        const struct spec_node *node = c->expressions.at[i].node;
        struct part_place place;
        ret[i] = (struct operand_reader){.place = READER_UNKNOWN};
        if (spec_has_result(node) != (capture->kind == EVENT_RETURN) ||
            !part_find(types, capture, node, &place))
            continue;
        ret[i].place = READER_RECORDED;
        part_reader_init(types, capture, &place, &ret[i].reader);
    }
    name_enumerators(c, c->root, ret);
}

void condition_read(const struct condition *c, const struct operand_reader *readers,
                    const struct capture *capture, const struct captured *captured,
                    struct plain_value *values) {
    for (size_t i = 0; i < c->expressions.count; i++) {
        if (readers[i].place == READER_CONSTANT)
            values[i] = readers[i].constant;
        else if (readers[i].place == READER_RECORDED)
            part_read(&readers[i].reader, capture, captured, &values[i]);
    }
}

void condition_keep(const struct condition *c, struct plain_value *values) {
    for (size_t i = 0; i < c->expressions.count; i++) {
        if (values[i].kind != PLAIN_TEXT)
            continue;
        uint8_t *copy = mem_alloc(values[i].length + 1);
        memcpy(copy, values[i].bytes, values[i].length);
        values[i].bytes = copy;
    }
}

void condition_forget(const struct condition *c, struct plain_value *values) {
    for (size_t i = 0; i < c->expressions.count; i++)
        if (values[i].kind == PLAIN_TEXT)
            free((void *)values[i].bytes);
}
