/* Collects places where control may arrive from elsewhere than the instruction before. */
#include "plan/window/arrivals.h"

/* By root: the function has an indirect jump. */
static uint8_t *find_indirect_jumps(const struct groups *g) {
    const struct code *code = g->code;
    uint8_t *ret = mem_alloc(code->func_count + 1);
    for (size_t i = 0; i < code->transfers.count; i++) {
        const struct transfer *t = &code->transfers.at[i];
        if (t->kind == INSN_JUMP_INDIRECT || (t->kind == INSN_BRANCH && !t->to))
            ret[group_of(g, t->func)] = true;
    }
    return ret;
}

/* Only its own function jumps to a label, from any of its parts (GCC manual, "Labels as Values").
 * If a function has no indirect jump, a word that leads into its middle is a number. */
static void note_labels(const struct groups *g, uint8_t *entered) {
    const struct code *code = g->code;
    AUTO_FREE uint8_t *jumps = find_indirect_jumps(g);
    for (size_t i = 0; i < code->module->ref_count; i++) {
        const struct code_ref *r = &code->module->refs[i];
        uint32_t f = code_func_at(code, r->target);
        if (f == NO_FUNC || r->target == code->funcs[f].start ||
            !ref_may_be_number(code, r, &code->funcs[f]) || ref_is_hint(code, r))
            continue;
        const struct group *group = group_at(g, f);
        if (jumps[group_of(g, f)] || group->undecodable || group->movable || group->unproven)
            code_note(code, entered, r->target);
    }
}

static void note_returns(const struct code *code, struct arrivals *a) {
    for (size_t i = 0; i < code->to_returns.count;) {
        const vaddr_t to = code->to_returns.at[i].to;
        const size_t place = text_place(text_at(code->texts, to), to);
        bool only = !bitmap_test(a->entered, place);
        for (; i < code->to_returns.count && code->to_returns.at[i].to == to; i++)
            a->only_branch[i] = only;
        bitmap_set(a->entered, place);
    }
}

struct arrivals arrivals_find(const struct exits *exits) {
    const struct code *code = exits->code;
    struct arrivals ret = {.texts = code->texts,
                           .entered = place_bits_new(code->texts, exits->groups->targets),
                           .only_branch = mem_alloc(code->to_returns.count + 1)};
    for (size_t i = 0; i < bitmap_bytes(code->texts->places); i++)
        ret.entered[i] |= code->return_points[i];
    note_labels(exits->groups, ret.entered);
    note_returns(code, &ret);
    return ret;
}

void arrivals_done(struct arrivals *arrivals) {
    place_bits_free(arrivals->texts, arrivals->entered);
    free(arrivals->only_branch);
}
