/*
 * Finds functions that write the register by which stubs find lanes. They are not traced. A guard
 * at their entries tells the tool that a thread is about to run them: then the program must be
 * released. A function can be guarded if all of its code is reached from its entries only. The same
 * holds for all functions that share code with it.
 *
 * Data between code may read as such an instruction. So the code of a suspicious function is
 * followed, from its start and from all places in it that something refers to. Only instructions
 * that these paths meet count. A path ends where control does, or at bytes that are no instruction
 * of a program. Few functions are suspicious: the sweep of stage 5 found such an instruction in
 * them, or some reference leads to one.
 */
#include "plan/code/roles.h"
#include "plan/window/placing.h"

struct tour { /* of one function */
    const struct placing *p;
    const struct func *f;
    uint8_t *met;           /* bitmap by distance from the function's start */
    ARRAY(vaddr_t) pending; /* starts of paths */
};

static void add_path(struct tour *t, vaddr_t addr) {
    if (addr < t->f->start || addr >= t->f->end || bitmap_test(t->met, addr - t->f->start))
        return;
    bitmap_set(t->met, addr - t->f->start);
    ARRAY_PUSH(&t->pending, addr);
}

static bool writes_lane(const struct code *code, const struct text *text, vaddr_t at, size_t size) {
    return code_arch(code, text, at)->writes_lane(text_bytes(text, at), size);
}

/* The instruction at ADDR. False: there is none that a program runs. */
static bool read_insn(const struct tour *t, vaddr_t addr, struct insn *ret) {
    const struct arch *arch = code_arch(t->p->code, t->f->text, addr);
    const uint8_t *bytes = text_bytes(t->f->text, addr);
    return arch->decode(bytes, t->f->end - addr, addr, ret, NULL) &&
           !arch->is_barred(bytes, ret->size);
}

/* Follows the path from AT to its end, or to an instruction that another path has met. Returns the
 * first instruction that writes the register; 0: none. */
static vaddr_t follow(struct tour *t, vaddr_t at) {
    struct insn in;
    while (read_insn(t, at, &in)) {
        if (writes_lane(t->p->code, t->f->text, at, in.size))
            return at;
        if (in.kind == INSN_JUMP || in.kind == INSN_BRANCH || in.kind == INSN_LOOP)
            add_path(t, in.target);
        at += in.size;
        if (insn_ends_flow(in.kind) || at >= t->f->end || bitmap_test(t->met, at - t->f->start))
            return 0;
        bitmap_set(t->met, at - t->f->start);
    }
    return 0;
}

static bool is_target(const struct placing *p, const struct text *text, vaddr_t addr) {
    return bitmap_test(p->groups->targets, text_place(text, addr));
}

/* The first instruction found in F that writes the register; 0: none. */
static vaddr_t tour(const struct placing *p, const struct func *f) {
    AUTO_FREE uint8_t *met = mem_alloc(bitmap_bytes(f->end - f->start) + 1);
    struct tour t = {.p = p, .f = f, .met = met};
    vaddr_t found = 0;
    add_path(&t, f->start);
    add_path(&t, f->body);
    for (vaddr_t at = f->start; at < f->end; at++)
        if (is_target(p, f->text, at))
            add_path(&t, at);
    while (t.pending.count && !found)
        found = follow(&t, t.pending.at[--t.pending.count]);
    ARRAY_FREE(&t.pending);
    return found;
}

/* True if the instruction at ADDR, if it is one, writes the register. */
static bool is_suspicious(const struct placing *p, const struct text *text, vaddr_t addr) {
    size_t room = text_end(text) - addr;
    bool begins = insn_begins(p->code, text, addr);
    return (begins || is_target(p, text, addr)) &&
           writes_lane(p->code, text, addr, room < INSN_MAX_BYTES ? room : INSN_MAX_BYTES);
}

/* The function of the first suspicious instruction of PLACE; NO_FUNC: none. */
static uint32_t suspect(const struct placing *p, const struct text *text, struct span place) {
    uint32_t func = NO_FUNC;
    for (vaddr_t at = place.start; at < place.end && func == NO_FUNC; at++)
        if (is_suspicious(p, text, at))
            func = code_func_at(p->code, at);
    return func;
}

/* ---- guards ---- */

/* Whether ADDR lies in the group of ROOT behind the places where its entries' guards can be. */
static bool is_behind_guards(const struct placing *p, uint32_t root, vaddr_t addr) {
    uint32_t i = code_func_at(p->code, addr);
    if (i == NO_FUNC || group_of(p->groups, i) != root)
        return false;
    return !p->groups->by_func[i].entry || !func_is_start(&p->code->funcs[i], addr);
}

/* Whether code outside of the group of ROOT refers to the middle of that, in TEXT. */
static bool refers_to_middle(const struct placing *p, uint32_t root, const struct text *text) {
    const vaddr_t end = text_end(text);
    for (vaddr_t at = text->start; at < end; at++) {
        struct insn in;
        if (!bitmap_test(p->code->refers, text_place(text, at)))
            continue;
        insn_read(p->code, text, at, &in);
        uint32_t from = code_func_at(p->code, at);
        if ((from == NO_FUNC || group_of(p->groups, from) != root) &&
            is_behind_guards(p, root, in.target))
            return true;
    }
    return false;
}

static bool has_function_symbol(const struct placing *p, uint32_t root) {
    const struct module *m = p->code->module;
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct symbol *s = &m->symbols[i];
        bool enters = s->global || s->type == SYMBOL_FUNCTION || s->type == SYMBOL_IFUNC;
        if (enters && !role_is_part(s->name) && is_behind_guards(p, root, s->addr))
            return true;
    }
    return false;
}

/* Refusals that say nothing against a guard: they are about exits. */
static bool may_be_guarded(const struct placing *p, uint32_t func) {
    const uint8_t why = p->ws->by_func[func].refused;
    return why == REFUSED_NOT || why == REFUSED_DEPTH || why == REFUSED_FALL_THROUGH;
}

/* Whether all ranges of the group of ROOT that something enters may have guards, and some do. */
static bool are_entries_good(const struct placing *p, uint32_t root) {
    bool any = false;
    for (uint32_t i = 0; i < p->code->func_count; i++) {
        const struct func_group *f = &p->groups->by_func[i];
        if (group_of(p->groups, i) != root)
            continue;
        if (f->entry ? !may_be_guarded(p, i) : f->called)
            return false;
        any |= f->entry;
    }
    return any;
}

/* Whether all code of the group of ROOT is reached from its entries only. */
static bool is_closed(const struct placing *p, uint32_t root) {
    const struct group *group = &p->groups->by_root[root];
    if (group->undecodable || group->movable || group->code_refs || !are_entries_good(p, root) ||
        has_function_symbol(p, root))
        return false;
    for (size_t i = 0; i < p->code->texts->count; i++)
        if (refers_to_middle(p, root, &p->code->texts->at[i]))
            return false;
    return true;
}

/* FUNC writes the register at ADDR. Refuses all functions that share code with it. */
static void refuse(struct placing *p, uint32_t func, vaddr_t addr) {
    const uint32_t root = group_of(p->groups, func);
    struct windows *ws = p->ws;
    ws->lane_write = ws->lane_write ? ws->lane_write : addr;
    if (ws->by_func[func].refused == REFUSED_LANE)
        return; /* its group has another such instruction */
    const bool guard = is_closed(p, root);
    for (uint32_t i = 0; i < p->code->func_count; i++)
        if (i == func || (p->groups->by_func[i].entry && group_of(p->groups, i) == root)) {
            ws->by_func[i].refused = REFUSED_LANE;
            ws->by_func[i].guard = guard && p->groups->by_func[i].entry;
        }
    if (!guard && !ws->lane_open)
        ws->lane_open = addr;
}

void lane_writes_settle(struct placing *p) {
    for (uint32_t i = 0; i < p->code->func_count; i++) {
        struct func_window *f = &p->ws->by_func[i];
        if (!f->guard)
            continue;
        f->refused = REFUSED_LANE;
        f->guard = f->tier != TIER_NONE;
        p->wanted[i] = false;
        if (!f->guard && !p->ws->lane_open)
            p->ws->lane_open = p->ws->lane_write;
    }
}

/* ---- the search ---- */

/* Looks for functions with such instructions in PLACE. Returns the end of the last one; PLACE.start
 * if there is none. */
static vaddr_t look(struct placing *p, const struct text *text, struct span place) {
    uint32_t func;
    while ((func = suspect(p, text, place)) != NO_FUNC) {
        vaddr_t found = tour(p, &p->code->funcs[func]);
        if (found)
            refuse(p, func, found);
        place.start = p->code->funcs[func].end;
    }
    return place.start;
}

static void look_through(struct placing *p, const struct text *text) {
    enum { BLOCK = 256 }; /* few blocks hold such bytes */
    const vaddr_t last = text_end(text);
    vaddr_t done = text->start;
    for (vaddr_t at = text->start, next; at < last; at = next) {
        next = last - at > BLOCK ? at + BLOCK : last;
        vaddr_t end = last - next > INSN_MAX_BYTES ? next + INSN_MAX_BYTES : last;
        if (done < next && p->code->arch->may_write_lane(text_bytes(text, at), end - at))
            done = look(p, text, (struct span){at > done ? at : done, next});
    }
}

void lane_writes_find(struct placing *p) {
    for (size_t i = 0; p->code->arch->writes_lane && i < p->code->texts->count; i++)
        look_through(p, &p->code->texts->at[i]);
}
