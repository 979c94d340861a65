/* See text.h. */
#include "base/text.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/readable.h"

#define ELLIPSIS "…"
enum { MARK = sizeof ELLIPSIS - 1 };

size_t text_columns(const char *text) {
    size_t columns = 0;
    for (; *text; text++)
        columns += text_begins_column(*text);
    return columns;
}

/* Where column COLUMN of TEXT begins. */
static size_t byte_of(const char *text, size_t column) {
    size_t at = 0;
    for (; text[at]; at++)
        if (text_begins_column(text[at]) && column-- == 0)
            break;
    return at;
}

char *text_cut(const char *text, size_t columns) {
    if (text_columns(text) <= columns)
        return mem_strdup(text);
    return mem_printf("%.*s" ELLIPSIS, (int)byte_of(text, columns - 1), text);
}

struct middle {
    size_t at, end;
};

/* What is left out of NAME: two thirds of the rest are its beginning. */
static struct middle find_middle(const char *name, size_t columns) {
    size_t all = text_columns(name), left = columns - 1, head = (left * 2 + 2) / 3;
    struct middle m = {byte_of(name, head), byte_of(name, all - (left - head))};
    if (m.at >= MARK && memcmp(name + m.at - MARK, ELLIPSIS, MARK) == 0)
        m.at -= MARK;
    if (strncmp(name + m.end, ELLIPSIS, MARK) == 0)
        m.end += MARK;
    return m;
}

static char *without(const char *name, struct middle m) {
    return mem_printf("%.*s" ELLIPSIS "%s", (int)m.at, name, name + m.end);
}

/* ---- brackets ---- */

typedef ARRAY(char) text_array;

static void put(text_array *to, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        ARRAY_PUSH(to, text[i]);
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 0x80); }

/* TEXT with … for the scopes of its names: "a::b<c::d>" has "…b<…d>". To be freed. */
static char *without_scopes(const char *text) {
    text_array out = {0};
    for (size_t i = 0; text[i]; i++) {
        if (strncmp(text + i, "::", 2) == 0) {
            while (out.count && is_word(out.at[out.count - 1]))
                out.count--;
            put(&out, ELLIPSIS, MARK);
            i++;
        } else {
            ARRAY_PUSH(&out, text[i]);
        }
    }
    ARRAY_PUSH(&out, '\0');
    return out.at;
}

/* True if each bracket of TEXT has its counterpart. */
static bool is_balanced(const char *text) {
    AUTO_FREE uint32_t *closing = readable_brackets(text);
    size_t brackets = 0, pairs = 0;
    for (size_t i = 0; text[i]; i++) {
        brackets += strchr("<>(){}", text[i]) != NULL;
        pairs += closing[i] != 0;
    }
    return brackets == 2 * pairs;
}

/* TEXT, which stands between brackets, in at most COLUMNS columns, not 0. To be freed. */
static char *fit_content(const char *text, size_t columns) {
    if (text_columns(text) <= columns)
        return mem_strdup(text);
    AUTO_FREE char *brief = without_scopes(text);
    if (text_columns(brief) <= columns)
        return mem_strdup(brief);
    struct middle m = find_middle(brief, columns);
    AUTO_FREE char *cut = without(brief, m);
    AUTO_FREE char *middle = mem_printf("%.*s", (int)(m.end - m.at), brief + m.at);
    if (is_balanced(cut) && is_balanced(middle))
        return steal(cut);
    AUTO_FREE char *start = mem_printf("%.*s" ELLIPSIS, (int)strcspn(brief, "<>(){}\"'"), brief);
    return text_cut(start, columns);
}

struct content { /* of an outermost bracket */
    size_t at, end;
    size_t columns;
    bool parameters;
};
typedef ARRAY(struct content) contents;

/* Finds the outermost brackets of NAME. Returns the columns of what is outside of them. */
static size_t split(const char *name, contents *ret) {
    AUTO_FREE uint32_t *closing = readable_brackets(name);
    size_t outside = 0;
    for (size_t i = 0; name[i]; i++) {
        if (closing[i]) {
            AUTO_FREE char *text = mem_printf("%.*s", (int)(closing[i] - i - 1), name + i + 1);
            ARRAY_PUSH(ret,
                       ((struct content){i + 1, closing[i], text_columns(text), name[i] == '('}));
            i = closing[i];
            outside++;
        }
        outside += text_begins_column(name[i]);
    }
    return outside;
}

/* The most columns of contents: of parameters, and of others. */
struct limits {
    size_t parameters, others;
};

enum { READABLE = 12 }; /* fewer columns of parameters tell nothing */

static size_t allowed(const struct content *c, const struct limits *l) {
    size_t limit = c->parameters && l->parameters < l->others ? l->parameters : l->others;
    if (c->columns <= limit)
        return c->columns;
    return c->parameters && limit < READABLE ? 1 : limit;
}

static size_t columns_in(const contents *list, const struct limits *l) {
    size_t sum = 0;
    for (size_t i = 0; i < list->count; i++)
        sum += allowed(&list->at[i], l);
    return sum;
}

/* Limits by which LIST has at most ROOM columns; others: 0: there are none. */
static struct limits find_limits(const contents *list, size_t room) {
    struct limits l = {room, room};
    while (l.parameters > 1 && columns_in(list, &l) > room)
        l.parameters--;
    while (l.others && columns_in(list, &l) > room)
        l.others--;
    return l;
}

/* NAME in at most COLUMNS columns, with less between its brackets. NULL: it has too much outside of
 * them. To be freed. */
static char *fit_brackets(const char *name, size_t columns) {
    contents list = {0};
    text_array out = {0};
    size_t outside = split(name, &list), at = 0;
    struct limits limits = {0};
    if (outside < columns)
        limits = find_limits(&list, columns - outside);
    for (size_t i = 0; i < list.count && limits.others; i++) {
        const struct content *c = &list.at[i];
        size_t length = c->end - c->at;
        while (c->columns > allowed(c, &limits) && name[c->at + length - 1] == ' ')
            length--;
        AUTO_FREE char *text = mem_printf("%.*s", (int)length, name + c->at);
        AUTO_FREE char *fitted = fit_content(text, allowed(c, &limits));
        put(&out, name + at, c->at - at);
        put(&out, fitted, strlen(fitted));
        at = c->end;
    }
    put(&out, name + at, strlen(name + at) + 1);
    ARRAY_FREE(&list);
    if (!limits.others)
        ARRAY_FREE(&out);
    return out.at;
}

/* The length of what separates a scope from the next name at P: "::", or the dot of D before a
 * function's parameters. A dot is not meant that begins the suffix of a copy. 0: nothing does. */
static size_t separator_at(const char *p) {
    if (strncmp(p, "::", 2) == 0)
        return 2;
    return *p == '.' && (isalpha((unsigned char)p[1]) || p[1] == '_') && strchr(p, '(');
}

/* The end of NAME behind the first separator outside of brackets; NULL: there is none. */
static const char *next_part(const char *name) {
    AUTO_FREE uint32_t *closing = readable_brackets(name);
    for (size_t i = 0; name[i]; i++) {
        if (closing[i])
            i = closing[i];
        size_t length = separator_at(name + i);
        if (length)
            return name + i + length;
    }
    return NULL;
}

/* The separator that ends at PART. */
static const char *separator_before(const char *part) { return part[-1] == '.' ? "." : "::"; }

/* ---- a part of a name that must be seen ---- */

/* COLUMNS columns of TEXT, which has more, with what is at byte AT. To be freed. */
static char *window(const char *text, size_t at, size_t columns) {
    AUTO_FREE char *start = mem_printf("%.*s", (int)at, text);
    size_t all = text_columns(text), before = text_columns(start);
    size_t shown = columns > 2 ? columns - 2 : 1;
    size_t from = before > shown * 2 / 3 ? before - shown * 2 / 3 : 0;
    if (from + shown > all)
        from = all - shown;
    size_t first = byte_of(text, from), end = byte_of(text, from + shown);
    return mem_printf("%s%.*s%s", from ? ELLIPSIS : "", (int)(end - first), text + first,
                      text[end] ? ELLIPSIS : "");
}

/* What stands before the bracket at byte BRACKET of NAME, with it, in at most COLUMNS columns: all
 * of it, its last part, or … . To be freed. */
static char *head_of(const char *name, size_t bracket, size_t columns) {
    AUTO_FREE char *head = mem_printf("%.*s", (int)bracket, name);
    const char *last = head;
    for (const char *next; (next = next_part(last));)
        last = next;
    if (text_columns(head) + 1 <= columns)
        return mem_printf("%s%c", head, name[bracket]);
    if (last > head && text_columns(last) + 4 <= columns)
        return mem_printf(ELLIPSIS "%s%s%c", separator_before(last), last, name[bracket]);
    return mem_printf(ELLIPSIS "%c", name[bracket]);
}

/* TAIL, which begins with a closing bracket, in at most COLUMNS columns. To be freed. */
static char *rest_of(const char *tail, size_t columns) {
    char *fitted = fit_brackets(tail, columns);
    AUTO_FREE char *name = fitted ? NULL : text_fit(tail + 1, columns - 1);
    return fitted ? fitted : mem_printf("%c%s", *tail, name);
}

char *text_around(const char *name, size_t at, size_t columns) {
    enum { PART = 14 }; /* columns that the part gets at least */
    AUTO_FREE uint32_t *closing = readable_brackets(name);
    size_t bracket = 0;
    while (bracket < at && closing[bracket] < at)
        bracket = closing[bracket] ? closing[bracket] + 1 : bracket + 1;
    if (bracket >= at || columns < 3 * PART)
        return window(name, at, columns);
    AUTO_FREE char *rest = rest_of(name + closing[bracket], columns / 2);
    size_t room = columns - text_columns(rest);
    AUTO_FREE char *head = head_of(name, bracket, room > PART ? room - PART : 1);
    room -= text_columns(head);
    bool skips = at > bracket + 1 && strncmp(name + at, ELLIPSIS, MARK) != 0;
    AUTO_FREE char *behind = mem_printf("%.*s", (int)(closing[bracket] - at), name + at);
    AUTO_FREE char *part = text_cut(behind, room > skips ? room - skips : 1);
    return mem_printf("%s%s%s%s", head, skips ? ELLIPSIS : "", part, rest);
}

/* ---- the whole name ---- */

char *text_fit(const char *name, size_t columns) {
    const char *part = name;
    char *fitted = text_columns(name) <= columns ? mem_strdup(name) : fit_brackets(name, columns);
    for (const char *next; !fitted && columns > 4 && (next = next_part(part)); part = next) {
        char *text = fit_brackets(next, columns - 3);
        fitted = text ? mem_printf(ELLIPSIS "%s%s", separator_before(next), text) : NULL;
        free(text);
    }
    if (fitted)
        return fitted;
    bool is_part = part != name && columns > 1;
    AUTO_FREE char *text = without(part, find_middle(part, columns - is_part));
    return is_part ? mem_printf(ELLIPSIS "%s", text) : steal(text);
}
