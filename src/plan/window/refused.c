/* Refuses functions that cannot be traced, whatever room they have. */
#include "plan/code/names.h"
#include "plan/window/placing.h"

static enum refusal refusal_of(const struct placing *p, uint32_t i, const struct names *names) {
    const struct code *code = p->code;
    const struct func *f = &code->funcs[i];
    const struct group *group = group_at(p->groups, i);
    if (code->module->text_relocations)
        return REFUSED_TEXT_RELOCATIONS;
    if (f->range && f->range->signal_frame)
        return REFUSED_SIGNAL_FRAME;
    if (names->special)
        return names->special;
    if (!f->entry_depth || p->exits->by_root[group_of(p->groups, i)].pops ||
        f->start == code->module->entry)
        return REFUSED_OWN_ABI;
    if (group->undecodable)
        return REFUSED_UNDECODABLE;
    if (group->movable)
        return REFUSED_MOVABLE;
    if (group->unproven)
        return REFUSED_DEPTH;
    return p->exits->by_func[i].falls_unseen ? REFUSED_FALL_THROUGH : REFUSED_NOT;
}

void refusals_find(struct placing *p) {
    struct arena *arena = arena_new();
    size_t symbol = 0;
    for (uint32_t i = 0; i < p->code->func_count; i++) {
        struct names names = names_at(p->code->module, p->code->funcs[i].start, &symbol, arena);
        p->ws->by_func[i].refused = (uint8_t)refusal_of(p, i, &names);
    }
    arena_free(arena);
}
