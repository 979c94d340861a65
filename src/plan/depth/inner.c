/*
 * Routines within functions: pieces of hand-written code that are called with their caller's frame
 * up, where return addresses are in registers, and that may return for it. GCC's floating point in
 * software is made so:
 *
 *     multiply: push {r4-r6, lr}        0
 *               …                      16
 *               bleq rare              16 ──▶ rare: …            0   16, counted from multiply's
 *               …                                   bxne lr      0   goes on behind the bleq
 *               pop  {r4-r6, pc}       16           …
 *                                                   pop {r4-r6, pc}  −16: ends both
 *
 * Such a routine is known by that: its own code takes more off the stack than it has put there,
 * always as much as its callers have there (func.inner). It is proven if nothing but direct calls
 * and jumps of proven functions lead to it, at depths that add up to the same frame. Its return for
 * its caller is told with the caller's stack pointer, as any return is, and so ends both calls.
 *
 * A function is inner, too, if it goes on in inner code as if it stood there itself. What is only
 * jumped to is no function of its own, but a tail that several share.
 */
#include <string.h>

#include "plan/depth/depth.h"

struct call_place {
    vaddr_t at, start; /* start: of what is called */
    uint32_t to;       /* the function there */
};
typedef ARRAY(struct call_place) call_list;

static bool is_bare(const struct analysis *a, uint32_t i) {
    return i != NO_FUNC && !a->funcs[i].range;
}

/* What ends below the frame that it began with. */
static bool note_returns(struct analysis *a) {
    enum { MOST = 256 };
    bool any = false;
    for (size_t i = 0; i < a->transfers.count; i++) {
        const struct transfer *t = &a->transfers.at[i];
        struct func *f = &a->funcs[t->func];
        if (f->range || f->unproven || func_is_part(f) || !transfer_returns(t))
            continue;
        int32_t depth = depth_at(a, f, t->from);
        if (depth == DEPTH_UNKNOWN || depth >= a->arch->entry_cfa || depth < -MOST)
            continue;
        f->inner = (uint16_t)-depth;
        any = true;
    }
    return any;
}

/* The inner function that T of a function without call-frame information leads to from the same
 * depth as it has there, counted from their own frames; NULL: to none. */
static const struct func *inner_led_to(const struct analysis *a, const struct transfer *t) {
    uint32_t i = transfer_returns(t) || t->kind == INSN_JUMP_INDIRECT ? NO_FUNC : func_at(a, t->to);
    const struct func *f = &a->funcs[t->func], *g = i == NO_FUNC ? NULL : &a->funcs[i];
    if (!g || g == f || !g->inner || !is_bare(a, t->func))
        return NULL;
    int32_t depth = depth_at(a, f, t->from);
    return depth != DEPTH_UNKNOWN && depth == depth_at(a, g, t->to) ? g : NULL;
}

static bool pass_on(struct analysis *a) {
    bool any = false;
    for (size_t i = 0; i < a->transfers.count; i++) {
        struct func *f = &a->funcs[a->transfers.at[i].func];
        const struct func *g = f->inner ? NULL : inner_led_to(a, &a->transfers.at[i]);
        if (!g)
            continue;
        f->inner = g->inner;
        any = true;
    }
    return any;
}

static void add_calls(const struct analysis *a, const struct text *text, call_list *ret) {
    vaddr_t end = text->start + text->size;
    for (vaddr_t at = text->start; at < end; at += a->arch->other->insn_bytes) {
        struct insn in;
        if (text_kind(text, at) != INSN_CALL || !text_size(text, at))
            continue;
        text_arch(a, text, at)->decode(text_bytes(text, at), text_size(text, at), at, &in, NULL);
        uint32_t i = in.target ? func_at(a, in.target) : NO_FUNC;
        if (i != NO_FUNC && a->funcs[i].inner)
            ARRAY_PUSH(ret, ((struct call_place){at, in.target, i}));
    }
}

/* What an inner function leaves in registers is anything: the frames of its callers are followed
 * again. */
static void follow_callers(struct analysis *a, const call_list *calls) {
    uint32_t last = NO_FUNC;
    for (size_t i = 0; i < calls->count; i++) {
        uint32_t caller = func_at(a, calls->at[i].at);
        if (caller != last && is_bare(a, caller) && !a->funcs[caller].unproven &&
            !func_is_part(&a->funcs[caller]))
            a->funcs[caller].unproven = !depth_follow(a, caller);
        last = caller;
    }
}

/* Whether the call at AT stands where G's callers' frames are as deep as G needs them. */
static bool fits(const struct analysis *a, const struct func *g, const struct call_place *c) {
    uint32_t i = func_at(a, c->at);
    if (!is_bare(a, i) || a->funcs[i].unproven || func_is_part(&a->funcs[i]))
        return false;
    int32_t depth = depth_at(a, &a->funcs[i], c->at);
    return depth != DEPTH_UNKNOWN && depth + a->funcs[i].inner == g->inner;
}

/* Can F be come to in other ways than by direct calls and jumps of others? */
static bool is_referred_to(const struct analysis *a, const struct func *f) {
    const struct module *m = a->module;
    if (f->name || *text_fact(f->text, f->start) & FACT_TAKEN)
        return true;
    for (size_t i = 0; i < m->ref_count; i++) {
        vaddr_t to = code_address(a, m->refs[i].target);
        if (to >= f->start && to < f->end)
            return true;
    }
    return false;
}

/* Jumps to inner functions: to those that are called (CALLED: by function) only as from one. What
 * nothing leads to has no callers whose frames it could return for. */
static void settle(struct analysis *a, const bool *called) {
    AUTO_FREE bool *reached = mem_alloc(a->func_count + 1);
    memcpy(reached, called, a->func_count);
    for (size_t i = 0; i < a->transfers.count; i++) {
        const struct transfer *t = &a->transfers.at[i];
        uint32_t to = t->to && t->kind != INSN_JUMP_INDIRECT ? func_at(a, t->to) : NO_FUNC;
        struct func *g = to == NO_FUNC || to == t->func ? NULL : &a->funcs[to];
        if (!g || !g->inner || !func_is_start(g, t->to))
            continue;
        reached[to] = true;
        if (!called[to])
            ARRAY_PUSH(&a->inner_ways, ((struct inner_way){t->func, to}));
        else
            g->unproven |= !func_entry_depth(a, &a->funcs[t->func], t->from);
    }
    for (uint32_t i = 0; i < a->func_count; i++) {
        struct func *f = &a->funcs[i];
        f->unproven |= f->inner && (!reached[i] || is_referred_to(a, f));
    }
}

void inner_find(struct analysis *a) {
    call_list calls = {0};
    if (!a->arch->other || !note_returns(a))
        return;
    while (pass_on(a))
        ;
    for (size_t i = 0; i < a->texts.count; i++)
        add_calls(a, &a->texts.at[i], &calls);
    follow_callers(a, &calls);
    AUTO_FREE bool *called = mem_alloc(a->func_count + 1);
    for (size_t i = 0; i < calls.count; i++) {
        struct func *g = &a->funcs[calls.at[i].to];
        g->unproven |= calls.at[i].start != g->start || !fits(a, g, &calls.at[i]);
        called[calls.at[i].to] = true;
        struct inner_way way = {func_at(a, calls.at[i].at), calls.at[i].to};
        ARRAY_PUSH(&a->inner_ways, way);
    }
    settle(a, called);
    ARRAY_FREE(&calls);
}
