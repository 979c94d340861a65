#include "patch/annex.h"

#include <string.h>

static size_t function_bitmap_bytes(const struct patched *p) {
    return plan_function_count(p->entry->plan) / 8 + 1;
}

static bool is_wanted(const struct patched *p) {
    for (size_t i = 0; i < function_bitmap_bytes(p); i++)
        if (p->code->emitted.beyond[i])
            return true;
    return false;
}

bool annex_prepare(struct patched *p, const struct patch_request *request, struct patched *ret) {
    struct patch_request without_hook = *request;
    without_hook.hook = 0;
    if (!is_wanted(p))
        return false;
    p->code->refs++;
    *ret = (struct patched){.entry = p->entry,
                            .device = p->device,
                            .inode = p->inode,
                            .bias = p->bias,
                            .text = p->text,
                            .first = p->code,
                            .traced = true,
                            .in_trace = true};
    if (patcher_prepare(ret, &without_hook, NULL) == 0 && ret->code->emitted.patch_count)
        return true;
    patched_forget(ret);
    return false;
}

static uint8_t *copy_of(const struct patched *p, const uint8_t *bitmap) {
    uint8_t *copy = mem_alloc(function_bitmap_bytes(p));
    memcpy(copy, bitmap, function_bitmap_bytes(p));
    return copy;
}

static void forget_alone(struct code *code) {
    free(code->alone.missed);
    free(code->alone.inexact);
    code->alone.missed = code->alone.inexact = NULL;
}

/* P's code tells of itself again, if it has told of an annex, too. */
static void tell_alone(struct patched *p) {
    struct code *code = p->code;
    if (!code->alone.missed)
        return;
    memcpy(code->emitted.missed, code->alone.missed, function_bitmap_bytes(p));
    memcpy(code->emitted.inexact, code->alone.inexact, function_bitmap_bytes(p));
    memcpy(code->emitted.missed_exits, code->alone.missed_exits, sizeof code->alone.missed_exits);
    forget_alone(code);
}

static void keep_alone(struct patched *p) {
    struct code *code = p->code;
    code->alone.missed = copy_of(p, code->emitted.missed);
    code->alone.inexact = copy_of(p, code->emitted.inexact);
    memcpy(code->alone.missed_exits, code->emitted.missed_exits, sizeof code->alone.missed_exits);
}

void annex_join(struct patched *p, const struct patched *annex) {
    struct plan_code *c = &p->code->emitted;
    const struct plan_code *more = &annex->code->emitted;
    tell_alone(p);
    keep_alone(p);
    for (size_t i = 0; i < function_bitmap_bytes(p); i++) {
        uint8_t served = c->beyond[i] & (uint8_t)~more->missed[i];
        c->missed[i] &= (uint8_t)~served;
        c->inexact[i] = (c->inexact[i] & (uint8_t)~served) | more->inexact[i];
        c->trapped[i] |= more->trapped[i];
    }
    for (int t = 0; t < TIER_COUNT; t++) {
        c->missed_exits[t] += more->missed_exits[t] - more->regained_exits[t];
        c->trapped_exits[t] += more->trapped_exits[t];
    }
}

void annex_part(struct patched *p, const struct patched *annex) {
    if (!p->code->alone.missed)
        return;
    tell_alone(p);
    for (int t = 0; t < TIER_COUNT; t++)
        p->code->emitted.trapped_exits[t] -= annex->code->emitted.trapped_exits[t];
}
