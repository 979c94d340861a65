/*
 * What the code itself tells of the depth of the stack, against call-frame information: over whole
 * libraries and programs the two never differ at a return or jump.
 *
 *     test_plan_depth [FILE PERCENT]...      PERCENT: of these places at least so many agree
 *
 * Unknown are landing pads mostly, which only unwinders go to: C++ has many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/depth/depth.h"

#define TESTS TEST(code_agrees_with_cfi)

struct tally {
    size_t agree, unknown, wrong_cfi, differ;
};

static struct module *open_analysis(struct analysis *a, const char *path) {
    struct err err;
    struct module *m;
    if (module_load(path, 0, &m, &err))
        return NULL;
    *a = (struct analysis){.module = m, .arch = arch_for_machine(m->machine)};
    assert_int_equal(text_open(a, &err), 0);
    functions_find(a);
    text_decode(a);
    targets_note(a);
    targets_take(a);
    transfers_resolve(a);
    return m;
}

/* Parts of functions may look like functions where no symbol tells; nobody calls those. */
static bool is_function(const struct func *f) {
    uint8_t facts = *text_fact(f->text, f->start) | *text_fact(f->text, f->body);
    return f->range && f->entry_depth && !f->plt && !f->cold && !f->range->signal_frame &&
           facts & (FACT_CALLED | FACT_TAKEN);
}

/* Where the CFA hangs on another register, which points at the stack pointer or above. */
static bool agrees(const struct analysis *a, const struct cfa_row *row, int32_t depth) {
    if (!row || row->reg == CFA_EXPRESSION)
        return true;
    return row->reg == a->arch->sp_register ? row->offset == depth : depth >= row->offset;
}

/* A return with more than the return address on the stack: nobody unwinds from there, so nobody
 * found out (inline assembly; x25519_fe51_sqr of OpenSSL 3.0). */
static bool is_wrong(const struct analysis *a, const struct transfer *t,
                     const struct cfa_row *row) {
    return t->kind == INSN_RETURN && row->reg == a->arch->sp_register &&
           row->offset != a->arch->entry_cfa;
}

static void compare(const struct analysis *a, const struct transfer *t, struct tally *tally) {
    const struct func *f = &a->funcs[t->func];
    const struct cfa_row *row = module_row_at(a->module, f->range, t->from);
    int32_t depth = depth_at(a, f, t->from);
    if (depth == DEPTH_UNKNOWN) {
        tally->unknown++;
    } else if (agrees(a, row, depth)) {
        tally->agree++;
    } else if (is_wrong(a, t, row)) {
        tally->wrong_cfi++;
    } else {
        tally->differ++;
        print_error("%s: 0x%jx (%s): %d deep by its code, CFA = register %d + %d\n",
                    a->module->name, t->from, f->name ? f->name : "no name", depth, row->reg,
                    row->offset);
    }
}

static void check_file(const char *path, double least) {
    struct analysis a;
    struct tally tally = {0};
    struct module *m = open_analysis(&a, path);
    if (!m) {
        print_message("%s is not here\n", path);
        return;
    }
    for (uint32_t i = 0; i < a.func_count; i++) {
        if (is_function(&a.funcs[i]))
            depth_follow(&a, i);
    }
    for (size_t i = 0; i < a.transfers.count; i++) {
        const struct func *f = &a.funcs[a.transfers.at[i].func];
        if (f->range && f->row_count)
            compare(&a, &a.transfers.at[i], &tally);
    }
    size_t all = tally.agree + tally.unknown + tally.wrong_cfi + tally.differ;
    double share = 100.0 * (double)tally.agree / (double)all;
    print_message("%s: of %zu returns and jumps %.3f %% agree, %zu are unknown, at %zu the "
                  "call-frame information is wrong\n",
                  m->name, all, share, tally.unknown, tally.wrong_cfi);
    assert_int_equal(tally.differ, 0);
    assert_true(tally.wrong_cfi * 1000 <= all);
    assert_true(share >= least);
    analysis_done(&a);
    module_free(m);
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
