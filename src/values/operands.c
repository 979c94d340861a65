/* Parses the operands of USDT probes, and makes captures of them. */
#include "values/operands.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "values/names.h"
#include "values/spec.h"

enum { MOST_NAME = 16, STACK_X86 = 7, STACK_AARCH64 = 31, STACK_ARM = 13 };

struct parser {
    enum abi abi;
    const char *at;
    bool failed;
};

static bool is_x86(enum abi abi) { return abi == ABI_X86_64 || abi == ABI_GO_X86_64; }

static bool take(struct parser *p, char c) {
    if (*p->at != c)
        return false;
    p->at++;
    return true;
}

static void expect(struct parser *p, char c) { p->failed |= !take(p, c); }

static void skip_spaces(struct parser *p) {
    while (*p->at == ' ' || *p->at == '\t')
        p->at++;
}

static bool is_number(const char *at) {
    at += *at == '-' || *at == '+';
    return isdigit((unsigned char)*at);
}

static int64_t take_number(struct parser *p) {
    char *end;
    errno = 0;
    const bool negative = *p->at == '-';
    const int64_t value = negative ? strtoll(p->at, &end, 0) : (int64_t)strtoull(p->at, &end, 0);
    p->failed |= !is_number(p->at) || errno;
    p->at = end;
    return value;
}

/* ---- registers ---- */

struct named {
    enum capture_from from;
    uint8_t reg, part, shift;
    bool narrow; /* a part of a register: no address */
};

/* "al", "ax", "ah", "sil", "r8d", "r8w", "r8b": parts of registers, as the whole ones. */
static bool x86_part(const char *name, struct named *ret) {
    static const char letters[] = "adcb"; /* in DWARF's order */
    static const char order[] = "axdxcxbxsidibpsp";
    const size_t n = strlen(name);
    const char *letter = n == 2 ? strchr(letters, name[0]) : NULL;
    if (letter && *name && (name[1] == 'l' || name[1] == 'h')) {
        *ret = (struct named){.reg = (uint8_t)(letter - letters), .shift = name[1] == 'h' ? 8 : 0};
        return true;
    }
    for (uint8_t i = 0; i < 8; i++) {
        const bool same = strncmp(name, order + 2 * (size_t)i, 2) == 0;
        *ret = (struct named){.reg = i};
        if (same && (n == 2 || (n == 3 && name[2] == 'l' && i > 3)))
            return true;
    }
    char whole[MOST_NAME];
    struct abi_piece piece;
    if (n < 3 || n >= MOST_NAME || !strchr("dwb", name[n - 1]))
        return false;
    memcpy(whole, name, n - 1);
    whole[n - 1] = '\0';
    *ret = (struct named){0};
    if (!isdigit((unsigned char)name[1]) || !name_register(ABI_X86_64, whole, &piece))
        return false;
    ret->reg = piece.reg;
    return true;
}

static bool aarch64_part(const char *name, struct named *ret) {
    char whole[MOST_NAME];
    struct abi_piece piece;
    *ret = (struct named){.reg = STACK_AARCH64};
    if (strcmp(name, "sp") == 0)
        return true;
    if (*name != 'w' || strlen(name) >= MOST_NAME)
        return false;
    strcpy(whole, name);
    *whole = 'x';
    if (!name_register(ABI_AARCH64, whole, &piece))
        return false;
    ret->reg = piece.reg;
    return true;
}

static bool arm_part(const char *name, struct named *ret) {
    static const struct {
        const char *name;
        uint8_t reg;
    } others[] = {{"sp", STACK_ARM}, {"fp", 11},         {"ip", 12}, {"sl", 10},
                  {"sb", 9},         {"r13", STACK_ARM}, {"r14", 14}};
    char *end;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i].name) == 0) {
            *ret = (struct named){.reg = others[i].reg};
            return true;
        }
    const unsigned long n =
        *name == 's' && isdigit((unsigned char)name[1]) ? strtoul(name + 1, &end, 10) : 32;
    if (n > 31 || *end)
        return false;
    *ret =
        (struct named){.from = FROM_VECTOR, .reg = (uint8_t)(n / 2), .part = (uint8_t)(n % 2 * 4)};
    return true;
}

static bool find_register(enum abi abi, const char *name, struct named *ret) {
    struct abi_piece piece;
    *ret = (struct named){0};
    const bool part = is_x86(abi)          ? x86_part(name, ret)
                      : abi == ABI_AARCH64 ? aarch64_part(name, ret)
                                           : arm_part(name, ret);
    if (part) {
        ret->from = ret->from ? ret->from : FROM_REGISTER;
        ret->narrow = is_x86(abi) || *name == 'w';
        return true;
    }
    if (!name_register(abi, name, &piece))
        return false;
    *ret = (struct named){.from = piece.from, .reg = piece.reg, .part = piece.part};
    return true;
}

/* A register's name; x86-64's stand behind a "%". */
static bool take_register(struct parser *p, struct named *ret) {
    char name[MOST_NAME];
    size_t n = 0;
    if (is_x86(p->abi) && !take(p, '%'))
        return false;
    while (isalnum((unsigned char)p->at[n]) && n < MOST_NAME - 1) {
        name[n] = (char)tolower((unsigned char)p->at[n]);
        n++;
    }
    name[n] = '\0';
    if (!n || !find_register(p->abi, name, ret))
        return false;
    p->at += n;
    return true;
}

static uint8_t take_address(struct parser *p) {
    struct named r = {0};
    p->failed |= !take_register(p, &r) || r.from != FROM_REGISTER || r.narrow;
    return r.reg;
}

static void take_base(struct parser *p, struct operand *ret) {
    ret->kind = OPERAND_MEMORY;
    ret->from = FROM_REGISTER;
    ret->reg = take_address(p);
}

static void take_index(struct parser *p, struct operand *ret) {
    ret->indexed = true;
    ret->index = take_address(p);
}

/* ---- forms ---- */

static size_t name_bytes(const char *at) {
    size_t n = 0;
    while (isalnum((unsigned char)at[n]) || (at[n] && strchr("_.$", at[n])))
        n++;
    return n && !isdigit((unsigned char)*at) ? n : 0;
}

/* -20, sym, sym+8, 8+sym */
static void take_sum(struct parser *p, struct operand *ret) {
    do {
        const size_t n = is_x86(p->abi) ? name_bytes(p->at) : 0;
        if (n) {
            p->failed |= ret->symbol != NULL;
            ret->symbol = p->at;
            ret->symbol_bytes = n;
            p->at += n;
        } else {
            ret->number += take_number(p);
        }
    } while (!p->failed && (*p->at == '-' || take(p, '+')));
}

/* -20(%rbp), (%rax,%rbx,4), sym(%rip), sym */
static void take_x86_memory(struct parser *p, struct operand *ret) {
    static const char behind_symbol[] = "(%rip)";
    if (*p->at != '(')
        take_sum(p, ret);
    if (ret->symbol) {
        const size_t n = sizeof behind_symbol - 1;
        p->at += strncmp(p->at, behind_symbol, n) == 0 ? n : 0;
        ret->kind = OPERAND_MEMORY;
        ret->from = FROM_MODULE;
        return;
    }
    expect(p, '(');
    take_base(p, ret);
    if (take(p, ',')) {
        take_index(p, ret);
        const int64_t scale = take(p, ',') ? take_number(p) : 1;
        p->failed |= scale != 1 && scale != 2 && scale != 4 && scale != 8;
        ret->scale = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;
    }
    expect(p, ')');
}

/* [sp, 16], [x0, x1, lsl 3], [fp, #-8] */
static void take_arm_memory(struct parser *p, struct operand *ret) {
    expect(p, '[');
    skip_spaces(p);
    take_base(p, ret);
    skip_spaces(p);
    while (take(p, ',')) {
        skip_spaces(p);
        take(p, '#');
        if (is_number(p->at)) {
            ret->number += take_number(p);
        } else if (strncmp(p->at, "lsl", 3) == 0 && ret->indexed) {
            p->at += 3;
            skip_spaces(p);
            take(p, '#');
            const int64_t scale = take_number(p);
            p->failed |= scale < 0 || scale > 3;
            ret->scale = (uint8_t)(scale & 3);
        } else {
            p->failed |= ret->indexed;
            take_index(p, ret);
        }
        skip_spaces(p);
    }
    expect(p, ']');
}

static void take_constant(struct parser *p, struct operand *ret) {
    ret->kind = OPERAND_CONSTANT;
    ret->number = take_number(p);
}

static void take_operand(struct parser *p, struct operand *ret) {
    struct named r;
    const char *start = p->at;
    if (take(p, is_x86(p->abi) ? '$' : '#') || (!is_x86(p->abi) && is_number(p->at))) {
        take_constant(p, ret);
    } else if (*p->at == '[') {
        take_arm_memory(p, ret);
    } else if (take_register(p, &r)) {
        ret->kind = OPERAND_REGISTER;
        ret->from = r.from;
        ret->reg = r.reg;
        ret->part = r.part;
        ret->shift = r.shift;
    } else {
        p->at = start;
        take_x86_memory(p, ret);
    }
}

/* Goes to the end of an operand that has another form. A space inside brackets belongs to it. */
static void skip_operand(struct parser *p) {
    for (int depth = 0; *p->at && (depth > 0 || *p->at != ' '); p->at++)
        depth += *p->at == '[' || *p->at == '(' ? 1 : *p->at == ']' || *p->at == ')' ? -1 : 0;
}

/* "-4@", "8f@". None: a word. */
static void take_size(struct parser *p, struct operand *ret) {
    const char *at = strchr(p->at, '@'), *space = strpbrk(p->at, " \t");
    ret->bytes = (uint8_t)abi_word(p->abi);
    if (!at || (space && space < at))
        return;
    const int64_t size = take_number(p);
    const int64_t bytes = size < 0 ? -size : size;
    ret->is_signed = size < 0;
    ret->is_float = take(p, 'f');
    ret->bytes = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 ? (uint8_t)bytes : 0;
    p->failed |= !ret->bytes || p->at != at;
    p->at = at + 1;
}

bool operand_next(enum abi abi, const char **text, struct operand *ret) {
    struct parser p = {.abi = abi, .at = *text};
    *ret = (struct operand){0};
    skip_spaces(&p);
    if (!*p.at)
        return false;
    take_size(&p, ret);
    const char *start = p.at;
    take_operand(&p, ret);
    p.failed |= *p.at && *p.at != ' ' && *p.at != '\t';
    if (p.failed) {
        const uint8_t bytes = ret->bytes;
        *ret = (struct operand){.bytes = bytes};
        p.at = start;
        skip_operand(&p);
    }
    *text = p.at;
    return true;
}

/* ---- captures ---- */

static type_id type_of(const struct probe_request *r, const struct operand *o) {
    if (!o->bytes)
        return 0;
    return o->is_float && o->bytes >= 4 ? name_float(r->types, o->bytes)
                                        : name_integer(r->types, o->bytes, o->is_signed);
}

/* The address of O's symbol, and of the bytes behind it. */
static bool find_symbol(const struct probe_request *r, const struct operand *o, uint64_t *ret) {
    AUTO_FREE char *name = mem_printf("%.*s", (int)o->symbol_bytes, o->symbol);
    if (!r->symbol_at || !r->symbol_at(r->ctx, name, ret))
        return false;
    *ret += (uint64_t)o->number;
    return true;
}

/* False: stubs cannot do it. */
static bool set_place(const struct probe_request *r, const struct operand *o,
                      struct capture_value *v) {
    const bool wide = o->bytes > abi_word(r->abi) && o->kind == OPERAND_REGISTER;
    const bool far = o->kind == OPERAND_MEMORY && o->number != (int32_t)o->number;
    v->from = o->from;
    v->reg = o->reg;
    v->part = o->part;
    v->bytes = o->bytes;
    if (o->kind == OPERAND_UNKNOWN || !o->bytes || (wide && o->from == FROM_REGISTER) || far)
        return false;
    if (o->kind == OPERAND_CONSTANT) {
        v->from = FROM_CONSTANT;
        v->constant = (uint64_t)o->number;
    } else if (o->symbol) {
        v->steps = 1;
        return find_symbol(r, o, &v->constant);
    } else if (o->kind == OPERAND_MEMORY) {
        v->steps = 1;
        v->step[0].offset = (int32_t)o->number;
        if (o->indexed) {
            v->from = FROM_INDEXED;
            v->part = capture_index(o->index, o->scale);
        }
    } else if (o->shift) {
        v->bytes = (uint16_t)(o->bytes + o->shift / 8);
        v->shift = o->shift;
        v->width = (uint8_t)(8 * o->bytes);
    }
    return true;
}

/* The text at the pointer that V has recorded. */
static bool set_text(const struct probe_request *r, struct capture_value *v) {
    if (v->from == FROM_CONSTANT || v->width || v->bytes != abi_word(r->abi))
        return false;
    if (v->steps) {
        v->steps = 2;
        v->step[1].offset = 0;
    }
    v->bytes = 0;
    v->string = true;
    v->unit = 1;
    v->most = (uint16_t)r->strings;
    v->name = NULL;
    return true;
}

static void push(struct capture *c, const struct capture_value *v) {
    c->values = mem_resize(c->values, c->count + 1, sizeof *c->values);
    c->values[c->count++] = *v;
}

/* Appends argument NUMBER, O, as FORMAT says. */
static void add(const struct probe_request *r, const struct operand *o, unsigned number,
                char format, struct capture *ret) {
    struct capture_value v = {.length_of = -1, .type = type_of(r, o)};
    ret->names = mem_resize(ret->names, ret->name_count + 1, sizeof *ret->names);
    ret->names[ret->name_count] = mem_printf("arg%u", number);
    v.name = ret->names[ret->name_count++];
    if (!set_place(r, o, &v)) {
        v = (struct capture_value){.name = v.name,
                                   .type = v.type,
                                   .from = FROM_NOTHING,
                                   .length_of = -1,
                                   .missing = VALUE_UNTYPED};
        push(ret, &v);
        return;
    }
    struct capture_value text = v;
    const bool is_text = format == 's' && set_text(r, &text);
    if (is_text)
        text.type = v.type = name_pointer(r->types, name_char(r->types), abi_word(r->abi));
    else
        v.format = format == 's' || format == 'i' ? 0 : format;
    push(ret, &v);
    if (is_text)
        push(ret, &text);
}

static int check_term(const char *spec, const struct spec_term *t, struct err *err) {
    static const char formats[] = "iduxocs";
    if (t->root->op != SPEC_INTEGER)
        return spec_error(err, spec, t->at, "probes have arg1, arg2, …");
    if (t->format.letter && !strchr(formats, t->format.letter))
        return spec_error(err, spec, t->at, "arguments of probes have the formats %s", formats);
    return 0;
}

int operands_check_spec(const char *spec, struct err *err) {
    struct spec parsed;
    int rc = spec_parse(spec, &parsed, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < parsed.terms.count && rc == 0; i++)
        rc = check_term(spec, &parsed.terms.at[i], err);
    spec_done(&parsed);
    return rc;
}

static int add_terms(const struct probe_request *r, const struct operand *all, unsigned count,
                     struct capture *ret, struct err *err) {
    struct spec parsed;
    int rc = spec_parse(r->spec, &parsed, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < parsed.terms.count && rc == 0; i++) {
        const struct spec_term *t = &parsed.terms.at[i];
        rc = check_term(r->spec, t, err);
        if (rc == 0 && t->root->number <= count)
            add(r, &all[t->root->number - 1], (unsigned)t->root->number, t->format.letter, ret);
    }
    spec_done(&parsed);
    return rc;
}

int operands_compile(const struct probe_request *r, struct capture *ret, struct err *err) {
    enum { MOST = CAPTURE_MOST_VALUES / 2 };
    struct operand all[MOST];
    const char *text = r->arguments;
    unsigned count = 0;
    int rc = 0;
    *ret = (struct capture){.kind = EVENT_CONTROL};
    while (count < MOST && operand_next(r->abi, &text, &all[count]))
        count++;
    if (r->spec)
        rc = add_terms(r, all, count, ret, err);
    for (unsigned i = 0; !r->spec && i < count; i++)
        add(r, &all[i], i + 1, 0, ret);
    if (rc < 0)
        capture_done(ret);
    return rc;
}
