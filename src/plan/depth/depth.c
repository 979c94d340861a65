/* Runs the steps of depths_find(), and answers questions about its result. */
#include "plan/depth/depth.h"

#include "plan/code/plt_stubs.h"
#include "plan/code/roles.h"
#include "plan/depth/follow.h"

int32_t func_code_depth(const struct depths *d, const struct func *f, vaddr_t addr) {
    const struct func_depth *known = func_depth_of(d, f);
    const struct cfa_row *rows = d->rows.at + known->first_row;
    size_t i = SEARCH(k, rows ? known->row_count : 0, rows[k].pc <= addr);
    return i && rows[i - 1].reg != CFA_EXPRESSION ? rows[i - 1].offset : DEPTH_UNKNOWN;
}

int32_t func_depth(const struct depths *d, const struct func *f, vaddr_t addr) {
    return f->range ? func_cfi_depth(d->code->texts, f, addr) : func_code_depth(d, f, addr);
}

bool func_entry_depth(const struct depths *d, const struct func *f, vaddr_t addr) {
    return func_depth(d, f, addr) == d->code->arch->entry_cfa;
}

bool depths_agree(const struct depths *d, const struct transfer *t) {
    const struct func *f = &d->code->funcs[t->func];
    const struct func *g = &d->code->funcs[code_func_at(d->code, t->to)];
    int32_t from = func_depth(d, f, t->from), to = func_depth(d, g, t->to);
    return from != DEPTH_UNKNOWN && to != DEPTH_UNKNOWN &&
           from + func_depth_of(d, f)->inner == to + func_depth_of(d, g)->inner;
}

bool transfer_is_idle(const struct depths *d, const struct transfer *t) {
    if (t->to != d->code->funcs[t->func].end || transfer_at_entry(d, t))
        return false;
    uint32_t g = code_func_at(d->code, t->to);
    return g == NO_FUNC || (d->code->funcs[g].entry_depth && !d->by_func[g].cold);
}

/* Weak functions are followed last. By then it is known whether they are parts of others. */
static void follow_without_cfi(struct follower *f, bool weak) {
    for (uint32_t i = 0; i < f->code->func_count; i++) {
        struct func_depth *known = &f->d->by_func[i];
        if (!f->code->funcs[i].range && !known->cold && f->code->funcs[i].weak == weak)
            known->unproven |= !f->code->by_func[i].undecodable && !depth_follow(f, i);
    }
}

/* Running into the next function is proven only if neither function is inner. */
static void check_fall(struct depths *d, uint32_t i) {
    struct func_depth *f = &d->by_func[i], *g = i + 1 < d->code->func_count ? f + 1 : NULL;
    if (f->falls && g && (f->inner || g->inner))
        f->unproven = g->unproven = true;
}

/* ADDR is a jump's target at another depth than its function expects. That function is unproven if
 * it is inner, or if ADDR is not its start. */
static void note_stray(struct depths *d, vaddr_t addr) {
    const struct func *f = &d->code->funcs[code_func_at(d->code, addr)];
    struct func_depth *known = func_depth_of(d, f);
    known->unproven |= known->inner || (!f->range && !func_is_start(f, addr));
}

static void prove(struct follower *f) {
    const struct code *code = f->code;
    struct depths *d = f->d;
    for (size_t i = 0; i < code->transfers.count; i++) {
        const struct transfer *t = &code->transfers.at[i];
        if (transfer_is_stray(d, t))
            note_stray(d, t->to);
        if (code->funcs[t->func].range)
            continue;
        d->entry_depth[i] = func_entry_depth(d, &code->funcs[t->func], t->from);
        d->by_func[t->func].unproven |= !transfer_is_proven(f, t);
    }
}

static bool pops_word(const char *name) { return name && role_pops_word(name); }

struct follower follower_new(const struct code *code, struct depths *d) {
    *d = (struct depths){.code = code};
    d->by_func = mem_alloc((code->func_count + 1) * sizeof *d->by_func);
    d->entry_depth = mem_alloc(code->transfers.count + 1);
    for (uint32_t i = 0; i < code->func_count; i++) {
        d->by_func[i].cold = code->funcs[i].cold;
        d->by_func[i].unproven = code->by_func[i].entered_inside;
    }
    for (size_t i = 0; i < code->transfers.count; i++) {
        const struct transfer *t = &code->transfers.at[i];
        d->entry_depth[i] = func_entry_depth(d, &code->funcs[t->func], t->from);
    }
    struct follower f = {.code = code, .d = d};
    f.targets = place_bits_new(code->texts, code->targets);
    f.inside = mem_alloc(code->transfers.count + 1);
    functions_by_name(code->states, pops_word, &f.pops_word);
    return f;
}

void follower_done(struct follower *f) {
    place_bits_free(f->code->texts, f->targets);
    free(f->inside);
    ARRAY_FREE(&f->pops_word);
    ARRAY_FREE(&f->data_starts);
}

struct depths depths_find(const struct code *code) {
    struct depths ret;
    struct follower f = follower_new(code, &ret);
    if (code->functions->no_cfi_high)
        anchors_find(&ret);
    follow_without_cfi(&f, false);
    follow_without_cfi(&f, true);
    inner_find(&f);
    for (uint32_t i = 0; i < code->func_count; i++)
        check_fall(&ret, i);
    prove(&f);
    correct_depths(&f);
    sort_by_address(ret.frame_returns.at, ret.frame_returns.count, sizeof *ret.frame_returns.at);
    follower_done(&f);
    return ret;
}

void depths_done(struct depths *depths) {
    free(depths->by_func);
    free(depths->entry_depth);
    ARRAY_FREE(&depths->rows);
    ARRAY_FREE(&depths->frame_returns);
    ARRAY_FREE(&depths->inner_calls);
    ARRAY_FREE(&depths->labels);
}
