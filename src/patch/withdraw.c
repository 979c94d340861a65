/* See withdraw.h. */
#include "patch/withdraw.h"

#include <string.h>

#include "arch/arch.h"
#include "target/memory.h"

bool withdraw_is_patch(const struct patch *q, const uint8_t *text) {
    if (memcmp(text, q->after, q->size) == 0)
        return true;
    for (unsigned i = 0; i < q->size; i++)
        if (q->yields || (text[i] != q->after[i] && text[i] != q->before[i]))
            return false;
    return true;
}

/* Restores patch number I alone. */
static int restore_one(const struct patched *p, int fd, size_t i, struct err *err) {
    const struct patch *q = &p->code->emitted.patches[i];
    uint8_t text[sizeof q->after];
    taddr_t at = q->at + p->bias;
    int rc = patched_is_spared(p, i) ? 0 : memory_read(fd, at, text, q->size, err);
    if (rc < 0 || patched_is_spared(p, i) || memcmp(text, q->before, q->size) == 0 ||
        !withdraw_is_patch(q, text))
        return rc; /* a dropped page must not be written any more */
    return memory_write(fd, at, q->before, q->size, err);
}

int withdraw_patch(const struct patched *p, int fd, size_t i, struct err *err) {
    const struct plan_code *c = &p->code->emitted;
    const struct patch *patches = c->patches, *q = &patches[i];
    int rc = 0;
    for (size_t j = i + 1; j < c->patch_count && patches[j].at < q->at + q->window && rc == 0;
         j++) {
        size_t hop = patched_site_of(p, j);
        if (hop != j)
            rc = withdraw_patch(p, fd, hop, err);
        if (rc == 0)
            rc = restore_one(p, fd, j, err);
    }
    for (size_t j = i; j-- > 0 && patches[j].at + PUN_MAX_BYTES > q->at && rc == 0;) {
        if (patches[j].at + patches[j].reads > q->at)
            rc = withdraw_patch(p, fd, j, err);
    }
    return rc < 0 ? rc : restore_one(p, fd, i, err);
}

int withdraw_around(const struct patched *p, int fd, struct piece share, taddr_t at,
                    struct err *err) {
    const struct plan_code *c = &p->code->emitted;
    const vaddr_t cut = at - p->bias;
    size_t end = patched_patch_at(c, cut + PATCHES_APART),
           first = patched_patch_at(c, cut - PATCHES_APART);
    size_t middle = patched_patch_at(c, cut);
    int rc = 0;
    first = first > share.first ? first : share.first;
    end = end < share.end ? end : share.end;
    for (size_t i = first; i < end && first < middle && middle < end && rc == 0; i++)
        if (patched_site_of(p, i) == i)
            rc = withdraw_patch(p, fd, i, err);
    return rc;
}
