/* Machine states from mapping symbols, and the map of states itself. */
#include "plan/code/states.h"

#include <string.h>

#include "plan/code/inline_tables.h"

struct states states_new(const struct texts *texts, uint8_t state) {
    struct states s = {.texts = texts, .at = mem_alloc(texts->places / STATE_BYTES + 1)};
    memset(s.at, state, texts->places / STATE_BYTES);
    return s;
}

void states_fill(struct states *states, const struct text *t, struct span place, uint8_t state) {
    const vaddr_t end = place.end > text_end(t) ? text_end(t) : place.end;
    for (vaddr_t at = place.start < t->start ? t->start : place.start; at < end; at += STATE_BYTES)
        *state_at(states, t, at) = state;
}

static void read_marks(struct states *states, const struct text *t) {
    const struct module *m = states->texts->module;
    for (size_t i = 0; i < m->mark_count; i++) {
        const struct section *s = text_section_at(states->texts, m->marks[i].addr);
        if (!s || !text_holds(t, s->start))
            continue;
        vaddr_t end = s->start + s->size;
        if (i + 1 < m->mark_count && m->marks[i + 1].addr < end)
            end = m->marks[i + 1].addr;
        states_fill(states, t, (struct span){m->marks[i].addr, end}, m->marks[i].state);
    }
}

struct states states_by_symbols(const struct texts *texts) {
    if (!texts->arch->other)
        return (struct states){.texts = texts};
    struct states s = states_new(texts, CODE_DATA);
    for (size_t i = 0; i < texts->count; i++)
        read_marks(&s, &texts->at[i]);
    inline_tables_find(&s);
    return s;
}

void states_done(struct states *states) {
    free(states->at);
    ARRAY_FREE(&states->starts);
    ARRAY_FREE(&states->table_readers);
}

vaddr_t state_end(const struct states *states, const struct text *text, vaddr_t addr,
                  vaddr_t limit) {
    vaddr_t end = addr;
    if (!states->at)
        return limit;
    while (end < limit && *state_at(states, text, end) == *state_at(states, text, addr))
        end += STATE_BYTES;
    return end < limit ? end : limit;
}
