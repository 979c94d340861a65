/*
 * A walk over all paths through one function. Along each, struct frame knows what the stack pointer
 * is; where paths meet, what they agree on.
 *
 *        push %rbp            8 │ depth, CFA − sp, before each instruction
 *        mov  %rsp,%rbp      16 │
 *        and  $-32,%rsp      16 │ sp becomes a place of another base …
 *        …                    ? │
 *        leave                ? │ … and is found again through %rbp
 *        ret                  8 │
 *
 * Where paths meet with different depths after a call, the call is one that does not return
 * (abort): the walk is made again without the path behind it. What is found so is proven only if
 * all returns and all jumps out stand at a known depth; that is judged last, by transfer.
 *
 * Parts (.cold) are followed with the function that jumps to them.
 */
#include "plan/code/inline_tables.h"
#include "plan/depth/follow.h"
#include "plan/depth/split.h"
#include "plan/patch.h"

enum { MAX_WALKS = 64 };
enum { NOT_REACHED = INT32_MAX };

struct spot {      /* a byte of code, or as many as instructions are aligned to */
    uint32_t node; /* index + 1; 0: none */
    int32_t depth; /* of an instruction's first byte; NOT_REACHED, DEPTH_UNKNOWN */
};

struct piece { /* the function, or a part of it */
    const struct func *func;
    size_t first; /* of its spots */
};

struct node { /* an instruction to which several paths may lead */
    vaddr_t at;
    vaddr_t call; /* where the call returns to behind which all paths so far come; 0: not all do */
    bool waiting;
    struct frame frame;
};

struct walk {
    struct follower *f;
    const struct code *code;
    struct depths *d;
    ARRAY(struct piece) pieces;
    ARRAY(struct spot) spots;
    ARRAY(struct node) nodes;
    ARRAY(uint32_t) work; /* nodes to go on from */
    ARRAY(uint32_t) late; /* the same, where no path but from behind a call has come so far */
    address_list labels;
    address_list pads;   /* landing pads */
    struct frame thrown; /* what is known at all calls: there, too */
    bool throws;
    ARRAY(struct frame_return) frame_returns;
    ARRAY(vaddr_t) no_way; /* where calls would return to that do not return */
    bool again;            /* one more was found */
    bool lost;             /* control goes where no instruction is known */
    bool falls;            /* runs into the next function, as that function's entry expects */
};

struct path { /* what is being followed */
    vaddr_t at;
    vaddr_t call; /* see struct node */
    struct frame frame;
    struct fork fork;
};

/* ---- places ---- */

static void add_piece(struct walk *w, const struct func *f) {
    struct piece p = {f, w->spots.count};
    ARRAY_PUSH(&w->pieces, p);
    for (vaddr_t at = f->start; at < f->end; at += UINT64_C(1) << f->text->size_shift)
        ARRAY_PUSH(&w->spots, ((struct spot){0, NOT_REACHED}));
}

/* That of ADDR, which is in PIECE. */
static struct spot *spot_in(const struct walk *w, const struct piece *piece, vaddr_t addr) {
    const struct func *f = piece->func;
    return &w->spots.at[piece->first + ((addr - f->start) >> f->text->size_shift)];
}

/* NULL outside the function and its parts. */
static struct spot *spot_at(struct walk *w, vaddr_t at, const struct func **ret) {
    for (size_t i = 0; i < w->pieces.count; i++) {
        const struct func *f = w->pieces.at[i].func;
        if (at >= f->start && at < f->end) {
            *ret = f;
            return spot_in(w, &w->pieces.at[i], at);
        }
    }
    return NULL;
}

/* A function that is known by jumps only is a part of that which jumps to it with a frame up. */
static bool becomes_part(const struct walk *w, const struct func *g, vaddr_t at, int32_t depth) {
    if (g->weak && g->start == at && depth != DEPTH_UNKNOWN && depth != w->code->arch->entry_cfa)
        func_depth_of(w->d, g)->cold = true;
    return func_is_part(w->d, g) && !g->plt;
}

/* The same for a place that is jumped to from DEPTH: a part becomes a piece. */
static struct spot *spot_entered(struct walk *w, vaddr_t at, int32_t depth,
                                 const struct func **ret) {
    struct spot *spot = spot_at(w, at, ret);
    uint32_t g = spot ? NO_FUNC : code_func_at(w->code, at);
    if (g == NO_FUNC || !becomes_part(w, &w->code->funcs[g], at, depth))
        return spot;
    add_piece(w, &w->code->funcs[g]);
    return spot_at(w, at, ret);
}

static int32_t depth_of(const struct walk *w, const struct frame *frame) {
    struct place sp = frame->regs[w->code->arch->sp_register];
    return sp.base == BASE_CFA ? -sp.offset : DEPTH_UNKNOWN;
}

/* ---- the walk ---- */

static bool is_known(const struct place *place) { return place->base != BASE_UNKNOWN; }

static bool returns_to(const struct walk *w, vaddr_t at) {
    for (size_t i = 0; i < w->no_way.count; i++) {
        if (w->no_way.at[i] == at)
            return false;
    }
    return true;
}

static void wait_for(struct walk *w, uint32_t node) {
    if (w->nodes.at[node].waiting)
        return;
    w->nodes.at[node].waiting = true;
    if (w->nodes.at[node].call)
        ARRAY_PUSH(&w->late, node);
    else
        ARRAY_PUSH(&w->work, node);
}

/* The path has come to a node: goes on from there, with what all paths know. */
static void meet(struct walk *w, struct node *n, const struct path *p) {
    const struct place *here = &n->frame.regs[w->code->arch->sp_register];
    const struct place *there = &p->frame.regs[w->code->arch->sp_register];
    bool apart = is_known(here) && is_known(there) && !place_same(*here, *there);
    if (apart && !n->call != !p->call) {
        ARRAY_PUSH(&w->no_way, n->call ? n->call : p->call);
        w->again |= n->call != 0; /* the path that came first should not have */
        return;
    }
    if (n->call != p->call)
        n->call = 0;
    if (frame_merge(&n->frame, &p->frame))
        wait_for(w, (uint32_t)(n - w->nodes.at));
}

static void arrive(struct walk *w, struct spot *spot, const struct path *p) {
    if (spot->node) {
        meet(w, &w->nodes.at[spot->node - 1], p);
        return;
    }
    struct node n = {.at = p->at, .call = p->call, .frame = p->frame};
    ARRAY_PUSH(&w->nodes, n);
    spot->node = (uint32_t)w->nodes.count;
    wait_for(w, spot->node - 1);
}

/* A branch. Where it leaves the function is judged by its transfer. */
static void branch(struct walk *w, const struct path *from, vaddr_t to) {
    const struct func *f;
    struct spot *spot = spot_entered(w, to, depth_of(w, &from->frame), &f);
    struct path p = {.at = to, .frame = from->frame};
    if (spot)
        arrive(w, spot, &p);
}

/* Does the jump stay in the function? A table of addresses that is not known may as well be that of
 * a program's variables, as where the stack is as at the entry, unless data leads into it. */
static bool is_switch(const struct walk *w, const struct transfer *t, int32_t depth) {
    enum { FEWEST_LABELS = 2 };
    if (!w->labels.count)
        return false;
    switch ((enum dispatch_kind)t->dispatch) {
    case DISPATCH_OFFSETS:
        return true;
    case DISPATCH_ADDRESSES:
        return t->to || depth != w->code->arch->entry_cfa ||
               w->code->by_func[t->func].code_refs >= FEWEST_LABELS;
    case DISPATCH_COMPUTED:
        if (table_switch(w->code, t->func, t->to))
            return true;
        return depth != w->code->arch->entry_cfa;
    case DISPATCH_ANY:
        return depth != w->code->arch->entry_cfa;
    default:
        return false;
    }
}

/* That at AT; NULL: there is none. */
static const struct transfer *transfer_from(const struct walk *w, vaddr_t at) {
    size_t i = transfer_at(w->code, at);
    const struct transfer *t = i < w->code->transfers.count ? &w->code->transfers.at[i] : NULL;
    return t && t->from == at ? t : NULL;
}

static void jump_indirect(struct walk *w, const struct path *p) {
    const struct transfer *t = transfer_from(w, p->at);
    if (!t || !is_switch(w, t, depth_of(w, &p->frame)))
        return;
    w->f->inside[t - w->code->transfers.at] = true;
    for (size_t k = 0; k < w->labels.count; k++)
        branch(w, p, w->labels.at[k]);
}

/* Behind the last byte of F: fine after a call that does not return, and where the next function's
 * entry is met as by a call. */
static void run_off(struct walk *w, const struct path *p) {
    const struct text *text = text_at(w->code->texts, p->at);
    vaddr_t at = p->at;
    if (p->call)
        return;
    while (text && text_holds(text, at) && insn_kind(w->code, text, at) == INSN_NOP &&
           code_func_at(w->code, at) == NO_FUNC)
        at += insn_size(w->code, text, at);
    uint32_t next = code_func_at(w->code, at);
    const struct func *g = next == NO_FUNC ? NULL : &w->code->funcs[next];
    bool enters = g && g->start == at && !func_is_part(w->d, g) && !g->plt;
    if (enters && depth_of(w, &p->frame) == w->code->arch->entry_cfa)
        w->falls = true;
    else
        w->lost = true;
    if (g && !g->range && !w->falls)
        func_depth_of(w->d, g)->unproven = true;
}

/* Unwinders give back the registers of the call that they come from. */
static void reach_pads(struct walk *w, const struct path *p) {
    if (w->throws && !frame_merge(&w->thrown, &p->frame))
        return;
    if (!w->throws)
        w->thrown = p->frame;
    w->throws = true;
    struct path thrown = {.frame = w->thrown};
    for (size_t i = 0; i < w->pads.count; i++)
        branch(w, &thrown, w->pads.at[i]);
}

static void call(struct walk *w, struct path *p, const struct insn *in,
                 const struct stack_effect *effects, size_t count) {
    static const struct stack_effect push = {.op = STACK_PUSH, .reg = STACK_NO_REGISTER},
                                     pop = {.op = STACK_POP, .reg = STACK_NO_REGISTER};
    p->at += in->size;
    p->call = in->goes_on ? 0 : p->at;
    /* To learn where it is, by a word that is not popped. (Where no word is pushed there are other
     * means: that is a call of the next function, which does not return.) */
    bool pushes = in->kind == INSN_CALL && in->target == p->at && w->code->arch->entry_cfa;
    if (pushes)
        p->call = 0;
    for (size_t i = 0; i < (pushes ? 1 : count); i++)
        frame_step(&p->frame, w->code->arch, pushes ? &push : &effects[i], 0);
    if (in->kind == INSN_CALL && list_holds(&w->f->pops_word, in->target))
        frame_step(&p->frame, w->code->arch, &pop, 0);
    if (w->pads.count)
        reach_pads(w, p);
}

/* mov lr, pc; bx r3 */
static bool is_call_by_jump(const struct walk *w, vaddr_t at) {
    const struct transfer *t = transfer_from(w, at);
    return t && t->dispatch == DISPATCH_CALL;
}

/* The way behind an instruction that leads away where its condition holds: what it does then it has
 * not done. What else it may have done, in a block, is told as unknown. */
static void pass_exit(struct path *p, const struct arch *arch, const struct stack_effect *effects,
                      size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct stack_effect changed = {.changed = effects[i].changed};
        frame_step(&p->frame, arch, &changed, 0);
    }
}

/* What a return that loads the stack pointer takes off the stack, where it comes to DEPTH. It says
 * nothing of that itself, but where all ways to it agree on how deep the stack is before, and what
 * it loads is what it was at the entry, that is known. */
static void note_frame_return(struct walk *w, const struct path *p, const struct arch *arch,
                              struct code_bytes code, int32_t depth) {
    uint8_t base;
    int32_t link;
    if (!arch->return_loads_sp || !arch->return_loads_sp(code.at, code.size, &base, &link))
        return;
    const struct place from = p->frame.regs[base];
    const int32_t pops = depth_of(w, &p->frame), word = arch->word_bytes;
    const int32_t below = -(from.offset + link); /* the CFA */
    const int32_t behind = below / word - 1;
    bool whole = pops % word == 0 && below % word == 0;
    bool whole_known = depth == arch->entry_cfa && pops != DEPTH_UNKNOWN && from.base == BASE_CFA &&
                       whole && below > 0 && below <= pops && mark_can_tell(pops / word, behind);
    const struct frame_return ret = {p->at, (int16_t)(whole_known ? pops : -1),
                                     (uint8_t)(whole_known ? behind : 0)};
    for (size_t i = 0; i < w->frame_returns.count; i++) {
        if (w->frame_returns.at[i].addr == p->at) { /* come to before, when less was known */
            w->frame_returns.at[i] = ret;
            return;
        }
    }
    ARRAY_PUSH(&w->frame_returns, ret);
}

/* What stands where P is leads away: the frame as it is then. How deep the stack is there is what
 * tells whether that is an exit. */
static void run_leaving(struct walk *w, const struct path *p, const struct text *text,
                        struct frame *ret) {
    const struct func *f;
    struct stack_effect effects[STACK_MAX_EFFECTS];
    struct spot *spot = spot_at(w, p->at, &f);
    const struct arch *arch = code_arch(w->code, text, p->at);
    size_t count = arch->stack(text_bytes(text, p->at), insn_size(w->code, text, p->at), effects);
    *ret = p->frame;
    for (size_t i = 0; i < count; i++)
        frame_step(ret, arch, &effects[i], BASE_ROUNDED + (uint32_t)(p->at - text->start));
    if (spot)
        spot->depth = depth_of(w, ret);
}

/* Where return addresses are in registers a return may take others off the stack. */
static void end_at_return(struct walk *w, const struct path *p, const struct text *text) {
    struct frame frame;
    if (w->code->arch->entry_cfa)
        return;
    run_leaving(w, p, text, &frame);
    const struct code_bytes code = {text_bytes(text, p->at), insn_size(w->code, text, p->at),
                                    p->at};
    note_frame_return(w, p, code_arch(w->code, text, p->at), code, depth_of(w, &frame));
}

/* Does IN call what keeps no register but the stack pointer? */
static bool calls_inner(const struct walk *w, const struct insn *in) {
    uint32_t g = in->kind == INSN_CALL && in->target ? code_func_at(w->code, in->target) : NO_FUNC;
    return g != NO_FUNC && w->d->by_func[g].inner;
}

/* A branch, or an exit, on a condition, which parts frames that it has come with. */
static void leave(struct walk *w, struct path *p, const struct insn *in, const struct text *text) {
    struct path from = {.at = p->at, .call = p->call, .frame = p->frame};
    if (p->fork.condition)
        from.frame = p->fork.held;
    if (in->kind == INSN_LOOP)
        run_leaving(w, &from, text, &from.frame);
    if (insn_may_return(in))
        end_at_return(w, &from, text);
    else
        branch(w, &from, in->target);
    p->fork.condition = 0;
}

/* What stands where P is. Of what goes on to the next instruction no more is asked for than the
 * text tells, but, where frames are parted, what it does to flags. */
static void insn_of(const struct walk *w, const struct path *p, const struct text *text,
                    struct insn *ret) {
    const struct arch *arch = code_arch(w->code, text, p->at);
    struct dispatch form;
    const uint8_t kind = insn_kind(w->code, text, p->at), size = insn_size(w->code, text, p->at);
    *ret = (struct insn){.addr = p->at, .size = size, .kind = kind};
    if ((kind != INSN_OTHER && kind != INSN_NOP) || p->fork.condition)
        arch->decode(text_bytes(text, p->at), size, p->at, ret, NULL);
    if (kind == INSN_FIXED && call_is_switch(w->code->states, arch, ret, &form))
        ret->kind = INSN_JUMP_INDIRECT;
}

/* One instruction. False when the path ends there. */
static bool step(struct walk *w, struct path *p, const struct text *text) {
    struct insn in;
    const struct arch *arch = code_arch(w->code, text, p->at);
    const struct stack_effect by_hand = {.op = STACK_CALL, .changed = arch->changed_by_calls};
    const uint8_t *bytes = text_bytes(text, p->at);
    uint8_t size = insn_size(w->code, text, p->at);
    insn_of(w, p, text, &in);
    switch ((enum insn_kind)in.kind) {
    case INSN_BAD:
    case INSN_FIXED:
        w->lost = true;
        return false;
    case INSN_RETURN:
        end_at_return(w, p, text);
        return false;
    case INSN_TRAP:
    case INSN_BREAK:
        return false;
    case INSN_JUMP_INDIRECT:
        if (is_call_by_jump(w, p->at)) {
            call(w, p, &in, &by_hand, 1);
            return returns_to(w, p->call);
        }
        jump_indirect(w, p);
        if (!in.goes_on)
            return false;
        break;
    case INSN_JUMP:
        branch(w, p, in.target);
        return false;
    case INSN_BRANCH:
    case INSN_LOOP:
        leave(w, p, &in, text);
        break;
    default:
        break;
    }
    struct stack_effect effects[STACK_MAX_EFFECTS];
    const struct fork_insn whole = {.code = {bytes, size, p->at},
                                    .effects = effects,
                                    .count = arch->stack(bytes, size, effects),
                                    .rounded = BASE_ROUNDED + (uint32_t)(p->at - text->start)};
    if (in.kind == INSN_CALL || in.kind == INSN_CALL_INDIRECT) {
        if (calls_inner(w, &in))
            effects[0].changed = ~(1U << arch->sp_register);
        call(w, p, &in, effects, whole.count);
        return !p->call || returns_to(w, p->call);
    }
    if (insn_may_return(&in) || in.goes_on || in.kind == INSN_LOOP)
        pass_exit(p, arch, effects, whole.count);
    else
        fork_step(&p->fork, &p->frame, arch, &whole);
    if (in.writes_flags)
        fork_end(&p->fork, &p->frame);
    p->call = in.kind == INSN_NOP ? p->call : 0;
    p->at += size;
    return true;
}

/* How deep the stack is where P does what stands there. Ends forks that are not told apart. */
static int32_t depth_here(const struct walk *w, struct path *p, const struct text *text) {
    uint8_t kind = insn_kind(w->code, text, p->at);
    const struct code_bytes code = {text_bytes(text, p->at), insn_size(w->code, text, p->at),
                                    p->at};
    if ((kind == INSN_BRANCH || kind == INSN_LOOP) &&
        fork_is_decided_by(&p->fork, code_arch(w->code, text, p->at), code))
        return depth_of(w, &p->fork.held);
    if (kind != INSN_OTHER && kind != INSN_NOP)
        fork_end(&p->fork, &p->frame);
    int32_t depth = depth_of(w, &p->frame);
    return p->fork.condition && depth != depth_of(w, &p->fork.held) ? DEPTH_UNKNOWN : depth;
}

/* Does code that is followed read a constant at ADDR, by its place? */
static bool is_read(const struct walk *w, vaddr_t addr) {
    for (size_t i = 0; i < w->pieces.count; i++) {
        const struct func *f = w->pieces.at[i].func;
        for (vaddr_t at = f->start, next; at < f->end; at = next) {
            struct insn in;
            next = at + w->code->arch->insn_bytes;
            if (!insn_begins(w->code, f->text, at))
                continue;
            next = at + insn_size(w->code, f->text, at);
            code_arch(w->code, f->text, at)
                ->decode(text_bytes(f->text, at), next - at, at, &in, NULL);
            if (in.operand == OPERAND_PC_MEMORY && in.target == addr)
                return true;
        }
    }
    return false;
}

/* P has come to what is no code. Nobody runs into constants: they stand behind calls that do not
 * return, and where compilers know that control does not come (__builtin_unreachable). */
static bool is_unreachable(const struct walk *w, const struct path *p, const struct text *text) {
    return state_is_data(w->code->states, text, p->at) &&
           (p->call || w->code->module->marks_hold || is_read(w, p->at));
}

static void follow(struct walk *w, struct path *p) {
    for (bool first = true;; first = false) {
        const struct func *f;
        struct spot *spot = spot_at(w, p->at, &f);
        if (!spot) {
            fork_end(&p->fork, &p->frame);
            run_off(w, p);
            return;
        }
        if (!insn_begins(w->code, f->text, p->at)) {
            w->lost |= !is_unreachable(w, p, f->text);
            return;
        }
        /* Whether a return is a target is found out later only: returns.c. */
        bool target = bitmap_test(w->f->targets, text_place(f->text, p->at)) ||
                      insn_kind(w->code, f->text, p->at) == INSN_RETURN;
        if (!first && target) {
            fork_end(&p->fork, &p->frame);
            arrive(w, spot, p);
            return;
        }
        spot->depth = depth_here(w, p, f->text);
        if (!step(w, p, f->text))
            return;
    }
}

static void follow_all(struct walk *w) {
    const struct func *f = w->pieces.at[0].func;
    for (size_t i = 0; i < w->spots.count; i++)
        w->spots.at[i] = (struct spot){0, NOT_REACHED};
    w->nodes.count = w->work.count = w->late.count = w->frame_returns.count = 0;
    w->again = w->lost = w->falls = w->throws = false;
    struct path start = {.at = f->start};
    frame_enter(&start.frame, w->code->arch);
    branch(w, &start, f->start);
    while ((w->work.count || w->late.count) && !w->again) {
        uint32_t next = w->work.count ? w->work.at[--w->work.count] : w->late.at[--w->late.count];
        struct node *n = &w->nodes.at[next];
        struct path p = {.at = n->at, .call = n->call, .frame = n->frame};
        n->waiting = false;
        follow(w, &p);
    }
}

/* ---- results ---- */

static void write_rows(struct walk *w, const struct piece *piece) {
    struct depths *d = w->d;
    const struct func *f = piece->func;
    struct func_depth *known = func_depth_of(d, f);
    known->first_row = (uint32_t)d->rows.count;
    int32_t last = NOT_REACHED - 1;
    for (vaddr_t at = f->start, next; at < f->end; at = next) {
        if (state_is_data(w->code->states, f->text, at)) {
            next = state_end(w->code->states, f->text, at, f->end);
            continue;
        }
        if (!insn_begins(w->code, f->text, at))
            break;
        next = at + insn_size(w->code, f->text, at);
        int32_t depth = spot_in(w, piece, at)->depth;
        bool is_known_depth = depth != NOT_REACHED && depth != DEPTH_UNKNOWN;
        struct cfa_row row = {at, is_known_depth ? w->code->arch->sp_register : CFA_EXPRESSION,
                              is_known_depth ? depth : 0};
        if (depth != last)
            ARRAY_PUSH(&d->rows, row);
        last = depth;
    }
    known->row_count = (uint32_t)d->rows.count - known->first_row;
}

static void walk_done(struct walk *w) {
    ARRAY_FREE(&w->pieces);
    ARRAY_FREE(&w->spots);
    ARRAY_FREE(&w->nodes);
    ARRAY_FREE(&w->work);
    ARRAY_FREE(&w->late);
    ARRAY_FREE(&w->labels);
    ARRAY_FREE(&w->pads);
    ARRAY_FREE(&w->frame_returns);
    ARRAY_FREE(&w->no_way);
}

/* Its frames are told by the code, whereas unwinders are told by tables that only they read: always
 * so on 32-bit Arm, where others may describe the frames, too. */
static void find_pads(struct walk *w, const struct func *f) {
    const struct module *m = w->code->module;
    size_t low = SEARCH(i, m->ref_count, m->refs[i].target < f->start);
    const bool walked = !f->range || w->code->arch->other;
    for (; walked && low < m->ref_count && m->refs[low].target < f->end; low++) {
        if (m->refs[low].kind == CODE_REF_LANDING_PAD)
            ARRAY_PUSH(&w->pads, m->refs[low].target);
    }
}

bool depth_follow(struct follower *f, uint32_t func) {
    struct walk w = {.f = f, .code = f->code, .d = f->d};
    const struct func *whole = &f->code->funcs[func];
    add_piece(&w, whole);
    labels_find(f, func, &w.labels);
    find_pads(&w, whole);
    int walks = 0;
    do
        follow_all(&w);
    while (w.again && ++walks < MAX_WALKS);
    bool all = !w.again && !w.lost;
    f->d->by_func[func].falls |= all && w.falls;
    for (size_t i = 0; all && i < w.pieces.count; i++)
        write_rows(&w, &w.pieces.at[i]);
    for (size_t i = 0; all && i < w.frame_returns.count; i++)
        ARRAY_PUSH(&f->d->frame_returns, w.frame_returns.at[i]);
    walk_done(&w);
    return all;
}
