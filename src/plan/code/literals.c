/*
 * Constants that stand between the instructions of functions, on machines whose instructions all
 * have one size (A64): the loads that read them tell of them. They may look like instructions, even
 * like returns, and must not be patched.
 *
 *     ldr  w1, 1f
 *     str  w1, [x0]       a code generator
 *     ret
 *  1: .word 0xd65f03c0    ret
 *
 * What control may come to is none, whatever seems to read it: that may be a constant which looks
 * like a load.
 */
#include "plan/analysis.h"

static int compare_literal(const void *x, const void *y) {
    vaddr_t a = ((const struct literal *)x)->addr, b = ((const struct literal *)y)->addr;
    return (a > b) - (a < b);
}

void literals_note(struct analysis *a, const struct insn *in) {
    if (func_at(a, in->target) != NO_FUNC)
        ARRAY_PUSH(&a->literals, ((struct literal){in->target, in->loads}));
}

/* Does control not come to L: from the instruction before it, or before what fills the room
 * between, or by a branch? Behind what was taken already, too. */
static bool is_passed_by(const struct analysis *a, const struct literal *l) {
    const vaddr_t addr = l->addr;
    const struct text *text = text_at(a, addr);
    const struct func *f = &a->funcs[func_at(a, addr)];
    vaddr_t before = text_previous(text, addr);
    if (func_is_start(f, addr) || addr + l->size > f->end)
        return false;
    for (vaddr_t at = addr; at < addr + l->size; at += a->arch->insn_bytes)
        if (*text_fact(text, at))
            return false;
    while (before && text_kind(text, before) == INSN_NOP &&
           !(*text_fact(text, before) & FACT_TARGET))
        before = text_previous(text, before);
    uint8_t kind = before ? text_kind(text, before) : INSN_OTHER;
    return kind == INSN_RETURN || kind == INSN_JUMP || kind == INSN_JUMP_INDIRECT ||
           kind == INSN_TRAP || kind == INSN_BREAK;
}

/* As what never goes on, so that nothing flows from it. */
static void take(const struct analysis *a, const struct literal *l) {
    struct text *text = text_at(a, l->addr);
    const uint8_t size = a->arch->insn_bytes;
    for (vaddr_t at = l->addr; at < l->addr + l->size && text_holds(text, at); at += size) {
        *text_fact(text, at) |= FACT_OWNED;
        text->code[at - text->start] = text_code(text, size, INSN_TRAP);
    }
}

/* Whether one of those that were taken holds ADDR; all are sorted. */
static bool is_literal(const struct analysis *a, vaddr_t addr) {
    size_t low = 0;
    for (size_t high = a->literals.count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (a->literals.at[middle].addr <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low && addr - a->literals.at[low - 1].addr < a->literals.at[low - 1].size;
}

static void drop_transfers(struct analysis *a) {
    size_t kept = 0;
    for (size_t i = 0; i < a->transfers.count; i++)
        if (!is_literal(a, a->transfers.at[i].from))
            a->transfers.at[kept++] = a->transfers.at[i];
    a->transfers.count = kept;
    kept = 0;
    for (size_t i = 0; i < a->to_returns.count; i++)
        if (!is_literal(a, a->to_returns.at[i].from))
            a->to_returns.at[kept++] = a->to_returns.at[i];
    a->to_returns.count = kept;
}

void literals_settle(struct analysis *a) {
    if (a->literals.count)
        qsort(a->literals.at, a->literals.count, sizeof *a->literals.at, compare_literal);
    size_t kept = 0;
    for (size_t i = 0; i < a->literals.count; i++) {
        const struct literal l = a->literals.at[i];
        if (!is_passed_by(a, &l))
            continue;
        take(a, &l);
        a->literals.at[kept++] = l;
    }
    a->literals.count = kept;
    drop_transfers(a);
    for (size_t i = 0; i < a->odd_words.count; i++)
        a->funcs[a->odd_words.at[i].func].bad |= !is_literal(a, a->odd_words.at[i].address);
}
