/* See readable.h. The grammar is what libiberty's demanglers print; doubtful text stays as it is.
 */
#include "base/readable.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/spelling.h"

static bool starts(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 0x80); }

/* ---- folding ---- */

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
    ARRAY_RESERVE(&text, strlen(name) + 1);
    for (const char *at = name; *at;) {
        size_t hash = hash_at(at);
        if (!hash)
            ARRAY_PUSH(&text, *at);
        at += hash ? hash : 1;
    }
    ARRAY_PUSH(&text, '\0');
    char *folded = spelling_fold(text.at);
    if (!folded)
        return text.at;
    ARRAY_FREE(&text);
    return folded;
}

/* ---- brackets ---- */

/* The length of text at AT whose brackets do not count; 0: none. */
static size_t plain_at(const char *name, size_t at) {
    static const char unnamed[] = "(anonymous namespace)";
    if (name[at] == '(' && starts(name + at, unnamed))
        return sizeof unnamed - 1;
    if (name[at] == '-' && name[at + 1] == '>')
        return 2;
    const char *end = spelling_operator_end(name, name + at);
    if (!end)
        end = spelling_literal_end(name + at);
    return end ? (size_t)(end - name) - at : 0;
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
    for (; at < end && name[at] != ','; at++) {
        const char *literal_end = spelling_literal_end(name + at);
        if (literal_end && literal_end <= name + end)
            at = (size_t)(literal_end - name) - 1;
        else if (closing[at])
            at = closing[at];
    }
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
