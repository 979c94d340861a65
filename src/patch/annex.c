/* A module's second area, and what the first area's code says about both. */
#include "patch/annex.h"

#include <string.h>

static size_t function_bitmap_bytes(const struct patched *p) {
    return bitmap_bytes(plan_function_count(p->traced_module->plan));
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
    memset(without_hook.guards, 0, sizeof without_hook.guards);
    if (!is_wanted(p))
        return false;
    p->code->refs++;
    *ret = (struct patched){.traced_module = p->traced_module,
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

static void forget_first(struct code *code) {
    free(code->without_annex.missed);
    free(code->without_annex.inexact);
    code->without_annex.missed = code->without_annex.inexact = NULL;
}

/* P's code describes the first area alone again, if it described the annex, too. */
static void describe_first(struct patched *p) {
    struct code *code = p->code;
    if (!code->without_annex.missed)
        return;
    memcpy(code->emitted.missed, code->without_annex.missed, function_bitmap_bytes(p));
    memcpy(code->emitted.inexact, code->without_annex.inexact, function_bitmap_bytes(p));
    memcpy(code->emitted.missed_exits, code->without_annex.missed_exits,
           sizeof code->without_annex.missed_exits);
    forget_first(code);
}

static void save_first(struct patched *p) {
    struct code *code = p->code;
    code->without_annex.missed = copy_of(p, code->emitted.missed);
    code->without_annex.inexact = copy_of(p, code->emitted.inexact);
    memcpy(code->without_annex.missed_exits, code->emitted.missed_exits,
           sizeof code->without_annex.missed_exits);
}

void annex_join(struct patched *p, const struct patched *annex) {
    struct plan_code *c = &p->code->emitted;
    const struct plan_code *more = &annex->code->emitted;
    describe_first(p);
    save_first(p);
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

void annex_separate(struct patched *p, const struct patched *annex) {
    if (!p->code->without_annex.missed)
        return;
    describe_first(p);
    for (int t = 0; t < TIER_COUNT; t++)
        p->code->emitted.trapped_exits[t] -= annex->code->emitted.trapped_exits[t];
}
