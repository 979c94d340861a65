/* Notes where a thread stood at its limit, and what it lost there. */
#include "ring/stalls.h"

#include <string.h>

#include "wire/ring.h"

/* A processor shows what its thread stores with a delay: the head may be this much further. More
 * than any holds back. */
enum { UNSEEN_BYTES = 64 * EVENT_BYTES };

void stalls_begin(struct stalls *s) {
    stalls_forget(s);
    s->lost = s->passed = 0;
}

void stalls_done(struct stalls *s) { ARRAY_FREE(&s->noted); }

void stalls_forget(struct stalls *s) { s->noted.count = 0; }

static void note(struct stalls *s, uint64_t limit) {
    size_t n = s->noted.count;
    if (!n || s->noted.at[n - 1].at < limit)
        ARRAY_PUSH(&s->noted, ((struct stall){.at = limit}));
}

void stalls_look(struct stalls *s, const struct stall_limits *limits, uint64_t lost,
                 uint64_t head) {
    uint64_t more = lost > s->lost ? lost - s->lost : 0;
    s->lost = lost;
    size_t n = s->noted.count;
    bool somewhere = n && s->noted.at[n - 1].at >= s->passed;
    if (head + UNSEEN_BYTES >= limits->before || (more && !somewhere))
        note(s, limits->before);
    if (head >= limits->present)
        note(s, limits->present);
    if (!more)
        return;
    struct stall *newest = &s->noted.at[s->noted.count - 1];
    newest->lost += more;
    newest->gap = true;
    for (struct stall *p = newest; p-- > s->noted.at && p->at >= s->passed;)
        p->gap = true;
}

void stalls_pass(struct stalls *s, uint64_t head) {
    size_t kept = 0;
    s->passed = head;
    for (size_t i = 0; i < s->noted.count; i++)
        if (s->noted.at[i].gap || s->noted.at[i].at >= head)
            s->noted.at[kept++] = s->noted.at[i];
    s->noted.count = kept;
}

static size_t first_gap(const struct stalls *s) {
    size_t i = 0;
    while (i < s->noted.count && !s->noted.at[i].gap)
        i++;
    return i;
}

const struct stall *stalls_first_gap(const struct stalls *s) {
    size_t i = first_gap(s);
    return i < s->noted.count ? &s->noted.at[i] : NULL;
}

void stalls_remove_first_gap(struct stalls *s) {
    size_t i = first_gap(s);
    if (i == s->noted.count)
        return;
    s->noted.count--;
    memmove(s->noted.at + i, s->noted.at + i + 1, (s->noted.count - i) * sizeof *s->noted.at);
}
