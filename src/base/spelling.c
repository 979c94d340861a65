/* Compares names without blanks and defaults of the C++ library. */
#include "base/spelling.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

static bool starts(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* ---- brackets and operators ---- */

const char *spelling_operator_end(const char *text, const char *p) {
    static const char *const signs[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "->", "<<", ">>",
                                        "<=", ">=", "==",  "!=",  "&&",  "||",  "++", "--", "+=",
                                        "-=", "*=", "/=",  "%=",  "^=",  "&=",  "|="};
    static const char word[] = "operator";
    if (*p != 'o' || !starts(p, word) || (p > text && is_word(p[-1])))
        return NULL;
    const char *end = p + strlen(word);
    if (is_word(*end))
        return NULL;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (starts(end, signs[i]))
            return end + strlen(signs[i]);
    return *end && strchr("<>=+-*/%^&|!~,", *end) ? end + 1 : end;
}

static bool opens(char c) { return c == '(' || c == '[' || c == '{' || c == '<'; }
static bool closes(char c) { return c == ')' || c == ']' || c == '}' || c == '>'; }

/* True if the '>' at P belongs to an arrow. */
static bool in_arrow(const char *text, const char *p) {
    return *p == '>' && p > text && p[-1] == '-';
}

const char *spelling_group_end(const char *text) {
    size_t nesting = 0;
    for (const char *p = text; *p;) {
        const char *operator_end = spelling_operator_end(text, p);
        if (operator_end) {
            p = operator_end;
            continue;
        }
        nesting += opens(*p);
        if (closes(*p) && !in_arrow(text, p) && --nesting == 0)
            return p + 1;
        p++;
    }
    return text + strlen(text);
}

/* ---- defaults of the C++ library ---- */

typedef ARRAY(char) text_array;

static void add(text_array *to, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        ARRAY_PUSH(to, text[i]);
}

/* "std::" at P may be followed by the name of a namespace that nobody writes. */
static const char *skip_inline_namespace(const char *p) {
    static const char *const hidden[] = {"__cxx11::", "__1::"};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (starts(p, hidden[i]))
            return p + strlen(hidden[i]);
    return p;
}

/* If an argument that is usually a default begins at P, with its comma: its end. Otherwise P. */
static const char *skip_default(const char *p) {
    static const char begin[] = ", std::";
    static const char *const defaults[] = {"allocator<", "char_traits<", "less<",
                                           "hash<",      "equal_to<",    "default_delete<"};
    if (*p != ',' || !starts(p, begin))
        return p;
    const char *word = skip_inline_namespace(p + strlen(begin));
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        if (!starts(word, defaults[i]))
            continue;
        const char *end = spelling_group_end(word + strlen(defaults[i]) - 1);
        const char *next = end + (*end == ' ');
        if (*next == ',' || *next == '>')
            return end;
    }
    return p;
}

/* The text without defaults. */
static char *drop_defaults(const char *name) {
    text_array out = {0};
    for (const char *p = name; *p;) {
        const char *end = skip_default(p);
        if (end != p) {
            p = end;
        } else if (*p == ' ' && p[1] == '>' && out.count && out.at[out.count - 1] != '<') {
            p++;
        } else if (*p == 's' && starts(p, "std::") && (p == name || !is_word(p[-1]))) {
            add(&out, p, 5);
            p = skip_inline_namespace(p + 5);
        } else {
            ARRAY_PUSH(&out, *p++);
        }
    }
    ARRAY_PUSH(&out, '\0');
    return out.at;
}

/* std::basic_NAME<char> is std::NAME, and std::basic_NAME<wchar_t> is std::wNAME. */
static char *name_typedefs(const char *name) {
    static const char basic[] = "std::basic_";
    static const char *const kinds[][2] = {{"<char>", ""},
                                           {"<wchar_t>", "w"},
                                           {"<char8_t>", "u8"},
                                           {"<char16_t>", "u16"},
                                           {"<char32_t>", "u32"}};
    text_array out = {0};
    for (const char *p = name; *p;) {
        const char *word = p + sizeof basic - 1, *kind = NULL, *prefix = NULL;
        if (*p == 's' && starts(p, basic) && (p == name || !is_word(p[-1])))
            for (kind = word; is_word(*kind); kind++)
                ;
        for (size_t i = 0; kind && !prefix && i < sizeof kinds / sizeof *kinds; i++)
            if (starts(kind, kinds[i][0]))
                prefix = kinds[i][1];
        if (!prefix) {
            ARRAY_PUSH(&out, *p++);
            continue;
        }
        add(&out, "std::", 5);
        add(&out, prefix, strlen(prefix));
        add(&out, word, (size_t)(kind - word));
        p = strchr(kind, '>') + 1;
    }
    ARRAY_PUSH(&out, '\0');
    return out.at;
}

char *spelling_fold(const char *name) {
    if (!strstr(name, "std::"))
        return NULL;
    AUTO_FREE char *without = drop_defaults(name);
    AUTO_FREE char *folded = name_typedefs(without);
    return strcmp(folded, name) == 0 ? NULL : steal(folded);
}

/* ---- comparison ---- */

static const char *skip_blanks(const char *p) { return p + strspn(p, " "); }

struct comparison {
    const char *name; /* its begin */
    bool wild;
    const char *resume_text, *resume_name; /* behind the last wildcard; NULL: there was none */
    bool balanced;                         /* that wildcard is an ELLIPSIS */
};

static size_t wildcard_length(const struct comparison *c, const char *text) {
    if (starts(text, ELLIPSIS))
        return strlen(ELLIPSIS);
    return c->wild && *text == '*';
}

/* Lets the last wildcard stand for more of the name. */
static bool extend(struct comparison *c) {
    const char *at = c->resume_name;
    if (!at || !*at || (c->balanced && closes(*at) && !in_arrow(c->name, at)))
        return false;
    c->resume_name = c->balanced && opens(*at) ? spelling_group_end(at) : at + 1;
    return true;
}

bool spelling_match(const char *text, const char *name, bool wild) {
    struct comparison c = {.name = name, .wild = wild};
    for (;;) {
        size_t wildcard = wildcard_length(&c, text);
        if (wildcard) {
            c.balanced = wildcard > 1;
            c.resume_text = text += wildcard;
            c.resume_name = name;
            continue;
        }
        const char *t = skip_blanks(text), *n = skip_blanks(name);
        if (!*t && !*n)
            return true;
        if (wildcard_length(&c, t)) {
            text = t;
        } else if (*t && *n && (*t == *n || (wild && *t == '?'))) {
            text = t + 1;
            name = n + 1;
        } else {
            if (!extend(&c))
                return false;
            text = c.resume_text;
            name = c.resume_name;
        }
    }
}
