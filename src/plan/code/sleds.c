/*
 * XRay's sleds (-fxray-instrument). The program's XRay runtime writes over them at any time,
 * while other threads run, and expects to be alone in that. So sites
 * stand beside them, where they see the same calls whether the sled is patched or not:
 *
 *     entry:  jmp +9; nops        exit:   pop %rbx            tail:  jmp +9; nops
 *     | push %rbx  …              |       pop %rbp                 | jmp target
 *     |                                   ret; nops
 *
 * The window of an exit ends right before its sled, to which the trampoline goes on: what would be
 * told before the return is told before the sled. That needs a way to the sled that leads through
 * the window in any case; where there is none, or no room beside it, the sled's first two bytes,
 * which the runtime replaces at once, become a hop. That is lost when they are replaced.
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

/* What is not understood may be written over all the same. */
static struct sled_place place_of(const struct states *states, const struct text *text,
                                  const struct sled *sled) {
    struct sled_place s = {.start = sled->addr, .kind = kind_of(sled->kind)};
    size_t room = text->size - (s.start - text->start);
    s.end =
        s.start + state_arch(states, text, s.start)->sled(text_bytes(text, s.start), room, s.kind);
    if (s.kind == SLED_EXIT && s.end > s.start &&
        !state_arch(states, text, s.start)->is_return(text_bytes(text, s.start), room))
        s.kind = SLED_EVENT; /* its return stands behind it, and stays as it is */
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

/* The number of the first sled that ends behind ADDR. */
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
