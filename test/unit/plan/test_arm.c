/*
 * Output of plan_emit() for A32 and T32 (arm.S), as Capstone reads it: from each site into the
 * area, through stubs and moved instructions, and back. Also code whose A32 and T32 states
 * contradict each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "arch/arm/arm.h"
#include "base/mem.h"
#include "fixture.h"
#include "oracle_arm.h"

#define TESTS                                                                                      \
    TEST(a32_one_instruction_sites)                                                                \
    TEST(a32_popping_and_conditional_returns)                                                      \
    TEST(returns_that_load_sp)                                                                     \
    TEST(go_frame_returns)                                                                         \
    TEST(sp_loads_of_unknown_depth_inferred)                                                       \
    TEST(t32_window_sizes)                                                                         \
    TEST(t32_two_byte_sites_hop)                                                                   \
    TEST(it_blocks_with_an_exit_split)                                                             \
    TEST(conditional_register_jumps_are_tail_calls)                                                \
    TEST(switches_and_calls_through_memory)                                                        \
    TEST(a32_literals)                                                                             \
    TEST(t32_literals)                                                                             \
    TEST(lane_table_address_in_stubs)                                                              \
    TEST(code_reached_in_both_states_refused)                                                      \
    TEST(code_reached_in_one_state_traced)                                                         \
    TEST(calls_through_veneers)                                                                    \
    TEST(linker_padding_leads_nowhere)                                                             \
    TEST(tables_behind_calls)                                                                      \
    TEST(code_behind_a_diverted_call_unwritten)

enum { LINES = 24, LINE_BYTES = 200, WORD = 4, HALF = 2 };

static struct fixture *arm;

/* The instructions that run from a site on, at OFFSET of the area; a hop itself is not in the area.
 */
struct drawing {
    size_t count;
    uint32_t reach; /* the farthest target of a branch so far */
    struct line {
        uint32_t offset, to; /* to: the target of a branch to a later line; else 0 */
        char text[LINE_BYTES];
    } line[LINES];
};

static struct line *draw(struct drawing *d, uint32_t offset, const char *text) {
    assert_true(d->count < LINES);
    struct line *line = &d->line[d->count++];
    *line = (struct line){.offset = offset};
    (void)snprintf(line->text, LINE_BYTES, "%s", text);
    return line;
}

/* The function and offset of ADDR: "name+4". */
static void name_place(vaddr_t addr, char *out, size_t room) {
    const struct symbol *s, *best = NULL;
    for (size_t i = 0; i < arm->named->symbol_count; i++) {
        s = &arm->named->symbols[i];
        if (s->addr <= addr && (!best || s->addr > best->addr))
            best = s;
    }
    assert_non_null(best);
    (void)snprintf(out, room, "%s+%u", best->name, (unsigned)(addr - best->addr));
}

/* Draws a branch as its mnemonic and its target. */
static void draw_insn(struct drawing *d, uint32_t offset, const struct oracle_insn *in) {
    struct line *line = draw(d, offset, in->text);
    if (!in->direct)
        return;
    const size_t bare = strcspn(line->text, "#");
    if (in->target < arm->bare->high) {
        name_place(in->target, line->text + bare, LINE_BYTES - bare);
        return;
    }
    line->text[bare] = '\0';
    line->to = (uint32_t)(in->target - arm->area);
    assert_true(line->to > offset && line->to < arm->code.area_used);
    if (line->to > d->reach)
        d->reach = line->to;
}

static void draw_stub(struct drawing *d, const struct mark *m) {
    static const char *const events[] = {"entry", "return", "tail", "control"};
    const struct arch *arch = m->other ? &arch_t32 : &arch_a32;
    char text[LINE_BYTES];
    uint32_t site = arch->stub_site(arm->code.area + m->offset, m->variant, arm->code.overflow);
    (void)snprintf(text, sizeof text, "%s %u", events[site & 3], m->pops * WORD);
    draw(d, m->offset, text);
}

static const struct mark *stub_at(uint32_t offset) {
    for (size_t i = 0; i < arm->code.mark_count; i++) {
        if (arm->code.marks[i].offset == offset && arm->code.marks[i].kind == MARK_STUB)
            return &arm->code.marks[i];
    }
    return NULL;
}

/* Draws the code up to where it leaves the area. */
static void draw_trampoline(struct drawing *d, bool t32, uint32_t offset) {
    const struct plan_code *c = &arm->code;
    for (bool on = true; on || offset <= d->reach;) {
        const struct mark *stub = stub_at(offset);
        struct oracle_insn in;
        if (stub) {
            assert_int_equal(stub->other, t32);
            draw_stub(d, stub);
            offset += (t32 ? &arch_t32 : &arch_a32)->stub_size(stub->variant, c->overflow);
            continue;
        }
        assert_true(oracle_arm_decode(t32, c->area + offset, c->area_used - offset,
                                      arm->area + offset, &in));
        draw_insn(d, offset, &in);
        offset += in.size;
        on = !in.jump;
    }
}

/* Draws the site at AT, over an intermediate jump if there is one. */
static void draw_site(struct drawing *d, bool t32, vaddr_t at) {
    for (int jumps = 0; jumps < 2; jumps++) {
        const struct patch *p = fixture_patch_at(arm, at);
        struct oracle_insn in;
        if (!p)
            fail_msg("nothing is patched at %#x", (unsigned)at);
        assert_true(oracle_arm_decode(t32, p->after, p->size, at, &in));
        assert_true(in.jump && in.direct && in.size == p->size);
        if (in.target - arm->area < arm->code.area_used) {
            draw_trampoline(d, t32, (uint32_t)(in.target - arm->area));
            return;
        }
        assert_true(t32 && in.size == HALF && !jumps);
        draw(d, UINT32_MAX, "hop");
        at = in.target;
    }
    fail_msg("a hop leads to another");
}

/* The number of lines that the branch in line I skips. */
static unsigned lines_over(const struct drawing *d, size_t i) {
    for (size_t to = i + 1; to < d->count; to++) {
        if (d->line[to].offset == d->line[i].to)
            return (unsigned)(to - i - 1);
    }
    fail_msg("%s: leads into the midst of something", d->line[i].text);
    return 0;
}

/* EXPECTED: lines, each with its end of line. */
static void assert_runs(const char *name, unsigned offset, const char *expected) {
    struct drawing d = {.count = 0};
    char all[LINES * LINE_BYTES];
    size_t used = 0;
    const vaddr_t at = fixture_place(arm, name) + offset;
    draw_site(&d, plan_arch_at(arm->plan, at) == &arch_t32, at);
    for (size_t i = 0; i < d.count; i++) {
        const struct line *line = &d.line[i];
        used += (size_t)snprintf(all + used, sizeof all - used, "%s", line->text);
        if (line->to)
            used += (size_t)snprintf(all + used, sizeof all - used, "over %u", lines_over(&d, i));
        used += (size_t)snprintf(all + used, sizeof all - used, "\n");
    }
    if (strcmp(all, expected))
        fail_msg("%s+%u runs\n%sand not\n%s", name, offset, all, expected);
}

static void a32_one_instruction_sites(void **state) {
    (void)state;
    assert_runs("a_leaf", 0, "entry 0\nadds r0, r0, r1\nb a_leaf+4\n");
    assert_runs("a_leaf", 4, "return 0\nbx lr\n");
    assert_runs("a_tail", 4, "tail 0\nb a_leaf+0\n");
    assert_runs("a_branch", 0, "entry 0\nbne a_branch+8\nb a_branch+4\n");
}

static void a32_popping_and_conditional_returns(void **state) {
    (void)state;
    assert_runs("a_pops", 8, "return 16\npop {r4, r5, r6, pc}\n");
    assert_runs("a_returns_if", 4, "bne over 2\nreturn 0\nbxeq lr\nb a_returns_if+8\n");
}

/* Checks how many words are behind and before the return address that the return at NAME + OFFSET
 * loads. */
static void assert_around(const char *name, unsigned offset, uint8_t behind, unsigned before) {
    bool found = false;
    for (size_t i = 0; i < arm->code.mark_count; i++) {
        const struct mark *m = &arm->code.marks[i];
        if (m->kind != MARK_STUB || m->orig != fixture_place(arm, name) + offset)
            continue;
        assert_int_equal(m->behind, behind);
        assert_int_equal(mark_words_before(m), before);
        found = true;
    }
    assert_true(found);
}

static void returns_that_load_sp(void **state) {
    (void)state;
    assert_runs("a_old_frame", 20,
                "bne over 2\nreturn 28\nldmdbeq fp, {r4, fp, sp, pc}\nb a_old_frame+24\n");
    assert_runs("a_old_frame", 28, "return 20\nldm sp, {r4, fp, sp, pc}\n");
    assert_around("a_old_frame", 20, 1, 5);
    assert_around("a_old_frame", 28, 1, 3);
    assert_runs("a_old_frame_with_arguments", 20, "return 32\nldmdb fp, {fp, sp, pc}\n");
    assert_around("a_old_frame_with_arguments", 20, 5, 2);
}

static void go_frame_returns(void **state) {
    (void)state;
    assert_runs("a_go_frame", 8, "return 44\nldr pc, [sp], #0x2c\n");
    assert_around("a_go_frame", 8, MARK_ALL_BEHIND, 0);
    assert_runs("a_go_frame_of_many_words", 8, "return 1020\nldr pc, [sp], #0x3fc\n");
    assert_around("a_go_frame_of_many_words", 8, MARK_ALL_BEHIND, 0);
}

static void sp_loads_of_unknown_depth_inferred(void **state) {
    (void)state;
    static const char *const names[] = {"a_frame_of_any_size", "a_frame_of_many_words",
                                        "a_go_frame_of_too_many_words"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct plan_function *f = fixture_bare(arm, names[i]);
        assert_non_null(f);
        assert_int_equal(f->entry, TIER_JUMP);
        assert_int_equal(f->exits[TIER_NONE], 1);
        assert_false(f->exact);
    }
    const struct plan_function *f = fixture_bare(arm, "a_frame_elsewhere");
    assert_non_null(f);
    assert_int_equal(f->refused, REFUSED_DEPTH);
}

static void t32_window_sizes(void **state) {
    (void)state;
    assert_runs("t_leaf", 0, "entry 0\nadds r0, r0, r1\nadd.w r0, r0, r2\nreturn 0\nbx lr\n");
    assert_runs("t_pops", 0,
                "entry 0\npush {r4, r5, r6, lr}\nmov r4, r0\nreturn 16\npop {r4, r5, r6, pc}\n");
    assert_runs("t_returns", 0,
                "entry 0\npush {r4, lr}\ncbnz r0, over 1\nb.w t_returns+6\nb.w t_returns+4\n");
    assert_runs("t_returns", 6, "return 8\npop {r4, pc}\n");
    assert_runs("t_tail", 0, "entry 0\nmovs r0, #4\ntail 0\nb.w t_leaf+0\n");
}

static void t32_two_byte_sites_hop(void **state) {
    (void)state;
    assert_runs("calls_from_t32", 0, "hop\nentry 0\npush {r4, lr}\nb.w calls_from_t32+2\n");
    assert_runs("calls_from_t32", 10, "hop\nreturn 8\npop {r4, pc}\n");
}

static void it_blocks_with_an_exit_split(void **state) {
    (void)state;
    assert_runs("t_pops_if", 6,
                "movle r0, #1\nbgt.w over 2\nreturn 8\npop {r4, pc}\nb.w t_pops_if+12\n");
    assert_runs("t_pops_if", 16, "return 8\npop.w {r4, pc}\n");
}

static void conditional_register_jumps_are_tail_calls(void **state) {
    (void)state;
    assert_runs("a_tail_through", 4, "beq over 2\ntail 0\nbxne r3\nb a_tail_through+8\n");
    assert_runs("t_tail_through", 0,
                "entry 0\ncmp r3, #0\nbeq.w over 2\ntail 0\nbx r3\nb.w t_tail_through+6\n");
}

static void switches_and_calls_through_memory(void **state) {
    (void)state;
    static const char *const names[] = {"a_switch_and_tail", "t_switch_and_tail"};
    for (int i = 0; i < 2; i++) {
        char exit[LINE_BYTES];
        (void)snprintf(exit, sizeof exit, "%s_exit", names[i]);
        const struct plan_function *f = fixture_bare(arm, names[i]);
        assert_non_null(f);
        assert_true(f->entry != TIER_NONE && f->exact);
        assert_int_equal(f->exits[TIER_JUMP] + f->exits[TIER_HOP], 3);
        bool found = false;
        for (size_t k = 0; k < arm->code.mark_count; k++) {
            const struct mark *m = &arm->code.marks[k];
            found |= m->kind == MARK_STUB && m->orig == fixture_place(arm, exit);
        }
        assert_true(found);
    }
}

static void a32_literals(void **state) {
    (void)state;
    struct drawing d = {.count = 0};
    unsigned n[3];
    draw_site(&d, false, fixture_place(arm, "a_literal"));
    assert_int_equal(d.count, 5);
    assert_int_equal(sscanf(d.line[1].text, "sub r0, pc, #%x", &n[0]), 1);
    assert_int_equal(sscanf(d.line[2].text, "sub r0, r0, #%x", &n[1]), 1);
    assert_int_equal(sscanf(d.line[3].text, "ldr r0, [r0, #%x]", &n[2]), 1);
    assert_int_equal(arm->area + d.line[1].offset + 2 * WORD - n[0] - n[1] + n[2],
                     fixture_place(arm, "a_word"));
}

static void t32_literals(void **state) {
    (void)state;
    struct drawing d = {.count = 0};
    unsigned low, high;
    draw_site(&d, true, fixture_place(arm, "t_literal"));
    assert_true(d.count > 4);
    assert_int_equal(sscanf(d.line[1].text, "movw r0, #%x", &low), 1);
    assert_int_equal(sscanf(d.line[2].text, "movt r0, #%x", &high), 1);
    assert_string_equal(d.line[3].text, "add r0, pc");
    assert_string_equal(d.line[4].text, "ldr.w r0, [r0]");
    assert_int_equal((uint32_t)(arm->area + d.line[3].offset + WORD + (high << 16 | low)),
                     fixture_place(arm, "t_word"));
}

/* The address that the stub of M computes in r5: `movw r5; movt r5`, plus the pc. */
static uint32_t table_of_lanes(const struct mark *m) {
    const struct plan_code *c = &arm->code;
    unsigned low = 0, high = 0;
    for (uint32_t at = m->offset;;) {
        struct oracle_insn in;
        assert_true(
            oracle_arm_decode(m->other, c->area + at, c->area_used - at, arm->area + at, &in));
        if (strcmp(in.text, "add r5, pc, r5") == 0)
            return (uint32_t)(arm->area + at + 2 * WORD + (high << 16 | low));
        if (strcmp(in.text, "addw r4, pc, #0") == 0)
            return (uint32_t)(((arm->area + at + WORD) & ~(taddr_t)3) + (high << 16 | low));
        (void)sscanf(in.text, "movw r5, #%x", &low);
        (void)sscanf(in.text, "movt r5, #%x", &high);
        at += in.size;
        assert_true(at < m->offset + STUB_MAX_BYTES);
    }
}

static void lane_table_address_in_stubs(void **state) {
    (void)state;
    size_t count[2] = {0};
    for (size_t i = 0; i < arm->code.mark_count; i++) {
        const struct mark *m = &arm->code.marks[i];
        if (m->kind == MARK_STUB) {
            assert_int_equal(table_of_lanes(m), arm->area);
            count[m->other]++;
        }
    }
    assert_true(count[0] > 10 && count[1] > 10);
}

static void code_reached_in_both_states_refused(void **state) {
    (void)state;
    const vaddr_t start = fixture_place(arm, "both"), end = fixture_place(arm, "both_end");
    assert_null(plan_arch_at(arm->plan, start));
    for (size_t i = 0; i < arm->code.patch_count; i++) {
        const struct patch *p = &arm->code.patches[i];
        assert_true(p->at >= end || p->at + p->size <= start);
    }
    const struct plan_function *f = fixture_bare(arm, "both");
    assert_true(!f || f->entry == TIER_NONE);
}

static void code_reached_in_one_state_traced(void **state) {
    (void)state;
    static const char *const names[] = {"only_a32", "only_t32"};
    for (int i = 0; i < 2; i++) {
        const struct plan_function *f = fixture_bare(arm, names[i]);
        assert_non_null(f);
        assert_int_equal(f->entry, TIER_JUMP);
        assert_true(f->exact);
        assert_ptr_equal(plan_arch_at(arm->plan, f->addr), i ? &arch_t32 : &arch_a32);
    }
}

/* The stub with EVENT at ADDR of CODE; NULL if none. */
static const struct mark *stub_of(const struct plan_code *code, vaddr_t addr,
                                  enum event_kind event) {
    for (size_t i = 0; i < code->mark_count; i++) {
        const struct mark *m = &code->marks[i];
        const struct arch *arch = m->other ? &arch_t32 : &arch_a32;
        if (m->kind == MARK_STUB && m->orig == addr &&
            (arch->stub_site(code->area + m->offset, m->variant, code->overflow) & 3) == event)
            return m;
    }
    return NULL;
}

/* Library calls that end by a tail call through a veneer. */
static void calls_through_veneers(void **state) {
    (void)state;
    static const char *const names[][2] = {{"a_crosses", "t_crossed"}, {"t_crosses", "a_crossed"}};
    for (int i = 0; i < 4; i++) {
        const struct plan *plan = i / 2 ? arm->plan : arm->named_plan;
        vaddr_t from = fixture_place(arm, names[i % 2][0]),
                to = fixture_place(arm, names[i % 2][1]);
        AUTO_FREE uint8_t *chosen = mem_alloc(plan_function_count(plan) / 8 + 1);
        for (size_t k = 0; k < plan_function_count(plan); k++)
            if (plan_function(plan, k)->addr == from)
                chosen[k / 8] = (uint8_t)(1u << k % 8);
        struct plan_request request = {.area = arm->area,
                                       .area_size = plan_area_size(plan),
                                       .ring_bytes = 1 << 16,
                                       .selected = chosen,
                                       .filtered = chosen,
                                       .caller = {0x50000000, 0x50001000}};
        struct plan_code code;
        assert_int_equal(plan_emit(plan, &request, &code, NULL), 0);
        assert_non_null(stub_of(&code, from, EVENT_ENTRY));
        assert_null(stub_of(&code, from + (i % 2 ? HALF : WORD), EVENT_TAIL));
        assert_null(stub_of(&code, to, EVENT_ENTRY));
        assert_non_null(stub_of(&code, to + (i % 2 ? 2 * WORD : 2 * HALF), EVENT_RETURN));
        assert_int_equal(code.sites, 2);
        plan_code_done(&code);
    }
}

static const struct plan_function *bare(const char *name) {
    const struct plan_function *f = fixture_bare(arm, name);
    assert_non_null(f);
    return f;
}

static void assert_unwritten(vaddr_t start, vaddr_t end) {
    for (vaddr_t at = start; at < end; at++) {
        assert_null(plan_arch_at(arm->plan, at));
        assert_null(fixture_patch_at(arm, at));
        assert_null(fixture_patch_over(arm, at));
    }
}

/* Switches of GCC in Thumb-1 code. */
static void tables_behind_calls(void **state) {
    (void)state;
    enum { BEFORE = 10 }; /* push; cmp; bcs; bl */
    static const char *const names[] = {"t_bytes", "t_halves", "t_words"};
    for (int i = 0; i < 3; i++) {
        char first[LINE_BYTES];
        (void)snprintf(first, sizeof first, "%s_first", names[i]);
        vaddr_t start = fixture_place(arm, names[i]), ways = fixture_place(arm, first);
        assert_unwritten(start + BEFORE, ways);
        assert_int_equal(bare(names[i])->entry, TIER_JUMP);
        assert_true(bare(names[i])->exact);
        assert_runs(names[i], (unsigned)(ways - start), "movs r0, #7\nreturn 8\npop {r4, pc}\n");
    }
}

static void code_behind_a_diverted_call_unwritten(void **state) {
    (void)state;
    enum { BEFORE = 10 };
    assert_unwritten(fixture_place(arm, "t_unknown") + BEFORE,
                     fixture_place(arm, "t_unknown_first"));
    assert_int_equal(bare("t_unknown")->entry, TIER_NONE);
    assert_int_equal(bare("t_unknown")->refused, REFUSED_DEPTH);
}

static void linker_padding_leads_nowhere(void **state) {
    (void)state;
    const struct plan_function *f = fixture_named(arm, "t_filled");
    assert_non_null(f);
    assert_true(f->entry != TIER_NONE && f->exact);
    assert_int_equal(bare("t_filled")->entry, f->entry);
}

static const char *const *files;

static int open_fixture(void **state) {
    (void)state;
    arm = fixture_open(files[0], files[1]);
    return 0;
}

static int close_fixture(void **state) {
    (void)state;
    fixture_close(arm);
    return 0;
}

int main(int argc, char **argv) {
    (void)argc;
    files = (const char *const *)argv + 1;
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
