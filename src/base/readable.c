/* See readable.h. The grammar is what libiberty's demanglers print; doubtful text stays as it is.
 */
#include "base/readable.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

static bool starts(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 0x80); }

/* ---- standard typedefs ---- */

struct folding {
    const char *at; /* the next byte of the name */
    const char *prefix;
};

static bool take(const char **at, const char *text) {
    if (!starts(*at, text))
        return false;
    *at += strlen(text);
    return true;
}

static bool take_std(const char **at) {
    return take(at, "std::__cxx11::") || take(at, "std::__1::") || take(at, "std::");
}

/* Takes the arguments behind "<": a character type C, char_traits<C>, and with HAS_ALLOCATOR
 * allocator<C>. Returns the prefix of the typedef for C; NULL: these are not the defaults. */
static const char *take_arguments(const char **at, bool has_allocator) {
    static const char *const types[][2] = {{"char", ""},
                                           {"wchar_t", "w"},
                                           {"char8_t", "u8"},
                                           {"char16_t", "u16"},
                                           {"char32_t", "u32"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *p = *at;
        bool fits = take(&p, types[i][0]) && take(&p, ", ") && take_std(&p) &&
                    take(&p, "char_traits<") && take(&p, types[i][0]) && take(&p, ">");
        if (fits && has_allocator)
            fits = take(&p, ", ") && take_std(&p) && take(&p, "allocator<") &&
                   take(&p, types[i][0]) && take(&p, ">");
        if (!fits || !(take(&p, " >") || take(&p, ">")))
            continue;
        *at = p;
        return types[i][1];
    }
    return NULL;
}

/* Takes "basic_NAME<…>" with default arguments. The typedef; NULL: there is none. To be freed. */
static char *take_typedef(const char **at) {
    static const char *const with_allocator[] = {"string", "stringbuf", "stringstream",
                                                 "istringstream", "ostringstream"};
    static const char *const without[] = {"string_view", "ios",      "streambuf", "istream",
                                          "ostream",     "iostream", "filebuf",   "ifstream",
                                          "ofstream",    "fstream"};
    enum { OWN = sizeof with_allocator / sizeof *with_allocator };
    enum { ALL = OWN + sizeof without / sizeof *without };
    for (size_t i = 0; i < ALL; i++) {
        const char *name = i < OWN ? with_allocator[i] : without[i - OWN], *p = *at;
        if (!take(&p, "basic_") || !take(&p, name) || !take(&p, "<"))
            continue;
        const char *prefix = take_arguments(&p, i < OWN);
        bool exists = prefix && (*prefix != 'u' || starts(name, "string_view") ||
                                 strcmp(name, "string") == 0);
        if (!exists)
            return NULL;
        *at = p;
        return mem_printf("%s%s", prefix, name);
    }
    return NULL;
}

/* The length of one of Rust's hashes at AT: "::h0123456789abcdef" at the end, or that of a crate,
 * "[0123456789abcdef]". 0: none. */
static size_t hash_at(const char *at) {
    enum { DIGITS = 16 };
    size_t start = *at == '[' ? 1 : starts(at, "::h") ? 3 : 0;
    size_t digits = start ? strspn(at + start, "0123456789abcdef") : 0;
    char end = at[start + digits];
    bool is_crate = *at == '[' && end == ']' && digits >= DIGITS - 2 && digits <= DIGITS;
    bool is_end = start == 3 && end == '\0' && digits == DIGITS;
    return is_crate ? digits + 2 : is_end ? digits + 3 : 0;
}

char *readable_folded(const char *name) {
    ARRAY(char) text = {0};
    const char *at = name;
    ARRAY_RESERVE(&text, strlen(name) + 1);
    while (*at) {
        at += hash_at(at);
        bool begins = (at == name || !is_word(at[-1])) && take_std(&at);
        if (!begins && *at)
            ARRAY_PUSH(&text, *at++);
        if (!begins)
            continue;
        AUTO_FREE char *type = take_typedef(&at);
        for (const char *p = "std::"; *p; p++)
            ARRAY_PUSH(&text, *p);
        for (const char *p = type; p && *p; p++)
            ARRAY_PUSH(&text, *p);
        if (type && starts(at, " >"))
            at++;
    }
    ARRAY_PUSH(&text, '\0');
    return text.at;
}

/* ---- brackets ---- */

/* The length of an operator's name at AT, with its symbol; 0: none is there. The type of a
 * conversion does not belong to it. */
static size_t operator_at(const char *name, size_t at) {
    enum { WORD = sizeof "operator" - 1 };
    static const char *const symbols[] = {"<=>", "<<=", ">>=", "->*", "()", "<<",
                                          ">>",  "<=",  ">=",  "->",  "<",  ">"};
    if (!starts(name + at, "operator") || (at && is_word(name[at - 1])) || is_word(name[at + WORD]))
        return 0;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (starts(name + at + WORD, symbols[i]))
            return WORD + strlen(symbols[i]);
    return WORD;
}

/* The length of text at AT whose brackets do not count; 0: none. */
static size_t plain_at(const char *name, size_t at) {
    static const char unnamed[] = "(anonymous namespace)";
    if (name[at] == '(' && starts(name + at, unnamed))
        return sizeof unnamed - 1;
    if (name[at] == '-' && name[at + 1] == '>')
        return 2;
    return name[at] == 'o' ? operator_at(name, at) : 0;
}

typedef ARRAY(uint32_t) positions;

/* Closes the bracket that C, at AT, closes. Open '<' inside it are comparisons. */
static void close_bracket(const char *name, char c, uint32_t at, positions *open,
                          uint32_t *closing) {
    char opener = c == '>' ? '<' : c == ')' ? '(' : '{';
    size_t i = open->count;
    while (c != '>' && i && name[open->at[i - 1]] == '<')
        i--;
    if (!i || name[open->at[i - 1]] != opener)
        return;
    closing[open->at[i - 1]] = at;
    open->count = i - 1;
}

uint32_t *readable_brackets(const char *name) {
    uint32_t *closing = mem_alloc((strlen(name) + 1) * sizeof *closing);
    positions open = {0};
    uint32_t plain_end = 0;
    for (uint32_t i = 0; name[i]; i++) {
        uint32_t plain = (uint32_t)plain_at(name, i);
        bool compares = name[i] == '<' && i && name[i - 1] == ')' && i != plain_end;
        plain_end = plain ? i + plain : plain_end;
        if (plain)
            i += plain - 1;
        else if (strchr("<({", name[i]) && !compares)
            ARRAY_PUSH(&open, i);
        else if (strchr(">)}", name[i]))
            close_bracket(name, name[i], i, &open, closing);
    }
    ARRAY_FREE(&open);
    return closing;
}

bool readable_is_type(const char *name, size_t at) {
    return at == 0 || (strchr(" (<,&*[", name[at - 1]) && !(at > 1 && strchr("<>", name[at - 2])));
}

size_t readable_argument_end(const char *name, const uint32_t *closing, size_t at, size_t end) {
    for (; at < end && name[at] != ','; at++)
        if (closing[at])
            at = closing[at];
    return at;
}

/* ---- the qualified name ---- */

/* True if what ends before AT is a type, not "vtable for" and its like. */
static bool ends_type(const char *name, size_t start, size_t at) {
    size_t length = at - start;
    bool is_to = length >= 3 && strncmp(name + at - 3, " to", 3) == 0;
    bool is_for = length >= 4 && strncmp(name + at - 4, " for", 4) == 0;
    return !is_to && !is_for;
}

/* True if "(" at AT belongs to the word "decltype" before it. */
static bool is_decltype(const char *name, size_t at) {
    static const char word[] = "decltype";
    size_t length = sizeof word - 1;
    at -= at && name[at - 1] == ' ';
    return at >= length && strncmp(name + at - length, word, length) == 0;
}

/* Looks for the qualified name in the declarator from START to END. True: it is in brackets, whose
 * first position is *RET; else *RET is where it begins. */
static bool find_name(const char *name, const uint32_t *closing, struct readable_part in,
                      size_t *ret) {
    *ret = in.start;
    for (size_t i = in.start; i < in.end; i++) {
        size_t plain = plain_at(name, i);
        if (plain && name[i] == 'o')
            return false; /* of an operator: what follows is its name */
        if (plain) {
            i += plain - 1;
        } else if (name[i] == '(' && (name[i + 1] == '*' || name[i + 1] == '&') &&
                   closing[i] > i + 2) {
            *ret = i;
            return true;
        } else if (name[i] == '(' && !is_decltype(name, i)) {
            return false;
        } else if (name[i] == ' ') {
            *ret = ends_type(name, in.start, i) ? i + 1 : in.start;
        }
        if (closing[i])
            i = closing[i];
    }
    return false;
}

/* Where the declarator at AT is behind '*', '&' and their qualifiers. */
static size_t skip_pointer(const char *name, size_t at) {
    static const char *const words[] = {"const", "volatile", "__restrict"};
    for (;;) {
        size_t before = at;
        at += strspn(name + at, "*& ");
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (starts(name + at, words[i]) && !is_word(name[at + strlen(words[i])]))
                at += strlen(words[i]);
        if (at == before)
            return at;
    }
}

struct readable_part readable_qualified(const char *name, const uint32_t *closing) {
    struct readable_part whole = {0, strlen(name)}, part = whole;
    size_t at;
    if (!memchr(name, '(', whole.end))
        return whole;
    while (find_name(name, closing, part, &at)) {
        part.start = at + 1;
        part.end = closing[at];
        part.start = skip_pointer(name, part.start);
    }
    part.start = at;
    return part.start < part.end ? part : whole;
}
