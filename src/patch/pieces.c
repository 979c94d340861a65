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

void pieces_find_shares(const struct plan_code *code, piece_array *ret) {
    const struct patch *patches = code->patches;
    const size_t count = code->patch_count;
    for (size_t i = 0; i < count;) {
        size_t end = i + SHARE_PATCHES < count ? i + SHARE_PATCHES : count;
        while (end < count && (patches[end].at - patches[end - 1].at <= PATCHES_APART ||
                               !are_on_different_pages(patches, end)))
            end++;
        struct piece share = {i, end};
        ARRAY_PUSH(ret, share);
        i = end;
    }
}
