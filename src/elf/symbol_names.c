/* Takes readable names of C++, Rust and D apart. */
#include "elf/symbol_names.h"

#include <string.h>

#include "base/spelling.h"
#include "elf/demangle.h"

static bool starts(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *end, const char *with) {
    size_t length = strlen(with);
    return (size_t)(end - text) >= length && memcmp(end - length, with, length) == 0;
}

/* Adds NAME, and frees it, unless it is empty or there already. */
static void add(struct function_names *names, char *name) {
    bool known = !*name;
    for (size_t i = 0; i < names->list.count && !known; i++)
        known = strcmp(names->list.at[i], name) == 0;
    if (known)
        free(name);
    else
        ARRAY_PUSH(&names->list, name);
}

static char *piece(const char *from, const char *end) {
    return mem_printf("%.*s", (int)(end - from), from);
}

/* ---- C++ ---- */

struct parts {
    const char *name;  /* behind the return type */
    const char *end;   /* of the name: parameters, or the suffix of a clone; or the text's end */
    const char *local; /* parameters of a function around it, "f(int)::{lambda()#1}"; NULL: none */
};

/* Behind the qualifiers of a member function. */
static const char *skip_qualifiers(const char *p) {
    static const char *const words[] = {" const", " volatile", " &&", " &"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (starts(p, words[i]))
            p += strlen(words[i]);
    return p;
}

/* Behind the parenthesis at P, or NULL if the parameters of the whole function begin there. Sets
 * *NAME if the parenthesis is that of a return type, "void (*f<int>(int))(char)". */
static const char *parenthesis(const char *text, const char *p, const char **name) {
    static const char unnamed[] = "(anonymous namespace)";
    if (starts(p, unnamed))
        return p + sizeof unnamed - 1;
    if (p[1] && strchr("*&", p[1]) && p > text && p[-1] == ' ')
        return *name = p + 1 + strspn(p + 1, "*&");
    const char *end = spelling_group_end(p), *next = skip_qualifiers(end);
    if (ends(text, p, "decltype ") || ends(text, p, "decltype"))
        return end;
    return starts(next, "::") ? next : NULL;
}

static struct parts split(const char *text) {
    struct parts s = {text, text + strlen(text), NULL};
    bool conversion = false;
    for (const char *p = text; *p;) {
        const char *operator_end = spelling_operator_end(text, p);
        if (operator_end) {
            p = operator_end;
            conversion = *p == ' ' && p[-1] == 'r';
            p += *p == ' ';
        } else if (*p == '(') {
            const char *next = parenthesis(text, p, &s.name);
            if (!next) {
                s.end = p;
                break;
            }
            if (!s.local && starts(skip_qualifiers(next), "::") && p[1] != 'a')
                s.local = p;
            p = next;
        } else if (*p == '<' || *p == '[' || *p == '{') {
            p = spelling_group_end(p);
        } else if (starts(p, " [clone ")) {
            s.end = p;
            break;
        } else {
            if (*p == ' ' && !conversion)
                s.name = p + 1;
            p++;
        }
    }
    if (ends(text, s.name, " to ") || ends(text, s.name, " for "))
        s.name = text; /* "virtual thunk to f()" is not f */
    return s;
}

/* The name without its template arguments and ABI tags. LAST: only those at its end are left out.
 */
static char *without_arguments(const char *name, bool last) {
    ARRAY(char) out = {0};
    for (const char *p = name; *p;) {
        const char *operator_end = spelling_operator_end(name, p);
        const char *end = *p == '<' || starts(p, "[abi:") ? spelling_group_end(p) : p;
        bool dropped = end != p && (!last || !*end || starts(end, "[abi:"));
        if (dropped && out.count && out.at[out.count - 1] == ' ')
            out.count--; /* "operator<< <int>" */
        if (operator_end)
            end = operator_end;
        else if (end == p)
            end = p + 1;
        for (; p < end && !dropped; p++)
            ARRAY_PUSH(&out, *p);
        p = end;
    }
    ARRAY_PUSH(&out, '\0');
    return out.at;
}

static void add_cxx_forms(struct function_names *names, const char *text) {
    struct parts s = split(text);
    char *name = piece(s.name, s.end);
    if (s.name != text)
        add(names, piece(text, s.end));
    if (s.name != text && *s.end)
        add(names, mem_strdup(s.name));
    if (strpbrk(name, "<[")) {
        add(names, without_arguments(name, true));
        add(names, without_arguments(name, false));
    }
    if (s.local && s.name < s.local)
        add(names, piece(s.name, s.local));
    add(names, name);
}

static void add_cxx(struct function_names *names, const char *text) {
    AUTO_FREE char *folded = spelling_fold(text);
    add_cxx_forms(names, text);
    if (folded) {
        add(names, mem_strdup(folded));
        add_cxx_forms(names, folded);
    }
}

/* ---- Rust ---- */

static char *without_generics(const char *text) {
    ARRAY(char) out = {0};
    for (const char *p = text; *p;) {
        const char *group = starts(p, "::<") && !starts(p, "::<impl ") ? p + 2 : p;
        bool kept = *group != '<' || p == text || ends(text, p, "::");
        const char *end = *group == '<' ? spelling_group_end(group) : p + 1;
        for (; kept && p < end; p++)
            ARRAY_PUSH(&out, *p);
        p = end;
    }
    ARRAY_PUSH(&out, '\0');
    return out.at;
}

/* "<TYPE as TRAIT>::f" belongs to TYPE and to TRAIT, "<TYPE>::f" to TYPE. */
struct owners {
    const char *type, *type_end;
    const char *trait, *trait_end; /* NULL: none */
    const char *rest;              /* "::f"; NULL: TEXT has another form */
};

static struct owners owners_of(const char *text) {
    struct owners o = {.rest = NULL};
    const char *end = *text == '<' ? spelling_group_end(text) : text;
    if (!starts(end, "::") || starts(text, "<impl "))
        return o;
    o = (struct owners){.type = text + 1, .type_end = end - 1, .rest = end};
    for (const char *p = o.type; p < end - 1;
         p = strchr("([{<", *p) ? spelling_group_end(p) : p + 1)
        if (starts(p, " as "))
            o = (struct owners){text + 1, p, p + 4, end - 1, end};
    return o;
}

static char *owned(const char *owner, const char *end, const char *rest) {
    return mem_printf("%.*s%s", (int)(end - owner), owner, rest);
}

static void add_rust(struct function_names *names, const char *text, const char *symbol) {
    char *plain = without_generics(text), *hashed = demangle_with_hash(symbol);
    struct owners o = owners_of(plain);
    if (o.rest)
        add(names, owned(o.type, o.type_end, o.rest));
    if (o.trait)
        add(names, owned(o.trait, o.trait_end, o.rest));
    add(names, plain);
    if (hashed)
        add(names, hashed);
}

/* ---- D ---- */

/* The parameters are the last parenthesis that is no template's, "f!(int)(char) const". */
static const char *d_parameters(const char *text) {
    const char *found = text + strlen(text);
    for (const char *p = text; *p;) {
        const char *end = *p == '(' ? spelling_group_end(p) : p + 1;
        if (*p == '(' && p > text && p[-1] != '!')
            found = p;
        else if (*p == '.')
            found = text + strlen(text); /* "f().g": those of a function around it */
        if (starts(p, " [clone "))
            return *found ? found : p;
        p = end;
    }
    return found;
}

/* The part of the name that ends at END, behind its last '.'. */
static const char *part_before(const char *text, const char *end) {
    while (end > text && end[-1] != '.')
        end--;
    return end;
}

/* Without "!(…)", and without the second name of "array!(int).array". */
static char *without_instances(const char *text) {
    ARRAY(char) out = {0};
    for (const char *p = text; *p;) {
        if (!starts(p, "!(")) {
            ARRAY_PUSH(&out, *p++);
            continue;
        }
        const char *part = part_before(text, p), *end = spelling_group_end(p + 1);
        size_t length = (size_t)(p - part);
        bool twice = *end == '.' && strncmp(end + 1, part, length) == 0 &&
                     (!end[1 + length] || strchr(".!([ ", end[1 + length]));
        p = twice ? end + 1 + length : end;
    }
    ARRAY_PUSH(&out, '\0');
    return out.at;
}

static void add_d(struct function_names *names, const char *text) {
    char *name = piece(text, d_parameters(text));
    add(names, without_instances(name));
    add(names, name);
}

/* ---- all languages ---- */

void symbol_names_add(struct function_names *names, const char *symbol) {
    enum language language;
    char *readable = demangle_as(symbol, &language);
    AUTO_FREE char *text = mem_strdup(readable);
    add(names, readable);
    if (language == LANGUAGE_CXX)
        add_cxx(names, text);
    else if (language == LANGUAGE_RUST)
        add_rust(names, text, symbol);
    else if (language == LANGUAGE_D)
        add_d(names, text);
    if (language != LANGUAGE_PLAIN)
        add(names, mem_strdup(symbol));
}

char *symbol_bare_name(const char *symbol) {
    enum language language;
    AUTO_FREE char *text = demangle_as(symbol, &language);
    if (language == LANGUAGE_CXX) {
        struct parts s = split(text);
        AUTO_FREE char *name = piece(s.name, s.end);
        return without_arguments(name, false);
    }
    if (language == LANGUAGE_RUST) {
        AUTO_FREE char *plain = without_generics(text);
        struct owners o = owners_of(plain);
        if (o.trait)
            return owned(o.trait, o.trait_end, o.rest);
        return o.rest ? owned(o.type, o.type_end, o.rest) : steal(plain);
    }
    if (language == LANGUAGE_D) {
        AUTO_FREE char *name = piece(text, d_parameters(text));
        return without_instances(name);
    }
    return steal(text);
}
