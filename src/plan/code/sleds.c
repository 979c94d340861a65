/*
 * XRay's sleds (-fxray-instrument). Their bytes are not ours: the program's XRay runtime writes
 * over them at any time, while other threads run, and counts on nobody else doing so. So sites
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
#include "plan/analysis.h"

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
static struct sled_place place_of(const struct analysis *a, const struct text *text,
                                  const struct sled *sled) {
    struct sled_place s = {.start = sled->addr, .kind = kind_of(sled->kind)};
    size_t room = text->size - (s.start - text->start);
    s.end = s.start + text_arch(a, text, s.start)->sled(text_bytes(text, s.start), room, s.kind);
    if (s.kind == SLED_EXIT && s.end > s.start &&
        !text_arch(a, text, s.start)->is_return(text_bytes(text, s.start), room))
        s.kind = SLED_EVENT; /* its return stands behind it, and stays as it is */
    if (s.end == s.start) {
        s.kind = SLED_EVENT;
        s.end += room < INSN_MAX_BYTES ? room : INSN_MAX_BYTES;
    }
    return s;
}

void sleds_find(struct analysis *a) {
    const struct module *m = a->module;
    for (size_t i = 0; i < m->sled_count; i++) {
        const struct text *text = text_at(a, m->sleds[i].addr);
        if (!text)
            continue;
        struct sled_place s = place_of(a, text, &m->sleds[i]);
        size_t count = a->sleds.count;
        if (!count || s.start >= a->sleds.at[count - 1].end) {
            ARRAY_PUSH(&a->sleds, s);
            continue;
        }
        struct sled_place *last = &a->sleds.at[count - 1];
        if (s.start != last->start || s.kind != last->kind) {
            last->kind = SLED_EVENT;
            last->end = s.end > last->end ? s.end : last->end;
        }
    }
}

void sleds_lock(struct analysis *a) {
    for (size_t i = 0; i < a->sleds.count; i++) {
        const struct sled_place *s = &a->sleds.at[i];
        for (vaddr_t at = s->start; at < s->end; at++)
            text_note(a, at, FACT_OWNED);
    }
}

/* The first sled that ends behind AT; the count if there is none. */
static size_t sled_from(const struct analysis *a, vaddr_t at) {
    size_t low = 0, high = a->sleds.count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (a->sleds.at[mid].end <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct sled_place *sled_at(const struct analysis *a, vaddr_t addr, enum sled_kind kind) {
    size_t i = sled_from(a, addr);
    const struct sled_place *s = i < a->sleds.count ? &a->sleds.at[i] : NULL;
    return s && s->start == addr && s->kind == kind ? s : NULL;
}

vaddr_t sled_of_entry(const struct analysis *a, const struct text *text, vaddr_t addr) {
    enum { ALIGNMENT = 2 }; /* a nop may stand before it */
    size_t i = sled_from(a, addr);
    const struct sled_place *s = i < a->sleds.count ? &a->sleds.at[i] : NULL;
    if (!s || s->kind != SLED_ENTRY || s->start - addr >= ALIGNMENT)
        return addr;
    struct insn in = {0};
    if (s->start != addr)
        text_arch(a, text, addr)->decode(text_bytes(text, addr), s->start - addr, addr, &in, NULL);
    return s->start == addr || in.kind == INSN_NOP ? s->end : addr;
}

const struct sled_place *sled_before(const struct analysis *a, vaddr_t addr) {
    size_t i = sled_from(a, addr);
    const struct sled_place *s = i ? &a->sleds.at[i - 1] : NULL;
    return s && s->end == addr && s->kind == SLED_ENTRY ? s : NULL;
}

bool sled_touches(const struct analysis *a, vaddr_t start, vaddr_t end) {
    size_t i = sled_from(a, start);
    return i < a->sleds.count && a->sleds.at[i].start < end;
}
