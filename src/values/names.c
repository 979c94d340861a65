/* Names of types and registers. */
#include "values/names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ---- */

static type_id find_or_add(struct types *types, const struct type *t) {
    type_id found = types_find(types, t->kind, t->name);
    if (found && types_get(types, found)->bytes == t->bytes &&
        types_get(types, found)->flags == t->flags)
        return found;
    return types_add(types, t);
}

type_id name_integer(struct types *types, unsigned bytes, bool is_signed) {
    char name[16];
    snprintf(name, sizeof name, "%sint%u_t", is_signed ? "" : "u", bytes * 8);
    return find_or_add(types, &(struct type){.kind = TYPE_INTEGER,
                                             .name = name,
                                             .bytes = bytes,
                                             .flags = is_signed ? TYPE_SIGNED : 0});
}

type_id name_float(struct types *types, unsigned bytes) {
    const char *name = bytes == 4 ? "float" : bytes == 8 ? "double" : "long double";
    return find_or_add(
        types, &(struct type){.kind = TYPE_FLOAT, .name = name, .bytes = bytes > 8 ? 16 : bytes});
}

type_id name_char(struct types *types) {
    return find_or_add(types, &(struct type){.kind = TYPE_INTEGER,
                                             .name = "char",
                                             .bytes = 1,
                                             .flags = TYPE_SIGNED | TYPE_CHARACTER});
}

type_id name_pointer(struct types *types, type_id of, unsigned word) {
    return types_add(types,
                     &(struct type){.kind = TYPE_POINTER, .name = "", .bytes = word, .of = of});
}

struct base_type {
    const char *name;
    unsigned bytes; /* 0: a word */
    bool is_signed;
};

static const struct base_type bases[] = {{"signed char", 1, true},
                                         {"unsigned char", 1, false},
                                         {"short", 2, true},
                                         {"short int", 2, true},
                                         {"unsigned short", 2, false},
                                         {"int", 4, true},
                                         {"signed", 4, true},
                                         {"signed int", 4, true},
                                         {"unsigned", 4, false},
                                         {"unsigned int", 4, false},
                                         {"long", 0, true},
                                         {"long int", 0, true},
                                         {"unsigned long", 0, false},
                                         {"long long", 8, true},
                                         {"unsigned long long", 8, false},
                                         {"int8_t", 1, true},
                                         {"uint8_t", 1, false},
                                         {"int16_t", 2, true},
                                         {"uint16_t", 2, false},
                                         {"int32_t", 4, true},
                                         {"uint32_t", 4, false},
                                         {"int64_t", 8, true},
                                         {"uint64_t", 8, false},
                                         {"size_t", 0, false},
                                         {"ssize_t", 0, true},
                                         {"uintptr_t", 0, false},
                                         {"intptr_t", 0, true}};

static type_id base_type(struct types *types, const char *name, unsigned word) {
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (strcmp(bases[i].name, name) == 0)
            return name_integer(types, bases[i].bytes ? bases[i].bytes : word, bases[i].is_signed);
    if (strcmp(name, "char") == 0)
        return name_char(types);
    if (strcmp(name, "float") == 0 || strcmp(name, "double") == 0)
        return name_float(types, *name == 'f' ? 4 : 8);
    if (strcmp(name, "bool") == 0 || strcmp(name, "_Bool") == 0)
        return find_or_add(
            types,
            &(struct type){.kind = TYPE_INTEGER, .name = name, .bytes = 1, .flags = TYPE_BOOLEAN});
    return 0;
}

static const char *without(const char *text, const char *word) {
    size_t n = strlen(word);
    return strncmp(text, word, n) == 0 && isspace((unsigned char)text[n]) ? text + n + 1 : NULL;
}

/* A type without "*"; struct, union, enum and class say which kinds count. */
static type_id named_type(struct types *types, const char *name, unsigned word) {
    static const struct {
        const char *word;
        enum type_kind kind;
    } kinds[] = {{"struct", TYPE_STRUCT}, {"class", TYPE_STRUCT}, {"union", TYPE_UNION},
                 {"enum", TYPE_ENUM},     {"", TYPE_TYPEDEF},     {"", TYPE_STRUCT},
                 {"", TYPE_UNION},        {"", TYPE_ENUM},        {"", TYPE_INTEGER},
                 {"", TYPE_FLOAT}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *rest = *kinds[i].word ? without(name, kinds[i].word) : name;
        type_id found = rest ? types_find(types, kinds[i].kind, rest) : 0;
        if (found)
            return found;
    }
    return base_type(types, name, word);
}

type_id name_type(struct types *types, const char *text, unsigned word) {
    char name[256];
    size_t n = 0;
    unsigned stars = 0;
    for (const char *rest; (rest = without(text, "const")) || (rest = without(text, "volatile"));)
        text = rest;
    for (; *text; text++) {
        bool space = isspace((unsigned char)*text);
        if (*text == '*')
            stars++;
        else if (stars && !space)
            return 0;
        else if ((!space || (n && name[n - 1] != ' ')) && n < sizeof name - 1)
            name[n++] = space ? ' ' : *text;
    }
    while (n && name[n - 1] == ' ')
        n--;
    name[n] = '\0';
    type_id id = named_type(types, name, word);
    if (!id && !(stars && strcmp(name, "void") == 0))
        return 0;
    for (; stars; stars--)
        id = name_pointer(types, id, word);
    return id;
}

/* ---- registers ---- */

/* Two letters each of the names of x86-64's first eight registers, in DWARF's order. */
static int x86_number(const char *name) {
    static const char order[] = "axdxcxbxsidibpsp";
    if ((*name == 'r' || *name == 'e') && strlen(name) == 3)
        for (int i = 0; i < 8; i++)
            if (strncmp(name + 1, order + 2 * i, 2) == 0)
                return i;
    int number = -1, end = 0;
    if (sscanf(name, "r%2d%n", &number, &end) == 1 && number >= 8 && number <= 15 && !name[end])
        return number;
    return -1;
}

static int numbered(const char *name, const char *prefix, int most) {
    size_t n = strlen(prefix);
    if (strncmp(name, prefix, n) != 0 || !isdigit((unsigned char)name[n]) || strlen(name + n) > 2)
        return -1;
    int number = atoi(name + n);
    return number <= most ? number : -1;
}

bool name_register(enum abi abi, const char *name, struct abi_piece *ret) {
    int general = -1, vector = -1;
    if (abi == ABI_X86_64 || abi == ABI_GO_X86_64) {
        general = x86_number(name);
        vector = numbered(name, "xmm", 15);
    } else if (abi == ABI_AARCH64) {
        general = strcmp(name, "lr") == 0 ? 30 : numbered(name, "x", 30);
        for (const char *p = "dvqs"; *p && vector < 0; p++)
            vector = numbered(name, (char[]){*p, '\0'}, 31);
    } else {
        general = strcmp(name, "lr") == 0 ? 14 : numbered(name, "r", 12);
        vector = numbered(name, "d", 15);
    }
    if (general < 0 && vector < 0)
        return false;
    *ret = (struct abi_piece){.from = vector < 0 ? FROM_REGISTER : FROM_VECTOR};
    ret->reg = (uint8_t)(vector < 0 ? general : vector);
    ret->bytes = vector < 0 ? abi_word(abi) : 8;
    return true;
}

struct abi_piece name_argument(enum abi abi, unsigned number, bool is_float) {
    static const uint8_t x86[] = {5, 4, 1, 2, 8, 9};
    static const uint8_t go[] = {0, 3, 2, 5, 4, 8, 9, 10, 11};
    bool arm = abi == ABI_ARM_HARD || abi == ABI_ARM_SOFT;
    unsigned registers = is_float               ? 8
                         : abi == ABI_X86_64    ? 6
                         : abi == ABI_GO_X86_64 ? 9
                         : arm                  ? 4
                                                : 8;
    unsigned word = abi_word(abi), i = number - 1;
    struct abi_piece p = {.bytes = is_float ? 8 : word, .reg = (uint8_t)i};
    if (i >= registers) {
        p.from = FROM_STACK;
        p.stack_offset = (int32_t)(abi_stack_arguments(abi) + (i - registers) * word);
        return p;
    }
    p.from = is_float ? FROM_VECTOR : FROM_REGISTER;
    if (!is_float && abi == ABI_X86_64)
        p.reg = x86[i];
    if (!is_float && abi == ABI_GO_X86_64)
        p.reg = go[i];
    return p;
}
