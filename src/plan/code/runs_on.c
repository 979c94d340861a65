/* Finds code behind ranges of call-frame information that these run on into. */
#include "plan/code/runs_on.h"

#include "plan/code/stack.h"

struct line { /* straight through code, from one instruction to the next */
    const struct states *states;
    const struct text *text;
    const struct arch *arch;
    struct insn in;
};

static bool decode_at(struct line *l, vaddr_t at, vaddr_t limit) {
    l->arch = state_arch(l->states, l->text, at);
    return l->arch->decode(text_bytes(l->text, at), limit - at, at, &l->in, NULL);
}

static bool is_padding(uint8_t kind) { return kind == INSN_NOP || kind == INSN_BREAK; }

/* Do not continue, or may not: a call may not return. */
static bool may_end(uint8_t kind) {
    return kind == INSN_RETURN || kind == INSN_JUMP || kind == INSN_JUMP_INDIRECT ||
           kind == INSN_TRAP || kind == INSN_CALL || kind == INSN_CALL_INDIRECT;
}

/* True if control runs from the last instruction of [START, END) to the one behind it. */
static bool reaches_end(struct line *l, vaddr_t start, vaddr_t end) {
    uint8_t last = INSN_TRAP;
    for (vaddr_t at = start; at < end; at += l->in.size) {
        if (!decode_at(l, at, end))
            return false;
        last = is_padding(l->in.kind) ? last : l->in.kind;
    }
    return !may_end(last);
}

/* The end of the flow from START on: behind the first jump or return that no branch passes over.
 * START if the stack pointer changes before that, or if the flow does not end below LIMIT. */
static vaddr_t flow_end(struct line *l, vaddr_t start, vaddr_t limit) {
    vaddr_t farthest = start;
    for (vaddr_t at = start; at < limit && decode_at(l, at, limit);) {
        const uint8_t kind = l->in.kind;
        bool branch = kind == INSN_JUMP || kind == INSN_BRANCH || kind == INSN_LOOP;
        if (!may_end(kind) && !stack_is_kept(l->arch, text_bytes(l->text, at), l->in.size))
            return start;
        if (branch && l->in.target > farthest && l->in.target < limit)
            farthest = l->in.target;
        at += l->in.size;
        bool call = kind == INSN_CALL || kind == INSN_CALL_INDIRECT;
        if (may_end(kind) && !call && at > farthest)
            return at;
    }
    return start;
}

vaddr_t range_code_end(const struct states *states, const struct unwind_range *range,
                       vaddr_t limit) {
    const vaddr_t end = range->end;
    struct line l = {.states = states, .text = text_at(states->texts, range->start)};
    if (end >= limit || !l.text || !text_holds(l.text, limit - 1) ||
        state_is_data(states, l.text, end))
        return end;
    bool code = decode_at(&l, end, limit) && !is_padding(l.in.kind) && l.in.kind != INSN_TRAP;
    return code && reaches_end(&l, range->start, end) ? flow_end(&l, end, limit) : end;
}
