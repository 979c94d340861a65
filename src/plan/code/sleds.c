/*
 * XRay's sleds (-fxray-instrument). The program's XRay runtime may overwrite them at any time,
 * while other threads run, and expects no other writer. So sites stand beside sleds. There they
 * see the same calls whether the sled is patched or not:
 *
 *     entry:  jmp +9; nops        exit:   pop %rbx            tail:  jmp +9; nops
 *     | push %rbx  …              |       pop %rbp                 | jmp target
 *     |                                   ret; nops
 *
 * The window of an exit ends right before its sled, and its trampoline goes on to the sled. So the
 * event is recorded before the sled instead of before the return. Every path to the sled must lead
 * through the window. If one does not, or the window has no room, the first two bytes of the sled
 * become a hop. The runtime replaces these two bytes at once, and then the hop is lost.
 */
#include "plan/code/sleds.h"

#include "base/search.h"

static enum sled_kind kind_of(uint8_t kind) {
    enum { ENTRY, EXIT, TAIL, ENTRY_WITH_ARGUMENTS }; /* XRayEntryType */
    switch (kind) {
    case ENTRY:
    case ENTRY_WITH_ARGUMENTS:
        return SLED_ENTRY;
    case EXIT:
        return SLED_EXIT;
    case TAIL:
        return SLED_TAIL;
    default:
        return SLED_EVENT;
    }
}

/* A sled in an unknown form may be overwritten all the same. */
static struct sled_place place_of(const struct states *states, const struct text *text,
                                  const struct sled *sled) {
    struct sled_place s = {.start = sled->addr, .kind = kind_of(sled->kind)};
    size_t room = text->size - (s.start - text->start);
    s.end =
        s.start + state_arch(states, text, s.start)->sled(text_bytes(text, s.start), room, s.kind);
    if (s.kind == SLED_EXIT && s.end > s.start &&
        !state_arch(states, text, s.start)->is_return(text_bytes(text, s.start), room))
        s.kind = SLED_EVENT; /* its return stands behind the sled and stays as it is */
    if (s.end == s.start) {
        s.kind = SLED_EVENT;
        s.end += room < INSN_MAX_BYTES ? room : INSN_MAX_BYTES;
    }
    return s;
}

static void add(struct sleds *sleds, struct sled_place s) {
    struct sled_place *last = sleds->count ? &sleds->at[sleds->count - 1] : NULL;
    if (!last || s.start >= last->end) {
        ARRAY_PUSH(sleds, s);
    } else if (s.start != last->start || s.kind != last->kind) {
        last->kind = SLED_EVENT;
        last->end = s.end > last->end ? s.end : last->end;
    }
}

struct sleds sleds_find(const struct states *states) {
    const struct module *m = states->texts->module;
    struct sleds ret = {0};
    for (size_t i = 0; i < m->sled_count; i++) {
        const struct text *text = text_at(states->texts, m->sleds[i].addr);
        if (text)
            add(&ret, place_of(states, text, &m->sleds[i]));
    }
    return ret;
}

void sleds_done(struct sleds *sleds) { ARRAY_FREE(sleds); }

/* The index of the first sled that ends behind ADDR. */
static size_t number_from(const struct sleds *sleds, vaddr_t addr) {
    return SEARCH(i, sleds->count, sleds->at[i].end <= addr);
}

const struct sled_place *sled_from(const struct sleds *sleds, vaddr_t addr) {
    size_t i = number_from(sleds, addr);
    return i < sleds->count ? &sleds->at[i] : NULL;
}

const struct sled_place *sled_at(const struct sleds *sleds, vaddr_t addr, enum sled_kind kind) {
    const struct sled_place *s = sled_from(sleds, addr);
    return s && s->start == addr && s->kind == kind ? s : NULL;
}

const struct sled_place *sled_before(const struct sleds *sleds, vaddr_t addr) {
    size_t i = number_from(sleds, addr);
    const struct sled_place *s = i ? &sleds->at[i - 1] : NULL;
    return s && s->end == addr && s->kind == SLED_ENTRY ? s : NULL;
}

bool sled_touches(const struct sleds *sleds, vaddr_t start, vaddr_t end) {
    const struct sled_place *s = sled_from(sleds, start);
    return s && s->start < end;
}
