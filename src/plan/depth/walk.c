/*
 * Walks all paths through one function. Along each, struct frame holds what is known of the stack
 * pointer. Where paths meet, only what both know is kept.
 *
 *        push %rbp            8 │ depth, CFA − sp, before each instruction
 *        mov  %rsp,%rbp      16 │
 *        and  $-32,%rsp      16 │ sp becomes a place of another base …
 *        …                    ? │
 *        leave                ? │ … and is found again through %rbp
 *        ret                  8 │
 *
 * If paths meet with different depths behind a call, the call does not return (abort). The walk is
 * repeated without the path behind that call. The result is proven only if all returns and jumps
 * out have a known depth. This is decided last, for each transfer.
 *
 * Parts (.cold) are followed with the function that jumps to them.
 */
#include "base/bitmap.h"
#include "plan/code/inline_tables.h"
#include "plan/depth/follow.h"
#include "plan/depth/split.h"
#include "plan/patch.h"

enum { MAX_WALKS = 64 };
enum { NOT_REACHED = INT32_MAX };

struct spot {           /* a unit of code: as many bytes as instructions are aligned to */
    uint32_t node : 31; /* index + 1; 0: none */
    bool label : 1;     /* an indirect jump may lead here */
    int32_t depth;      /* at an instruction's first byte; or NOT_REACHED, DEPTH_UNKNOWN */
};

struct piece { /* the function, or a part of it */
    const struct func *func;
    size_t first; /* of its spots */
};

struct node { /* an instruction that several paths may reach */
    vaddr_t at;
    vaddr_t call; /* return address of the call from which all paths so far come; 0: not all do */
    bool waiting;
    struct frame frame;
};

struct walk {
    const struct follower *f;
    const struct code *code;
    struct depths *d;
    struct walked *ret;
    ARRAY(struct piece) pieces;
    ARRAY(struct spot) spots;
    ARRAY(struct node) nodes;
    ARRAY(uint32_t) work; /* nodes to follow */
    ARRAY(uint32_t) late; /* nodes to follow last: all paths so far come from behind a call */
    address_list pads;    /* landing pads */
    struct frame thrown;  /* at landing pads: what is known at all calls */
    bool throws;
    ARRAY(vaddr_t) noreturn_sites; /* return addresses of calls that do not return */
    bool again;                    /* one more such call was found */
    bool lost;                     /* control reaches a place that is no known instruction */
    bool falls;                    /* runs into the next function at entry depth */
};

struct path { /* the path at hand */
    vaddr_t at;
    vaddr_t call; /* see struct node */
    struct frame frame;
    struct split split;
};

/* ---- places ---- */

static void add_piece(struct walk *w, const struct func *f) {
    struct piece p = {f, w->spots.count};
    const uint8_t shift = f->text->size_shift;
    const size_t count = ((f->end - f->start) + (1u << shift) - 1) >> shift;
    const address_list *labels = &w->ret->labels;
    ARRAY_PUSH(&w->pieces, p);
    ARRAY_RESERVE(&w->spots, w->spots.count + count);
    for (size_t i = 0; i < count; i++)
        w->spots.at[w->spots.count++] = (struct spot){.depth = NOT_REACHED};
    for (size_t i = list_place(labels, f->start); i < labels->count && labels->at[i] < f->end; i++)
        w->spots.at[p.first + ((labels->at[i] - f->start) >> shift)].label =
            code_is_aligned(w->code, f->text, labels->at[i]);
}

/* ADDR is in PIECE. */
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

/* A weak function becomes a part of the function that jumps to it with a frame up. */
static bool becomes_part(const struct walk *w, const struct func *g, vaddr_t at, int32_t depth) {
    if (g->weak && g->start == at && depth != DEPTH_UNKNOWN && depth != w->code->arch->entry_cfa)
        func_depth_of(w->d, g)->cold = true; /* see depths_follow() */
    return func_is_part(w->d, g) && !g->plt;
}

/* The same for the target of a jump from DEPTH: a part becomes a piece. */
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
    struct frame_place sp = frame->regs[w->code->arch->sp_register];
    return sp.base == BASE_CFA ? -sp.offset : DEPTH_UNKNOWN;
}

/* ---- the walk ---- */

static bool is_known(const struct frame_place *place) { return place->base != BASE_UNKNOWN; }

static bool returns_to(const struct walk *w, vaddr_t at) {
    for (size_t i = 0; i < w->noreturn_sites.count; i++) {
        if (w->noreturn_sites.at[i] == at)
            return false;
    }
    return true;
}

static void enqueue(struct walk *w, uint32_t node) {
    if (w->nodes.at[node].waiting)
        return;
    w->nodes.at[node].waiting = true;
    if (w->nodes.at[node].call)
        ARRAY_PUSH(&w->late, node);
    else
        ARRAY_PUSH(&w->work, node);
}

/* A path with FRAME, behind the call CALL (0: none), reaches the node N: merges the frames, and
 * follows N again if its frame changed. */
static void merge_at(struct walk *w, struct node *n, vaddr_t call, const struct frame *frame) {
    const struct frame_place *here = &n->frame.regs[w->code->arch->sp_register];
    const struct frame_place *there = &frame->regs[w->code->arch->sp_register];
    bool apart = is_known(here) && is_known(there) && !frame_place_same(*here, *there);
    if (apart && !n->call != !call) {
        ARRAY_PUSH(&w->noreturn_sites, n->call ? n->call : call);
        w->again |= n->call != 0; /* the first path should not exist */
        return;
    }
    if (n->call != call)
        n->call = 0;
    if (frame_merge(&n->frame, frame))
        enqueue(w, (uint32_t)(n - w->nodes.at));
}

/* The same, at SPOT, whose address is AT. */
static void arrive(struct walk *w, struct spot *spot, vaddr_t at, vaddr_t call,
                   const struct frame *frame) {
    if (spot->node) {
        merge_at(w, &w->nodes.at[spot->node - 1], call, frame);
        return;
    }
    ARRAY_GROW(&w->nodes);
    struct node *n = &w->nodes.at[w->nodes.count++];
    n->at = at;
    n->call = call;
    n->waiting = false;
    n->frame = *frame;
    spot->node = (uint32_t)w->nodes.count & INT32_MAX;
    enqueue(w, spot->node - 1);
}

/* Follows a branch to TO with FRAME. Branches out of the function are judged by their transfers. */
static void branch(struct walk *w, const struct frame *frame, vaddr_t to) {
    const struct func *f;
    struct spot *spot = spot_entered(w, to, depth_of(w, frame), &f);
    if (spot)
        arrive(w, spot, to, 0, frame);
}

/* True if the indirect jump T stays in the function. An unknown table of addresses may be a
 * variable with a function's address: at entry depth, and if no data leads into this function. */
static bool is_switch(const struct walk *w, const struct transfer *t, int32_t depth) {
    enum { FEWEST_LABELS = 2 };
    if (!w->ret->labels.count)
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

/* The transfer at AT; NULL: none. */
static const struct transfer *transfer_from(const struct walk *w, vaddr_t at) {
    size_t i = transfer_at(w->code, at);
    const struct transfer *t = i < w->code->transfers.count ? &w->code->transfers.at[i] : NULL;
    return t && t->from == at ? t : NULL;
}

static void jump_indirect(struct walk *w, const struct path *p) {
    const struct transfer *t = transfer_from(w, p->at);
    if (!t || !is_switch(w, t, depth_of(w, &p->frame)))
        return;
    flag_set(&w->f->inside[t - w->code->transfers.at]);
    for (size_t k = 0; k < w->ret->labels.count; k++)
        branch(w, &p->frame, w->ret->labels.at[k]);
}

/* The path runs past the end of the function. This is fine behind a call that does not return, and
 * where the next function's entry is met at entry depth. */
static void run_past_end(struct walk *w, const struct path *p) {
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
        flag_set(&func_depth_of(w->d, g)->unproven);
}

/* Unwinders restore registers of the call, so landing pads get the merged frames of all calls. */
static void reach_pads(struct walk *w, const struct path *p) {
    if (w->throws && !frame_merge(&w->thrown, &p->frame))
        return;
    if (!w->throws)
        w->thrown = p->frame;
    w->throws = true;
    for (size_t i = 0; i < w->pads.count; i++)
        branch(w, &w->thrown, w->pads.at[i]);
}

static void call(struct walk *w, struct path *p, const struct insn *in,
                 const struct stack_effect *effects, size_t count) {
    static const struct stack_effect push = {.op = STACK_PUSH, .reg = STACK_NO_REGISTER},
                                     pop = {.op = STACK_POP, .reg = STACK_NO_REGISTER};
    p->at += in->size;
    p->call = in->goes_on ? 0 : p->at;
    /* A call of the next instruction reads the pc: its word is not popped. (Machines that push no
     * word have other ways. There it is a call of the next function, which does not return.) */
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

/* The path behind an instruction that branches if its condition holds: its effects did not happen.
 * Other instructions of its block may have run, so all registers that change are unknown. */
static void pass_exit(struct path *p, const struct arch *arch, const struct stack_effect *effects,
                      size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct stack_effect changed = {.changed = effects[i].changed};
        frame_step(&p->frame, arch, &changed, 0);
    }
}

/* Records what the return at P, which loads the stack pointer, pops, if the depth after it is
 * DEPTH. The instruction does not say it. It is known if all paths agree on the depth before it,
 * and it loads the stack pointer that was there at the entry. */
static void note_frame_return(struct walk *w, const struct path *p, const struct arch *arch,
                              struct code_bytes code, int32_t depth) {
    uint8_t base;
    int32_t link;
    if (!arch->return_loads_sp || !arch->return_loads_sp(code.at, code.size, &base, &link))
        return;
    const struct frame_place from = p->frame.regs[base];
    const int32_t pops = depth_of(w, &p->frame), word = arch->word_bytes;
    const int32_t below = -(from.offset + link); /* the CFA */
    const int32_t behind = below / word - 1;
    bool whole = pops % word == 0 && below % word == 0;
    bool whole_known = depth == arch->entry_cfa && pops != DEPTH_UNKNOWN && from.base == BASE_CFA &&
                       whole && below > 0 && below <= pops && mark_can_hold(pops / word, behind);
    const struct frame_return ret = {p->at, (int16_t)(whole_known ? pops : -1),
                                     (uint8_t)(whole_known ? behind : 0)};
    for (size_t i = 0; i < w->ret->frame_returns.count; i++) {
        if (w->ret->frame_returns.at[i].addr == p->at) { /* seen before, with less known */
            w->ret->frame_returns.at[i] = ret;
            return;
        }
    }
    ARRAY_PUSH(&w->ret->frame_returns, ret);
}

/* The instruction at P leaves the function. RET becomes the frame after it. The depth of that frame
 * shows whether this is an exit. */
static void run_exit(struct walk *w, const struct path *p, const struct text *text,
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

/* Where return addresses are in registers, a return may also pop words. */
static void end_at_return(struct walk *w, const struct path *p, const struct text *text) {
    struct frame frame;
    if (w->code->arch->entry_cfa)
        return;
    run_exit(w, p, text, &frame);
    const struct code_bytes code = {text_bytes(text, p->at), insn_size(w->code, text, p->at),
                                    p->at};
    note_frame_return(w, p, code_arch(w->code, text, p->at), code, depth_of(w, &frame));
}

/* True if IN calls an inner function, which keeps no register but the stack pointer. */
static bool calls_inner(const struct walk *w, const struct insn *in) {
    uint32_t g = in->kind == INSN_CALL && in->target ? code_func_at(w->code, in->target) : NO_FUNC;
    return g != NO_FUNC && w->d->by_func[g].inner;
}

/* A conditional branch or exit, which ends a split. */
static void leave(struct walk *w, struct path *p, const struct insn *in, const struct text *text) {
    const struct frame *frame = p->split.condition ? &p->split.held : &p->frame;
    if (in->kind == INSN_LOOP || insn_may_return(in)) {
        struct path from = {.at = p->at, .call = p->call, .frame = *frame};
        if (in->kind == INSN_LOOP)
            run_exit(w, &from, text, &from.frame);
        if (insn_may_return(in))
            end_at_return(w, &from, text);
        else
            branch(w, &from.frame, in->target);
    } else {
        branch(w, frame, in->target);
    }
    p->split.condition = 0;
}

/* The instruction at P. If it only continues to the next one, RET has just what code.insns has,
 * unless frames are split: then flags matter. */
static void insn_of(const struct walk *w, const struct path *p, const struct text *text,
                    struct insn *ret) {
    const struct arch *arch = code_arch(w->code, text, p->at);
    struct dispatch form;
    const uint8_t kind = insn_kind(w->code, text, p->at), size = insn_size(w->code, text, p->at);
    *ret = (struct insn){.addr = p->at, .size = size, .kind = kind};
    if ((kind != INSN_OTHER && kind != INSN_NOP) || p->split.condition)
        arch->decode(text_bytes(text, p->at), size, p->at, ret, NULL);
    if (kind == INSN_FIXED && call_is_switch(w->code->states, arch, ret, &form))
        ret->kind = INSN_JUMP_INDIRECT;
}

/* One instruction. False when the path ends there. */
static bool step(struct walk *w, struct path *p, const struct text *text) {
    struct insn in;
    const struct arch *arch = code_arch(w->code, text, p->at);
    const struct stack_effect call_by_jump = {.op = STACK_CALL, .changed = arch->changed_by_calls};
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
            call(w, p, &in, &call_by_jump, 1);
            return returns_to(w, p->call);
        }
        jump_indirect(w, p);
        if (!in.goes_on)
            return false;
        break;
    case INSN_JUMP:
        branch(w, &p->frame, in.target);
        return false;
    case INSN_BRANCH:
    case INSN_LOOP:
        leave(w, p, &in, text);
        break;
    default:
        break;
    }
    struct stack_effect effects[STACK_MAX_EFFECTS];
    const struct split_insn whole = {.code = {bytes, size, p->at},
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
        split_step(&p->split, &p->frame, arch, &whole);
    if (in.writes_flags)
        split_end(&p->split, &p->frame);
    p->call = in.kind == INSN_NOP ? p->call : 0;
    p->at += size;
    return true;
}

/* The depth for the instruction at P. Ends a split that this instruction does not separate. */
static int32_t depth_here(const struct walk *w, struct path *p, const struct text *text) {
    uint8_t kind = insn_kind(w->code, text, p->at);
    const struct code_bytes code = {text_bytes(text, p->at), insn_size(w->code, text, p->at),
                                    p->at};
    if ((kind == INSN_BRANCH || kind == INSN_LOOP) &&
        split_has_condition(&p->split, code_arch(w->code, text, p->at), code))
        return depth_of(w, &p->split.held);
    if (kind != INSN_OTHER && kind != INSN_NOP)
        split_end(&p->split, &p->frame);
    int32_t depth = depth_of(w, &p->frame);
    return p->split.condition && depth != depth_of(w, &p->split.held) ? DEPTH_UNKNOWN : depth;
}

/* True if code of this walk loads a constant from ADDR. */
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

/* P has reached a place that is not code. True if this cannot happen at run time: constants stand
 * behind calls that do not return, and behind code that ends by __builtin_unreachable. */
static bool is_unreachable(const struct walk *w, const struct path *p, const struct text *text) {
    return state_is_data(w->code->states, text, p->at) &&
           (p->call || w->code->module->marks_complete || is_read(w, p->at));
}

static void follow(struct walk *w, struct path *p) {
    for (bool first = true;; first = false) {
        const struct func *f;
        struct spot *spot = spot_at(w, p->at, &f);
        if (!spot) {
            split_end(&p->split, &p->frame);
            run_past_end(w, p);
            return;
        }
        if (!insn_begins(w->code, f->text, p->at)) {
            w->lost |= !is_unreachable(w, p, f->text);
            return;
        }
        /* Which returns are targets is known only later: window/returns.c. */
        bool target = spot->label || bitmap_test(w->f->targets, text_place(f->text, p->at)) ||
                      insn_kind(w->code, f->text, p->at) == INSN_RETURN;
        if (!first && target) {
            split_end(&p->split, &p->frame);
            arrive(w, spot, p->at, p->call, &p->frame);
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
        w->spots.at[i] = (struct spot){.label = w->spots.at[i].label, .depth = NOT_REACHED};
    w->nodes.count = w->work.count = w->late.count = 0;
    w->ret->frame_returns.count = 0;
    w->again = w->lost = w->falls = w->throws = false;
    struct path p;
    frame_enter(&p.frame, w->code->arch);
    branch(w, &p.frame, f->start);
    while ((w->work.count || w->late.count) && !w->again) {
        uint32_t next = w->work.count ? w->work.at[--w->work.count] : w->late.at[--w->late.count];
        struct node *n = &w->nodes.at[next];
        p.at = n->at;
        p.call = n->call;
        p.frame = n->frame;
        p.split.condition = 0;
        n->waiting = false;
        follow(w, &p);
    }
}

/* ---- results ---- */

static void write_rows(struct walk *w, const struct piece *piece) {
    struct walked *ret = w->ret;
    const struct func *f = piece->func;
    const struct walked_piece known = {(uint32_t)(f - w->code->funcs), ret->rows.count};
    int32_t last = NOT_REACHED - 1;
    ARRAY_PUSH(&ret->pieces, known);
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
            ARRAY_PUSH(&ret->rows, row);
        last = depth;
    }
}

struct walk *depth_walk_new(const struct follower *f) {
    struct walk *w = mem_alloc(sizeof *w);
    *w = (struct walk){.f = f, .code = f->code, .d = f->d};
    return w;
}

void depth_walk_free(struct walk *w) {
    ARRAY_FREE(&w->pieces);
    ARRAY_FREE(&w->spots);
    ARRAY_FREE(&w->nodes);
    ARRAY_FREE(&w->work);
    ARRAY_FREE(&w->late);
    ARRAY_FREE(&w->pads);
    ARRAY_FREE(&w->noreturn_sites);
    free(w);
}

void depth_walk(struct walk *w, uint32_t func, struct walked *ret) {
    const struct func *whole = &w->code->funcs[func];
    *ret = (struct walked){.func = func};
    w->ret = ret;
    w->pieces.count = w->spots.count = w->pads.count = w->noreturn_sites.count = 0;
    labels_find(w->f, func, &ret->labels);
    add_piece(w, whole);
    pads_find(w->code, whole, &w->pads);
    int walks = 0;
    do
        follow_all(w);
    while (w->again && ++walks < MAX_WALKS);
    ret->all = !w->again && !w->lost;
    ret->falls = w->falls;
    for (size_t i = 0; i < w->pieces.count; i++)
        write_rows(w, &w->pieces.at[i]);
}
