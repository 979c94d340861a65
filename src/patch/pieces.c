/* Cuts where patches are far apart, if possible between pages. */
#include "patch/pieces.h"

enum {
    NEAR_BYTES = 4096,    /* patches this close share a piece */
    SHARE_PATCHES = 1024, /* of a share, at least: starting a thread takes less time */
};

/* Whether patches I - 1 and I are on different pages. */
static bool are_on_different_pages(const struct patch *patches, size_t i) {
    return page_down(patches[i - 1].at + patches[i - 1].size - 1) != page_down(patches[i].at);
}

/* Cuts the patches FIRST..END-1 in the upper half. Patches that depend on each other (a short jump
 * and its hole) rarely come into two pieces, and those of one page hardly ever. */
static size_t cut(const struct patch *patches, size_t first, size_t end) {
    size_t apart = 0;
    for (size_t i = end; i > first + (end - first) / 2; i--) {
        if (patches[i].at - patches[i - 1].at < PATCHES_APART)
            continue;
        if (are_on_different_pages(patches, i))
            return i;
        apart = apart ? apart : i;
    }
    return apart ? apart : end;
}

void pieces_find(const struct plan_code *code, struct piece share, piece_array *ret) {
    const struct patch *patches = code->patches;
    for (size_t i = share.first; i < share.end;) {
        size_t end = i + 1;
        while (end < share.end && patches[end].at - patches[end - 1].at < NEAR_BYTES &&
               patches[end].at + patches[end].size - patches[i].at <= PIECE_TEXT_BYTES)
            end++;
        if (end < share.end && patches[end].at - patches[end - 1].at < NEAR_BYTES)
            end = cut(patches, i, end);
        struct piece piece = {i, end};
        ARRAY_PUSH(ret, piece);
        i = end;
    }
}

/* Whether patch J and its site, or bytes that J concerns, are on both sides of the start of patch
 * I. Holes have no window; those of a killed spoor's patches are not known. */
static bool reaches_over(const struct patched *p, size_t j, size_t i) {
    const struct patch *patches = p->code->emitted.patches, *q = &patches[j];
    uint8_t size = q->window ? q->window : UINT8_MAX;
    size = size > q->reads ? size : q->reads;
    return (j < i) != (patched_site_of(p, j) < i) || (j < i && q->at + size > patches[i].at);
}

/* Whether no patch from I on depends on one before, or the other way round. */
static bool is_independent(const struct patched *p, size_t i) {
    const struct plan_code *c = &p->code->emitted;
    const vaddr_t at = c->patches[i].at;
    for (size_t j = i; j-- > 0 && at - c->patches[j].at < PATCHES_APART;)
        if (reaches_over(p, j, i))
            return false;
    for (size_t j = i; j < c->patch_count && c->patches[j].at - at < PATCHES_APART; j++)
        if (reaches_over(p, j, i))
            return false;
    return true;
}

void pieces_find_shares(const struct patched *p, piece_array *ret) {
    const struct patch *patches = p->code->emitted.patches;
    const size_t count = p->code->emitted.patch_count;
    for (size_t i = 0; i < count;) {
        size_t end = i + SHARE_PATCHES < count ? i + SHARE_PATCHES : count;
        while (end < count && !(are_on_different_pages(patches, end) && is_independent(p, end)))
            end++;
        struct piece share = {i, end};
        ARRAY_PUSH(ret, share);
        i = end;
    }
}
