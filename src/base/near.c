/* Computes edit distances, and ranks names by them. */
#include "base/near.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/spelling.h"

enum { NOT_NEAR = ~0u };
/* What is added to the distance: names of other scopes come after those of the same scope. Those
 * that have only the scope in common come last, and the nearest scope first. */
enum { OTHER_SCOPE = 1000, SCOPE_ONLY = 2000, SCOPE_STEP = 256 };

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/* The restricted Damerau-Levenshtein distance. Only three rows of its matrix are kept. */
unsigned near_distance(const char *a, const char *b) {
    unsigned rows[3][NEAR_LONGEST + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    size_t na = strnlen(a, NEAR_LONGEST), nb = strnlen(b, NEAR_LONGEST);
    for (size_t j = 0; j <= nb; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            row[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]), least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        unsigned *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[nb];
}

/* The last part of a qualified name: behind "::", or behind the '.' of D and Go. */
static const char *last_part(const char *name) {
    const char *last = name;
    for (const char *p = name; *p; p++) {
        if (p[0] == ':' && p[1] == ':' && p[2])
            last = p + 2;
        else if (p[0] == '.' && (isalpha((unsigned char)p[1]) || p[1] == '_') &&
                 !strstr(name, "::"))
            last = p + 1;
    }
    return last;
}

/* "name<int>(char)*" → "name" */
static char *plain_name(const char *pattern) {
    ARRAY(char) out = {0};
    pattern += strspn(pattern, "*/^");
    for (const char *p = pattern; *p && (*p != '(' || p == pattern);) {
        const char *end = *p == '<' && p > pattern ? spelling_group_end(p) : p;
        if (end == p)
            ARRAY_PUSH(&out, *p++);
        else
            p = end;
    }
    while (out.count && strchr("*/$", out.at[out.count - 1]))
        out.count--;
    ARRAY_PUSH(&out, '\0');
    return out.at;
}

void near_init(struct near_names *n, const char *pattern) {
    *n = (struct near_names){.typed = plain_name(pattern)};
    n->last = last_part(n->typed);
}

void near_done(struct near_names *n) {
    for (int i = 0; i < n->count; i++)
        free(n->names[i]);
    free(n->typed);
    *n = (struct near_names){0};
}

/* NOT_NEAR, if more than one PART-th of A is to be changed. */
static unsigned nearer_than(const char *a, const char *b, unsigned part) {
    size_t m = strlen(a), n = strlen(b), most = m < part ? 1 : m / part;
    if ((n > m ? n - m : m - n) > most)
        return NOT_NEAR;
    unsigned distance = near_distance(a, b);
    return distance > most ? NOT_NEAR : distance;
}

enum { HALF = 2, QUARTER = 4 };

static unsigned near_enough(const char *a, const char *b) { return nearer_than(a, b, HALF); }

/* Whether a part of NAME begins at P. */
static bool begins_part(const char *name, const char *p) {
    return p == name || p[-1] == '.' || (p - name > 1 && p[-2] == ':' && p[-1] == ':');
}

static unsigned parts_before(const char *name, const char *end) {
    unsigned parts = 0;
    for (const char *p = name; p < end; p++)
        parts += begins_part(name, p);
    return parts;
}

/* Where the last PARTS parts of NAME's scope begin. */
static const char *end_of_scope(const char *name, const char *last, unsigned parts) {
    const char *p = last;
    while (parts && p > name)
        parts -= begins_part(name, --p);
    return p;
}

/* How near the scope of NAME, which ends before LAST, is to the one that was typed: of its parts,
 * as many count as were typed. 0: it is that, or ends with it. */
static unsigned scope_distance(const struct near_names *n, const char *name, const char *last) {
    char typed[NEAR_LONGEST + 1], scope[NEAR_LONGEST + 1];
    const char *end = end_of_scope(name, last, parts_before(n->typed, n->last));
    snprintf(typed, sizeof typed, "%.*s", (int)(n->last - n->typed), n->typed);
    snprintf(scope, sizeof scope, "%.*s", (int)(last - end), end);
    return nearer_than(typed, scope, QUARTER);
}

static unsigned rank_of(const struct near_names *n, const char *name) {
    const char *last = last_part(name);
    bool scoped = n->last != n->typed;
    unsigned whole = near_enough(n->typed, name), part;
    if (!scoped) {
        part = near_enough(n->typed, last);
        if (strlen(n->typed) >= 3 && strcasestr(name, n->typed))
            return 0;
        return least(part, whole);
    }
    unsigned scope = scope_distance(n, name, last);
    if (scope == NOT_NEAR)
        return whole == NOT_NEAR ? NOT_NEAR : OTHER_SCOPE + whole;
    part = near_enough(n->last, last);
    if (part == NOT_NEAR)
        return SCOPE_ONLY + SCOPE_STEP * scope + near_distance(n->last, last);
    return scope ? OTHER_SCOPE + scope + part : part;
}

void near_consider(struct near_names *n, const char *name) {
    unsigned rank = rank_of(n, name);
    if (rank == NOT_NEAR || (n->count == NEAR_MOST && rank >= n->ranks[NEAR_MOST - 1]))
        return;
    for (int i = 0; i < n->count; i++)
        if (strcmp(n->names[i], name) == 0)
            return;
    if (n->count == NEAR_MOST)
        free(n->names[--n->count]);
    int at = n->count++;
    for (; at && rank < n->ranks[at - 1]; at--) {
        n->names[at] = n->names[at - 1];
        n->ranks[at] = n->ranks[at - 1];
    }
    n->names[at] = mem_strdup(name);
    n->ranks[at] = rank;
}

char *near_list(const struct near_names *n) {
    char *list = NULL;
    for (int i = 0; i < n->count; i++) {
        AUTO_FREE char *before = list;
        list = mem_printf("%s%s%s", before ? before : "", before ? ", " : "", n->names[i]);
    }
    return list;
}
