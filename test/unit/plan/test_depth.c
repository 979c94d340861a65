/*
 * Depths of the stack that the code itself shows, compared with call-frame information. Over whole
 * libraries and programs the two never differ at a return or jump.
 *
 *     test_plan_depth [FILE PERCENT]...      PERCENT: the least share of places where both agree
 *
 * Most unknown depths are at landing pads, which only unwinders reach: C++ has many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/depth/follow.h"

#define TESTS TEST(code_agrees_with_cfi)

struct tally {
    size_t agree, unknown, wrong_cfi, differ;
};

struct followed { /* a module, and the results of the stages before the walk */
    struct module *module;
    struct texts texts;
    struct states states;
    struct sleds sleds;
    struct functions functions;
    struct code code;
    struct depths depths;
    struct follower follower;
};

static bool open_followed(struct followed *f, const char *path) {
    struct err err;
    if (module_load(path, 0, &f->module, &err))
        return false;
    const struct arch *arch = arch_for_machine(f->module->machine);
    assert_int_equal(texts_open(f->module, arch, &f->texts, &err), 0);
    f->states = states_by_symbols(&f->texts);
    f->sleds = sleds_find(&f->states);
    f->functions = functions_find(&f->states, &f->sleds);
    f->code = code_read(&f->functions);
    f->follower = follower_new(&f->code, &f->depths);
    return true;
}

static void close_followed(struct followed *f) {
    follower_done(&f->follower);
    depths_done(&f->depths);
    code_done(&f->code);
    functions_done(&f->functions);
    sleds_done(&f->sleds);
    states_done(&f->states);
    texts_done(&f->texts);
    module_free(f->module);
}

static bool is_referred_to(const struct module *m, vaddr_t addr) {
    size_t i = SEARCH(k, m->ref_count, m->refs[k].target < addr);
    for (; i < m->ref_count && m->refs[i].target == addr; i++)
        if (m->refs[i].kind != CODE_REF_LANDING_PAD)
            return true;
    return false;
}

/* Without symbols parts of functions may look like functions that no code calls. */
static bool is_function(const struct code *code, uint32_t i) {
    const struct func *f = &code->funcs[i];
    const struct func_code *known = &code->by_func[i];
    return f->range && f->entry_depth && !f->plt && !f->cold && !f->range->signal_frame &&
           (known->called || known->body_called || is_referred_to(code->module, f->start) ||
            is_referred_to(code->module, f->body));
}

/* The CFA may depend on another register, which points at the stack pointer or above. */
static bool agrees(const struct code *code, const struct cfa_row *row, int32_t depth) {
    if (!row || row->reg == CFA_EXPRESSION)
        return true;
    return row->reg == code->arch->sp_register ? row->offset == depth : depth >= row->offset;
}

/* A return with more than the return address on the stack: inline assembly with wrong unwind
 * information, which is never used (x25519_fe51_sqr of OpenSSL 3.0). */
static bool is_wrong(const struct code *code, const struct transfer *t, const struct cfa_row *row) {
    return t->kind == INSN_RETURN && row->reg == code->arch->sp_register &&
           row->offset != code->arch->entry_cfa;
}

static void compare(const struct depths *d, const struct transfer *t, struct tally *tally) {
    const struct func *f = &d->code->funcs[t->func];
    const struct cfa_row *row = module_row_at(d->code->module, f->range, t->from);
    int32_t depth = func_code_depth(d, f, t->from);
    if (depth == DEPTH_UNKNOWN) {
        tally->unknown++;
    } else if (agrees(d->code, row, depth)) {
        tally->agree++;
    } else if (is_wrong(d->code, t, row)) {
        tally->wrong_cfi++;
    } else {
        tally->differ++;
        print_error("%s: 0x%jx (%s): %d deep by its code, CFA = register %d + %d\n",
                    d->code->module->name, t->from, f->name ? f->name : "no name", depth, row->reg,
                    row->offset);
    }
}

static void check_file(const char *path, double least) {
    struct followed f;
    struct tally tally = {0};
    if (!open_followed(&f, path)) {
        print_message("%s is not here\n", path);
        return;
    }
    for (uint32_t i = 0; i < f.code.func_count; i++) {
        if (is_function(&f.code, i))
            depth_follow(&f.follower, i);
    }
    for (size_t i = 0; i < f.code.transfers.count; i++) {
        const struct transfer *t = &f.code.transfers.at[i];
        if (f.code.funcs[t->func].range && f.depths.by_func[t->func].row_count)
            compare(&f.depths, t, &tally);
    }
    size_t all = tally.agree + tally.unknown + tally.wrong_cfi + tally.differ;
    double share = 100.0 * (double)tally.agree / (double)all;
    print_message("%s: of %zu returns and jumps %.3f %% agree, %zu are unknown, at %zu the "
                  "call-frame information is wrong\n",
                  f.module->name, all, share, tally.unknown, tally.wrong_cfi);
    assert_int_equal(tally.differ, 0);
    assert_true(tally.wrong_cfi * 1000 <= all);
    assert_true(share >= least);
    close_followed(&f);
}

static const char *const *arguments;

static void code_agrees_with_cfi(void **state) {
    (void)state;
    for (const char *const *p = arguments; p[0] && p[1]; p += 2)
        check_file(p[0], strtod(p[1], NULL));
}

int main(int argc, char **argv) {
    (void)argc;
    arguments = (const char *const *)argv + 1;
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
