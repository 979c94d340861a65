/*
 * Constants between the instructions of functions, on machines whose instructions have one size
 * (A64). Loads show where they are. They may look like instructions, even like returns, and must
 * not be patched.
 *
 *     ldr  w1, 1f
 *     str  w1, [x0]       a code generator
 *     ret
 *  1: .word 0xd65f03c0    ret
 *
 * A word that control may reach is code, whatever seems to load it: the load may itself be a
 * constant.
 */
#include "plan/code/reading.h"

static bool is_noted(const struct code *c, size_t place) {
    return bitmap_test(c->targets, place) || bitmap_test(c->return_points, place) ||
           bitmap_test(c->kept, place);
}

/* True if control cannot reach L: not from the instruction before it or before its padding, and not
 * by a branch. Constants found earlier count as an end of flow. */
static bool is_unreachable(const struct code *c, const struct literal *l) {
    const vaddr_t addr = l->addr;
    const struct text *text = text_at(c->texts, addr);
    const struct func *f = &c->funcs[code_func_at(c, addr)];
    vaddr_t before = insn_before(c, text, addr);
    if (func_is_start(f, addr) || addr + l->size > f->end)
        return false;
    for (vaddr_t at = addr; at < addr + l->size; at += c->arch->insn_bytes)
        if (is_noted(c, text_place(text, at)))
            return false;
    while (before && insn_kind(c, text, before) == INSN_NOP &&
           !bitmap_test(c->targets, text_place(text, before)))
        before = insn_before(c, text, before);
    uint8_t kind = before ? insn_kind(c, text, before) : INSN_OTHER;
    return insn_ends_flow(kind) || kind == INSN_BREAK;
}

/* Rewrites L as instructions that trap, so that nothing flows from it. */
static void write_trap(struct code *c, const struct literal *l) {
    const struct text *text = text_at(c->texts, l->addr);
    const struct insn trap = {.size = c->arch->insn_bytes, .kind = INSN_TRAP};
    for (vaddr_t at = l->addr; at < l->addr + l->size && text_holds(text, at); at += trap.size) {
        bitmap_set(c->kept, text_place(text, at));
        insn_write(c, text, at, &trap);
    }
}

/* True if ADDR is in one of the constants found. */
static bool is_literal(const struct reading *r, vaddr_t addr) {
    size_t i = SEARCH(k, r->literals.count, r->literals.at[k].addr <= addr);
    return i && addr - r->literals.at[i - 1].addr < r->literals.at[i - 1].size;
}

static void drop_transfers(struct reading *r) {
    struct code *c = r->code;
    size_t kept = 0;
    for (size_t i = 0; i < c->transfers.count; i++)
        if (!is_literal(r, c->transfers.at[i].from))
            c->transfers.at[kept++] = c->transfers.at[i];
    c->transfers.count = kept;
    kept = 0;
    for (size_t i = 0; i < c->to_returns.count; i++)
        if (!is_literal(r, c->to_returns.at[i].from))
            c->to_returns.at[kept++] = c->to_returns.at[i];
    c->to_returns.count = kept;
}

void literals_settle(struct reading *r) {
    sort_by_address(r->literals.at, r->literals.count, sizeof *r->literals.at);
    size_t kept = 0;
    for (size_t i = 0; i < r->literals.count; i++) {
        const struct literal l = r->literals.at[i];
        if (!is_unreachable(r->code, &l))
            continue;
        write_trap(r->code, &l);
        r->literals.at[kept++] = l;
    }
    r->literals.count = kept;
    drop_transfers(r);
    for (size_t i = 0; i < r->undecodable.count; i++) {
        const struct address_load *word = &r->undecodable.at[i];
        r->code->by_func[word->func].undecodable |= !is_literal(r, word->address);
    }
}
