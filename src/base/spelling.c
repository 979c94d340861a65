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

const char *spelling_literal_end(const char *text) {
    if (*text == '"') {
        const char *end = strchr(text + 1, '"');
        return end ? end + 1 : NULL;
    }
    if (*text != '\'' || !text[1] || text[1] == '\'')
        return NULL;
    const char *end = text + 2;
    if (text[1] == '\\')
        end += *end ? 1 + strspn(end + 1, "0123456789abcdefABCDEF{}") : 0;
    return *end == '\'' ? end + 1 : NULL;
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
        const char *plain_end = spelling_operator_end(text, p);
        if (!plain_end)
            plain_end = spelling_literal_end(p);
        if (plain_end) {
            p = plain_end;
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

/* Where the comparison goes on after a wildcard. */
struct resume {
    const char *text, *name;
    bool balanced; /* the wildcard stands for balanced text */
    size_t number; /* of the wildcard in the pattern */
};

struct comparison {
    const char *name; /* its begin */
    size_t length;
    bool wild;
    bool cut; /* an ELLIPSIS may stand for a part of what is between brackets */
    ARRAY(struct resume) resumes;
    size_t wildcards;  /* passed so far on the way that is tried */
    ARRAY(bool) tried; /* by number of the wildcard and position in the name: it failed there */
};

/* The end of what stands for itself at P of TEXT: of a literal, or of an operator. NULL: neither.
 * Sets *RET_CUT if a part of a literal is missing. */
static const char *skip_plain(const char *text, const char *p, bool *ret_cut) {
    const char *end = spelling_literal_end(p), *mark = end ? strstr(p, ELLIPSIS) : NULL;
    bool begun = *p == '"' || (*p == '\'' && starts(p + 1, ELLIPSIS));
    *ret_cut = *ret_cut || (mark && mark < end) || (!end && begun);
    return end ? end : spelling_operator_end(text, p);
}

/* Whether TEXT's brackets pair. Open '<' between others are comparisons. */
static bool has_pairs(const char *text, text_array *open, bool *ret_cut) {
    static const char openers[] = "([{<", closers[] = ")]}>";
    for (const char *p = text, *next; *p; p = next) {
        next = skip_plain(text, p, ret_cut);
        if (next)
            continue;
        next = p + 1;
        if (opens(*p))
            ARRAY_PUSH(open, *p);
        if (!closes(*p) || in_arrow(text, p))
            continue;
        char opener = openers[strchr(closers, *p) - closers];
        while (opener != '<' && open->count && open->at[open->count - 1] == '<')
            open->count--;
        if (!open->count || open->at[--open->count] != opener)
            return false;
    }
    return open->count == 0;
}

/* True if TEXT has been cut for a narrow terminal: it lacks counterparts of brackets, a part of a
 * literal, or both ends. */
static bool is_cut(const char *text) {
    size_t mark_length = strlen(ELLIPSIS), length = strlen(text);
    if (starts(text, ELLIPSIS) && length > mark_length &&
        starts(text + length - mark_length, ELLIPSIS))
        return true;
    text_array open = {0};
    bool cut = false, pairs = has_pairs(text, &open, &cut);
    ARRAY_FREE(&open);
    return cut || !pairs;
}

static size_t wildcard_length(const struct comparison *c, const char *text) {
    if (starts(text, ELLIPSIS))
        return strlen(ELLIPSIS);
    return c->wild && *text == '*';
}

/* True if the way from R on has been tried before. */
static bool is_tried(struct comparison *c, const struct resume *r) {
    size_t at = r->number * (c->length + 1) + (size_t)(r->name - c->name);
    while (c->tried.count <= at)
        ARRAY_PUSH(&c->tried, false);
    bool result = c->tried.at[at];
    c->tried.at[at] = true;
    return result;
}

/* Passes the wildcard at TEXT. What stands before one for any text never needs to be longer. */
static void pass(struct comparison *c, const char *text, size_t wildcard, const char *name) {
    bool balanced = wildcard > 1 && !c->cut;
    if (!balanced)
        c->resumes.count = 0;
    struct resume r = {text + wildcard, name, balanced, c->wildcards++};
    ARRAY_PUSH(&c->resumes, r);
}

/* Lets R's wildcard stand for more of the name. */
static bool extend(const struct comparison *c, struct resume *r) {
    const char *at = r->name;
    if (!*at || (r->balanced && closes(*at) && !in_arrow(c->name, at)))
        return false;
    const char *literal_end = r->balanced ? spelling_literal_end(at) : NULL;
    if (literal_end)
        r->name = literal_end;
    else
        r->name = r->balanced && opens(*at) ? spelling_group_end(at) : at + 1;
    return true;
}

/* The last wildcard that can stand for more of the name does. NULL: none can. */
static const struct resume *retreat(struct comparison *c) {
    while (c->resumes.count) {
        struct resume *r = &c->resumes.at[c->resumes.count - 1];
        bool alone = c->resumes.count == 1;
        if (extend(c, r) && (alone || !is_tried(c, r))) {
            c->wildcards = r->number + 1;
            return r;
        }
        c->resumes.count--;
    }
    return NULL;
}

static bool compare(struct comparison *c, const char *text) {
    const char *name = c->name;
    for (;;) {
        const char *t = skip_blanks(text), *n = skip_blanks(name);
        size_t wildcard = wildcard_length(c, t);
        if (wildcard) {
            pass(c, t, wildcard, text == t ? name : n);
            text = t + wildcard;
        } else if (!*t && !*n) {
            return true;
        } else if (*t && *n && (*t == *n || (c->wild && *t == '?'))) {
            text = t + 1;
            name = n + 1;
        } else {
            const struct resume *r = retreat(c);
            if (!r)
                return false;
            text = r->text;
            name = r->name;
        }
    }
}

bool spelling_match(const char *text, const char *name, bool wild) {
    struct comparison c = {.name = name, .length = strlen(name), .wild = wild};
    c.cut = strstr(text, ELLIPSIS) && is_cut(text);
    bool result = compare(&c, text);
    ARRAY_FREE(&c.resumes);
    ARRAY_FREE(&c.tried);
    return result;
}
