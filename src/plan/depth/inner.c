/*
 * Inner functions: pieces of hand-written code that are called with their caller's frame up, on
 * machines with return addresses in registers. They may return for their caller. GCC's software
 * floating point has such code:
 *
 *     multiply: push {r4-r6, lr}        0
 *               …                      16
 *               bleq rare              16 ──▶ rare: …            0   16, counted from multiply's
 *               …                                   bxne lr      0   goes on behind the bleq
 *               pop  {r4-r6, pc}       16           …
 *                                                   pop {r4-r6, pc}  −16: ends both
 *
 * An inner function pops more than it has pushed, always as much as its callers have on the stack
 * (func_depth.inner). It is proven if only direct calls and jumps of proven functions lead to it,
 * at depths that add up to the same frame. A return for its caller is recorded with the caller's
 * stack pointer, as any return is, and so ends both calls.
 *
 * A function that jumps into inner code at that code's own depth is inner, too. Code that is only
 * jumped to is no function of its own, but a shared tail.
 */
#include <string.h>

#include "plan/depth/follow.h"

struct call_place {
    vaddr_t at, start; /* start: the call's target */
    uint32_t to;       /* the function at `start` */
};
typedef ARRAY(struct call_place) call_list;

static bool lacks_cfi(const struct depths *d, uint32_t i) {
    return i != NO_FUNC && !d->code->funcs[i].range;
}

/* Finds functions with a return at a negative depth. */
static bool note_returns(struct depths *d) {
    enum { MOST = 256 };
    bool any = false;
    for (size_t i = 0; i < d->code->transfers.count; i++) {
        const struct transfer *t = &d->code->transfers.at[i];
        const struct func *f = &d->code->funcs[t->func];
        struct func_depth *known = &d->by_func[t->func];
        if (f->range || known->unproven || func_is_part(d, f) || !transfer_returns(t))
            continue;
        int32_t depth = func_code_depth(d, f, t->from);
        if (depth == DEPTH_UNKNOWN || depth >= d->code->arch->entry_cfa || depth < -MOST)
            continue;
        known->inner = (uint16_t)-depth;
        any = true;
    }
    return any;
}

/* If T, in a function without call-frame information, jumps to an inner function at the depth that
 * this one has there: the bytes of that function's callers' stack. Else 0. */
static uint16_t inner_of_target(const struct depths *d, const struct transfer *t) {
    const struct code *code = d->code;
    bool direct = !transfer_returns(t) && t->kind != INSN_JUMP_INDIRECT;
    uint32_t i = direct ? code_func_at(code, t->to) : NO_FUNC;
    if (i == NO_FUNC || i == t->func || !d->by_func[i].inner || !lacks_cfi(d, t->func))
        return 0;
    int32_t depth = func_code_depth(d, &code->funcs[t->func], t->from);
    bool same = depth != DEPTH_UNKNOWN && depth == func_code_depth(d, &code->funcs[i], t->to);
    return same ? d->by_func[i].inner : 0;
}

static bool spread_inner(struct depths *d) {
    bool any = false;
    for (size_t i = 0; i < d->code->transfers.count; i++) {
        const struct transfer *t = &d->code->transfers.at[i];
        struct func_depth *f = &d->by_func[t->func];
        if (f->inner)
            continue;
        f->inner = inner_of_target(d, t);
        any |= f->inner != 0;
    }
    return any;
}

static void add_calls(const struct depths *d, const struct text *text, call_list *ret) {
    vaddr_t end = text->start + text->size;
    for (vaddr_t at = text->start; at < end; at += d->code->arch->other->insn_bytes) {
        struct insn in;
        if (insn_kind(d->code, text, at) != INSN_CALL || !insn_size(d->code, text, at))
            continue;
        insn_read(d->code, text, at, &in);
        uint32_t i = in.target ? code_func_at(d->code, in.target) : NO_FUNC;
        if (i != NO_FUNC && d->by_func[i].inner)
            ARRAY_PUSH(ret, ((struct call_place){at, in.target, i}));
    }
}

/* An inner function may leave anything in registers. So its callers' frames are followed again. */
static void follow_callers(struct follower *f, const call_list *calls) {
    struct depths *d = f->d;
    uint32_t last = NO_FUNC;
    for (size_t i = 0; i < calls->count; i++) {
        uint32_t caller = code_func_at(d->code, calls->at[i].at);
        if (caller != last && lacks_cfi(d, caller) && !d->by_func[caller].unproven &&
            !func_is_part(d, &d->code->funcs[caller]))
            d->by_func[caller].unproven = !depth_follow(f, caller);
        last = caller;
    }
}

/* True if the depth at the call C, with its callers' stack, is what the inner callee needs. */
static bool fits(const struct depths *d, const struct call_place *c) {
    uint32_t i = code_func_at(d->code, c->at);
    if (!lacks_cfi(d, i) || d->by_func[i].unproven || func_is_part(d, &d->code->funcs[i]))
        return false;
    int32_t depth = func_code_depth(d, &d->code->funcs[i], c->at);
    return depth != DEPTH_UNKNOWN && depth + d->by_func[i].inner == d->by_func[c->to].inner;
}

/* True if F can be reached otherwise than by direct calls and jumps. */
static bool is_referred_to(const struct depths *d, const struct func *f) {
    const struct module *m = d->code->module;
    if (f->name || d->code->by_func[f - d->code->funcs].taken)
        return true;
    for (size_t i = 0; i < m->ref_count; i++) {
        vaddr_t to = code_address(d->code->texts, m->refs[i].target);
        if (to >= f->start && to < f->end)
            return true;
    }
    return false;
}

/* Handles jumps to inner functions. To those in CALLED (by function) they must come at entry depth.
 * An inner function that nothing leads to is unproven: it has no caller to return for. */
static void check_jumps(struct depths *d, const bool *called) {
    AUTO_FREE bool *reached = mem_alloc(d->code->func_count + 1);
    memcpy(reached, called, d->code->func_count);
    for (size_t i = 0; i < d->code->transfers.count; i++) {
        const struct transfer *t = &d->code->transfers.at[i];
        uint32_t to =
            t->to && t->kind != INSN_JUMP_INDIRECT ? code_func_at(d->code, t->to) : NO_FUNC;
        if (to == NO_FUNC || to == t->func || !d->by_func[to].inner ||
            !func_is_start(&d->code->funcs[to], t->to))
            continue;
        reached[to] = true;
        if (!called[to])
            ARRAY_PUSH(&d->inner_calls, ((struct inner_call){t->func, to}));
        else
            d->by_func[to].unproven |= !func_entry_depth(d, &d->code->funcs[t->func], t->from);
    }
    for (uint32_t i = 0; i < d->code->func_count; i++) {
        struct func_depth *f = &d->by_func[i];
        f->unproven |= f->inner && (!reached[i] || is_referred_to(d, &d->code->funcs[i]));
    }
}

void inner_find(struct follower *f) {
    struct depths *d = f->d;
    const struct code *code = f->code;
    call_list calls = {0};
    if (!code->arch->other || !note_returns(d))
        return;
    while (spread_inner(d))
        ;
    for (size_t i = 0; i < code->texts->count; i++)
        add_calls(d, &code->texts->at[i], &calls);
    follow_callers(f, &calls);
    AUTO_FREE bool *called = mem_alloc(code->func_count + 1);
    for (size_t i = 0; i < calls.count; i++) {
        const struct call_place *c = &calls.at[i];
        d->by_func[c->to].unproven |= c->start != code->funcs[c->to].start || !fits(d, c);
        called[c->to] = true;
        struct inner_call way = {code_func_at(code, c->at), c->to};
        ARRAY_PUSH(&d->inner_calls, way);
    }
    check_jumps(d, called);
    ARRAY_FREE(&calls);
}
