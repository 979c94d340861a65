/*
 * See short_names.h. A name is rendered from its text, its brackets and its marks. A mark is the
 * position of a bracket or of an argument that is shown although it is long. Equal names get marks
 * where they first differ, until they are different.
 */
#include "base/short_names.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/readable.h"
#include "base/text.h"

enum { MOST_ROUNDS = 24, LITTLE = 12 };
#define ELLIPSIS "…"

enum how_whole { SHORT, FOLDED, WHOLE };

struct entry {
    const char *name; /* as it was given */
    char *text;       /* the short form */
    enum how_whole how;
    ARRAY(uint32_t) marks;    /* positions in the folded name */
    const struct entry *same; /* an entry with the same name, which has the text; or NULL */
};

struct short_names {
    struct entry *entries;
    size_t count;
};

struct parsed {
    char *text; /* folded */
    uint32_t *closing;
    struct readable_part part;
};

static struct parsed parse(const char *name) {
    struct parsed p = {.text = readable_folded(name)};
    p.closing = readable_brackets(p.text);
    p.part = readable_qualified(p.text, p.closing);
    return p;
}

static void parsed_done(struct parsed *p) {
    free(p->text);
    free(p->closing);
}

/* ---- rendering ---- */

struct rendering {
    const struct parsed *p;
    const struct entry *entry;
    ARRAY(char) out;
};

static void put(struct rendering *r, const char *text) {
    for (; *text; text++)
        ARRAY_PUSH(&r->out, *text);
}

static bool is_marked(const struct entry *e, size_t at) {
    for (size_t i = 0; i < e->marks.count; i++)
        if (e->marks.at[i] == at)
            return true;
    return false;
}

/* True if what was put from byte FROM on has more than LIMIT columns. */
static bool is_long(struct rendering *r, size_t from, size_t limit) {
    ARRAY_PUSH(&r->out, '\0');
    bool result = text_columns(r->out.at + from) > limit;
    r->out.count--;
    return result;
}

static void render(struct rendering *r, size_t at, size_t end);

/* Marked arguments, little ones, and … for the others. */
static void render_arguments(struct rendering *r, size_t at, size_t end) {
    const char *separator = "";
    bool gap = false;
    while (at < end) {
        size_t stop = readable_argument_end(r->p->text, r->p->closing, at, end);
        size_t before = r->out.count;
        put(r, separator);
        size_t from = r->out.count;
        render(r, at, stop);
        bool hidden = !is_marked(r->entry, at) && is_long(r, from, LITTLE);
        if (hidden) {
            r->out.count = gap ? before : from;
            put(r, gap ? "" : ELLIPSIS);
        }
        gap = hidden;
        separator = ", ";
        at = stop + 1;
        while (at < end && r->p->text[at] == ' ')
            at++;
    }
}

static void render_bracket(struct rendering *r, size_t at, size_t end) {
    char opener = r->p->text[at];
    size_t from = r->out.count;
    bool may_hide = opener == '(' || (opener == '<' && !readable_is_type(r->p->text, at));
    if (is_marked(r->entry, at)) {
        render_arguments(r, at + 1, end);
        return;
    }
    render(r, at + 1, end);
    if (may_hide && is_long(r, from, SHORT_BRACKETS)) {
        r->out.count = from;
        put(r, ELLIPSIS);
    }
}

static void render(struct rendering *r, size_t at, size_t end) {
    for (; at < end; at++) {
        ARRAY_PUSH(&r->out, r->p->text[at]);
        size_t closing = r->p->closing[at];
        if (!closing || closing >= end)
            continue;
        render_bracket(r, at, closing);
        at = closing;
        ARRAY_PUSH(&r->out, r->p->text[at]);
    }
}

/* To be freed. */
static char *rendered(const struct parsed *p, const struct entry *e) {
    struct rendering r = {.p = p, .entry = e};
    render(&r, p->part.start, p->part.end);
    ARRAY_PUSH(&r.out, '\0');
    return r.out.at;
}

static char *text_of(const struct entry *e) {
    if (e->how == WHOLE)
        return mem_strdup(e->name);
    if (e->how == FOLDED)
        return readable_folded(e->name);
    struct parsed p = parse(e->name);
    char *text = rendered(&p, e);
    parsed_done(&p);
    return text;
}

/* ---- making equal names different ---- */

struct range {
    size_t at, end;
};

static bool same(const struct parsed *a, struct range x, const struct parsed *b, struct range y) {
    return x.end - x.at == y.end - y.at &&
           memcmp(a->text + x.at, b->text + y.at, x.end - x.at) == 0;
}

static void mark(struct entry *e, size_t at) {
    if (!is_marked(e, at))
        ARRAY_PUSH(&e->marks, (uint32_t)at);
}

struct pair {
    const struct parsed *a, *b;
    struct entry *x, *y;
};

/* The argument that begins at AT, and the start of the next. */
static struct range argument(const struct parsed *p, size_t at, size_t end, size_t *ret_next) {
    size_t stop = readable_argument_end(p->text, p->closing, at, end);
    *ret_next = stop + 1;
    while (*ret_next < end && p->text[*ret_next] == ' ')
        ++*ret_next;
    return (struct range){at < end ? at : end, at < end ? stop : end};
}

static bool mark_first_difference(const struct pair *of, struct range a, struct range b);

/* Marks the first arguments that differ, or something in them. */
static bool mark_arguments(const struct pair *of, struct range a, struct range b) {
    while (a.at < a.end || b.at < b.end) {
        size_t next_a, next_b;
        struct range x = argument(of->a, a.at, a.end, &next_a);
        struct range y = argument(of->b, b.at, b.end, &next_b);
        if (!same(of->a, x, of->b, y)) {
            bool marked = is_marked(of->x, x.at) && is_marked(of->y, y.at);
            mark(of->x, x.at);
            mark(of->y, y.at);
            return !marked || mark_first_difference(of, x, y);
        }
        a.at = next_a;
        b.at = next_b;
    }
    return false;
}

/* Marks the first brackets in A and B that differ, or something in them if they are marked. False:
 * there is nothing more to mark. */
static bool mark_first_difference(const struct pair *of, struct range a, struct range b) {
    while (a.at < a.end && b.at < b.end && of->a->text[a.at] == of->b->text[b.at]) {
        size_t i = of->a->closing[a.at], k = of->b->closing[b.at];
        struct range x = {a.at + 1, i}, y = {b.at + 1, k};
        if (!i != !k || (i && (i >= a.end || k >= b.end)))
            return false;
        if (i && !same(of->a, x, of->b, y)) {
            bool is_type = readable_is_type(of->a->text, a.at) || of->a->text[a.at] == '{';
            if (is_type && mark_first_difference(of, x, y))
                return true;
            mark(of->x, a.at);
            mark(of->y, b.at);
            return mark_arguments(of, x, y);
        }
        a.at = i ? i + 1 : a.at + 1;
        b.at = i ? k + 1 : b.at + 1;
    }
    return false;
}

/* Shows more of both names. */
static void tell_apart(struct entry *x, struct entry *y) {
    struct parsed a = parse(x->name), b = parse(y->name);
    struct pair pair = {&a, &b, x, y};
    struct range whole_a = {a.part.start, a.part.end}, whole_b = {b.part.start, b.part.end};
    if (!mark_first_difference(&pair, whole_a, whole_b))
        x->how = y->how = x->how == SHORT && strcmp(a.text, b.text) != 0 ? FOLDED : WHOLE;
    parsed_done(&a);
    parsed_done(&b);
}

static int compare_texts(const void *a, const void *b) {
    const struct entry *const *x = a, *const *y = b;
    int rc = strcmp((*x)->text, (*y)->text);
    return rc ? rc : strcmp((*x)->name, (*y)->name);
}

/* Shows more of the COUNT entries at LIST, whose texts are equal, and whose names are different. */
static void show_more(struct entry **list, size_t count, bool at_last) {
    for (size_t i = 1; i < count; i++) {
        if (at_last)
            list[i]->how = list[0]->how = WHOLE;
        else
            tell_apart(list[0], list[i]);
    }
    for (size_t i = 0; i < count; i++) {
        free(list[i]->text);
        list[i]->text = text_of(list[i]);
    }
}

/* Makes the texts different. LIST has COUNT entries with different names. */
static void make_different(struct entry **list, size_t count) {
    for (int round = 0; round <= MOST_ROUNDS; round++) {
        bool changed = false;
        qsort(list, count, sizeof *list, compare_texts);
        for (size_t i = 0, end; i < count; i = end) {
            for (end = i + 1; end < count && strcmp(list[i]->text, list[end]->text) == 0;)
                end++;
            if (end - i > 1)
                show_more(list + i, end - i, round == MOST_ROUNDS);
            changed = changed || end - i > 1;
        }
        if (!changed)
            break;
    }
}

/* ---- all of them ---- */

static int compare_names(const void *a, const void *b) {
    const struct entry *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

struct short_names *short_names_new(const char *const *names, size_t count) {
    struct short_names *s = mem_alloc(sizeof *s);
    AUTO_FREE struct entry **list = mem_alloc((count + 1) * sizeof *list);
    size_t given = 0, different = 0;
    s->count = count;
    s->entries = mem_alloc((count + 1) * sizeof *s->entries);
    for (size_t i = 0; i < count; i++) {
        s->entries[i].name = names[i];
        if (names[i])
            list[given++] = &s->entries[i];
    }
    qsort(list, given, sizeof *list, compare_names);
    for (size_t i = 0; i < given; i++) {
        if (different && strcmp(list[different - 1]->name, list[i]->name) == 0) {
            list[i]->same = list[different - 1];
            continue;
        }
        list[i]->text = text_of(list[i]);
        list[different++] = list[i];
    }
    make_different(list, different);
    return s;
}

void short_names_free(struct short_names *s) {
    for (size_t i = 0; s && i < s->count; i++) {
        free(s->entries[i].text);
        ARRAY_FREE(&s->entries[i].marks);
    }
    if (s)
        free(s->entries);
    free(s);
}

static const struct entry *entry_at(const struct short_names *s, size_t i) {
    const struct entry *e = &s->entries[i];
    return e->same ? e->same : e;
}

const char *short_names_at(const struct short_names *s, size_t i) { return entry_at(s, i)->text; }

char *short_name(const char *name) { return text_of(&(struct entry){.name = name}); }

char *short_names_fit(const struct short_names *s, size_t i, size_t columns) {
    return text_fit(entry_at(s, i)->text, columns);
}

/* ---- different names in little room ---- */

struct fit {
    const char *whole; /* the short form */
    char **text;       /* as it fits */
};

static int compare_fits(const void *a, const void *b) {
    const struct fit *x = a, *y = b;
    int rc = strcmp(*x->text, *y->text);
    return rc ? rc : strcmp(x->whole, y->whole);
}

/* The number of bytes that all of LIST, which is sorted, begin with. */
static size_t common_start(const struct fit *list, size_t count) {
    const char *first = list[0].whole, *last = list[count - 1].whole;
    size_t length = 0;
    while (first[length] && first[length] == last[length])
        length++;
    while (length && !text_begins_column(first[length]))
        length--;
    return length;
}

/* Makes the texts of LIST, which are equal, different if they have been cut. False: they stay. */
static bool show_differences(const struct fit *list, size_t count, size_t columns) {
    size_t start = common_start(list, count);
    bool changed = false;
    for (size_t i = 0; i < count; i++) {
        if (text_columns(list[i].whole) <= columns)
            continue;
        char *text = text_around(list[i].whole, start, columns);
        changed = changed || strcmp(text, *list[i].text) != 0;
        free(*list[i].text);
        *list[i].text = text;
    }
    return changed;
}

/* Makes equal texts of different names different. False: there was nothing to do. */
static bool tell_fits_apart(struct fit *fits, size_t count, size_t columns) {
    bool changed = false;
    if (count)
        qsort(fits, count, sizeof *fits, compare_fits);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && strcmp(*fits[i].text, *fits[end].text) == 0;)
            end++;
        if (strcmp(fits[i].whole, fits[end - 1].whole) != 0)
            changed = show_differences(fits + i, end - i, columns) || changed;
    }
    return changed;
}

void short_names_fit_all(const struct short_names *s, const uint32_t *list, size_t count,
                         size_t columns, char **ret) {
    AUTO_FREE struct fit *fits = mem_alloc((count + 1) * sizeof *fits);
    for (size_t i = 0; i < count; i++) {
        ret[i] = short_names_fit(s, list[i], columns);
        fits[i] = (struct fit){entry_at(s, list[i])->text, &ret[i]};
    }
    for (int round = 0; round < MOST_ROUNDS && tell_fits_apart(fits, count, columns); round++)
        continue;
}
