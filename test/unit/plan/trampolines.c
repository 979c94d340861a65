/* Compares trampolines, instruction by instruction, with the code that they were made from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "programs.h"

struct walk {
    size_t mark;
    vaddr_t orig;        /* the next original instruction */
    vaddr_t end;         /* of the window */
    bool done, recorded; /* after its end; after a stub */
};

static const struct mark *mark_of(const struct walk *w) {
    assert_true(w->mark < fixture.code.mark_count);
    return &fixture.code.marks[w->mark];
}

static struct oracle_insn trampoline_insn(uint32_t offset) {
    struct oracle_insn in;
    size_t room = fixture.code.area_used - offset;
    if (!oracle_decode(fixture.code.area + offset, room, trampoline_addr(offset), &in))
        fail_at("a trampoline holds no instruction", trampoline_addr(offset));
    return in;
}

struct oracle_insn original_insn(vaddr_t addr) {
    struct oracle_insn in;
    size_t room = 15;
    const uint8_t *bytes;
    while (!(bytes = module_bytes(fixture.module, addr, room)) && room)
        room--;
    if (!oracle_decode(bytes, room, addr, &in))
        fail_at("a trampoline goes on where no instruction is", addr);
    return in;
}

/* Checks a taken branch: a jump to its target, or a return if the target is one. */
static bool arrives(const struct walk *w, vaddr_t target, const struct oracle_insn *last) {
    bool leads = last->jump && last->direct && last->target == target;
    bool returns = last->ret && !strcmp(last->text, original_insn(target).text);
    return (leads || returns) && mark_of(w)->orig == target;
}

/* A branch to a return becomes the stub and a return. */
static void check_return(struct walk *w, const struct oracle_insn *orig) {
    struct oracle_insn here = trampoline_insn(mark_of(w)->offset);
    if (!here.ret || !arrives(w, orig->target, &here) || mark_of(w)[-1].kind != MARK_STUB)
        fail_at("a branch to a return does something else", w->orig);
    w->orig += orig->size;
    w->done = true;
}

/* A conditional tail call, or a branch to a return: inverted branch, stub, and the target. */
static void check_conditional(struct walk *w, const struct oracle_insn *orig,
                              const struct oracle_insn *here) {
    uint32_t at = mark_of(w)->offset;
    w->mark++;
    assert_int_equal(mark_of(w)->kind, MARK_STUB);
    bool saves = mark_of(w)->variant & STUB_SAVE_FLAGS;
    assert_int_equal(mark_of(w)->offset, at + here->size);
    w->mark++;
    struct oracle_insn last = trampoline_insn(mark_of(w)->offset);
    bool rolls_back = mark_of(w)[-1].orig == w->orig; /* to where flags are needed again */
    if (!arrives(w, orig->target, &last) || (!saves && (!last.ret || rolls_back)))
        fail_at("a conditional tail call leads elsewhere", w->orig);
    if (here->target != trampoline_addr(mark_of(w)->offset + last.size))
        fail_at("an inverted branch skips too much or too little", w->orig);
}

/* loop becomes: loop, jmp over, jmp target */
static void check_loop(struct walk *w, const struct oracle_insn *orig,
                       const struct oracle_insn *here) {
    uint32_t at = mark_of(w)->offset + here->size;
    struct oracle_insn over = trampoline_insn(at), jump = trampoline_insn(at + over.size);
    const struct mark *k = mark_of(w);
    assert_true(w->mark + 2 < fixture.code.mark_count);
    bool resumes = k[1].orig == w->orig + orig->size && k[2].orig == orig->target;
    w->mark += 2;
    bool good = resumes && here->target == trampoline_addr(at + over.size) && over.jump &&
                jump.jump && over.target == trampoline_addr(at + over.size + jump.size) &&
                jump.target == orig->target;
    if (!good)
        fail_at("a loop was moved wrongly", w->orig);
}

static bool leads_like(const struct walk *w, const struct oracle_insn *orig,
                       const struct oracle_insn *jump) {
    if (orig->direct)
        return jump->jump && jump->target == orig->target && mark_of(w)->kind == MARK_INSN &&
               mark_of(w)->orig == orig->target;
    const char *from = strstr(orig->text, "qword ptr"), *to = strstr(jump->text, "qword ptr");
    const char *address = from ? strstr(from, "0x") : NULL;
    return jump->jump && address && to && !strcmp(from, to) && mark_of(w)->kind == MARK_THROUGH &&
           mark_of(w)->orig == strtoull(address, NULL, 16);
}

/* call becomes: push of the return address, jmp target */
static void check_call(struct walk *w, const struct oracle_insn *orig,
                       const struct oracle_insn *here) {
    uint32_t at = mark_of(w)->offset;
    struct oracle_insn jump = trampoline_insn(at + here->size);
    uint64_t word = (at + here->size + jump.size + 7ul) & ~7ul, address;
    char push[64];
    snprintf(push, sizeof push, "push qword ptr [%#lx]",
             (unsigned long)trampoline_addr((uint32_t)word));
    memcpy(&address, fixture.code.area + word, sizeof address);
    w->mark++;
    bool good = !strcmp(here->text, push) && leads_like(w, orig, &jump) &&
                mark_of(w)->offset == at + here->size &&
                address == w->orig + orig->size + fixture.bias;
    if (!good)
        fail_at("a call was moved wrongly", w->orig);
    w->orig += orig->size;
    w->done = true;
}

size_t mark_at(uint32_t offset) {
    size_t low = 0, high = fixture.code.mark_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (fixture.code.marks[mid].offset < offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* A jump back to the function's own entry skips the entry's stub. */
static bool passes_stub(const struct oracle_insn *orig, const struct oracle_insn *here) {
    enum { LANDING_BYTES = 4 };
    uint64_t offset = here->target - trampoline_addr(0);
    size_t word = strcspn(orig->text, " ");
    if (!here->direct || offset >= fixture.code.area_used ||
        strncmp(here->text, orig->text, word + 1) != 0)
        return false;
    const struct mark *k = &fixture.code.marks[mark_at((uint32_t)offset)];
    return k->offset == offset && k[-1].kind == MARK_STUB && k[-1].orig == k->orig &&
           (k->orig == orig->target || k->orig == orig->target + LANDING_BYTES);
}

static bool is_loop(const struct oracle_insn *in) {
    return !strncmp(in->text, "loop", 4) || strstr(in->text, "cxz");
}

/* Instructions unknown to Capstone must have been copied byte for byte. */
static bool skip_unknown(struct walk *w) {
    const struct mark *k = mark_of(w);
    const uint8_t *bytes = module_bytes(fixture.module, w->orig, 1);
    struct oracle_insn known;
    size_t room = fixture.code.area_used - k->offset;
    if (!bytes || (*bytes != EVEX && oracle_decode(fixture.code.area + k->offset, room, 0, &known)))
        return false;
    struct insn in;
    size_t size = w[0].mark + 1 < fixture.code.mark_count ? k[1].offset - k[0].offset : 0;
    bytes = module_bytes(fixture.module, w->orig, size);
    if (!bytes)
        fail_at("a trampoline goes on where no instruction is", w->orig);
    arch_for_machine(fixture.module->machine)->decode(bytes, size, w->orig, &in, NULL);
    size_t same = in.operand == OPERAND_PLAIN ? size : in.field;
    if (in.size != size || memcmp(bytes, fixture.code.area + k->offset, same) != 0)
        fail_at("a moved instruction means something else", w->orig);
    w->orig += size;
    return true;
}

static bool is_back_jump(const struct walk *w) {
    struct oracle_insn here;
    uint32_t offset = mark_of(w)->offset;
    size_t room = fixture.code.area_used - offset;
    return oracle_decode(fixture.code.area + offset, room, trampoline_addr(offset), &here) &&
           here.jump && here.direct && here.target == w->orig;
}

/* Checks one moved instruction, or the jump back. */
static void check_insn(struct walk *w) {
    const struct mark *k = mark_of(w);
    while (k->orig > w->orig &&
           original_insn(w->orig).padding) /* nops that were left for patching */
        w->orig += original_insn(w->orig).size;
    if (k->orig != w->orig) {
        struct oracle_insn moved = original_insn(w->orig);
        if (!moved.jump || !moved.direct || k->orig != moved.target)
            fail_at("a mark names the wrong instruction", w->orig);
        check_return(w, &moved);
        return;
    }
    w->done = is_back_jump(w);
    if (w->done || skip_unknown(w))
        return;
    struct oracle_insn here = trampoline_insn(k->offset), orig = original_insn(w->orig);
    bool same = !strcmp(here.text, orig.text);
    if (!same && passes_stub(&orig, &here))
        same = true;
    if (!same && is_loop(&orig))
        check_loop(w, &orig, &here);
    else if (orig.call) {
        check_call(w, &orig, &here);
        return;
    } else if (!same && orig.branch)
        check_conditional(w, &orig, &here);
    else if (!same)
        fail_at("a moved instruction means something else", w->orig);
    w->orig += w->orig < w->end ? orig.size : 0; /* a return right behind the window stays */
    w->done =
        orig.jump || orig.ret || !strncmp(orig.text, "ud", 2) || !strncmp(orig.text, "hlt", 3);
}

static void check_stub(const struct walk *w) {
    const struct mark *k = mark_of(w);
    if (k->kind != MARK_STUB)
        fail_at("a trampoline ends early", w->orig);
    if (k->orig != w->orig)
        fail_at("a stub's mark is wrong", w->orig);
}

/* A thread behind a stub is never put back to before it. */
static void check_start(struct walk *w, const struct patch *p) {
    const struct mark *k = mark_of(w);
    if (k->orig == p->at && k->at_start != !w->recorded)
        fail_at("a thread is put back to before a stub that has run", p->at);
    w->recorded |= k->kind == MARK_STUB;
}

void check_trampoline(const struct patch *p, uint32_t offset) {
    struct walk w = {.mark = mark_at(offset), .orig = p->at, .end = p->at + p->window};
    assert_int_equal(mark_of(&w)->offset, offset);
    assert_true(mark_of(&w)->at_start);
    for (; !w.done; w.mark++) {
        check_start(&w, p);
        if (mark_of(&w)->kind == MARK_INSN)
            check_insn(&w);
        else
            check_stub(&w);
    }
    if (w.orig != w.end)
        fail_at("a trampoline goes on elsewhere than behind its window", p->at);
}
