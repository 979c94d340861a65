/*
 * Operands of USDT probes as assemblers write them, for each processor, and what they compile to.
 *
 *   forms           each form's size, sign, register, offset, index
 *   unknown_forms   misspelled registers, broken brackets: one unknown operand each
 *   symbols         memory at a symbol that the file has, and at none
 *   lists           blanks, and blanks in brackets
 *   specs           arg1/s, what a probe lacks, wrong terms
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "values/operands.h"

/* "-4 r0+1" and the like: what an operand is, for comparison. */
static char *describe(const struct operand *o) {
    if (o->symbol)
        return mem_printf("%u at %.*s%+jd", o->bytes, (int)o->symbol_bytes, o->symbol,
                          (intmax_t)o->number);
    static const char *const kinds[] = {"?", "constant", "register", "memory"};
    const char *bank = o->from == FROM_VECTOR ? "v" : "r";
    AUTO_FREE char *size =
        mem_printf("%s%u%s", o->is_signed ? "-" : "", o->bytes, o->is_float ? "f" : "");
    AUTO_FREE char *index =
        o->indexed ? mem_printf("+r%u<<%u", o->index, o->scale) : mem_strdup("");
    switch (o->kind) {
    case OPERAND_CONSTANT:
        return mem_printf("%s %s %jd", size, kinds[o->kind], (intmax_t)o->number);
    case OPERAND_REGISTER:
        return mem_printf("%s %s %s%u.%u>>%u", size, kinds[o->kind], bank, o->reg, o->part,
                          o->shift);
    case OPERAND_MEMORY:
        return mem_printf("%s %s r%u%s%+jd", size, kinds[o->kind], o->reg, index,
                          (intmax_t)o->number);
    default:
        return mem_printf("%s ?", size);
    }
}

struct form {
    enum abi abi;
    const char *text, *means;
};

static void check(const struct form *forms, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct operand o;
        const char *text = forms[i].text;
        assert_true(operand_next(forms[i].abi, &text, &o));
        AUTO_FREE char *means = describe(&o);
        assert_string_equal(means, forms[i].means);
        assert_string_equal(text, "");
        assert_false(operand_next(forms[i].abi, &text, &o));
    }
}
#define CHECK(forms) check(forms, sizeof(forms) / sizeof *(forms))

static void forms(void **state) {
    (void)state;
    static const struct form list[] = {{ABI_X86_64, "-4@$5", "-4 constant 5"},
                                       {ABI_X86_64, "8@$-7", "8 constant -7"},
                                       {ABI_X86_64, "8@$0xffffffffffffffff", "8 constant -1"},
                                       {ABI_X86_64, "8@%rax", "8 register r0.0>>0"},
                                       {ABI_X86_64, "%rdx", "8 register r1.0>>0"},
                                       {ABI_X86_64, "4@%edi", "4 register r5.0>>0"},
                                       {ABI_X86_64, "2@%bp", "2 register r6.0>>0"},
                                       {ABI_X86_64, "-1@%al", "-1 register r0.0>>0"},
                                       {ABI_X86_64, "1@%ah", "1 register r0.0>>8"},
                                       {ABI_X86_64, "1@%ch", "1 register r2.0>>8"},
                                       {ABI_X86_64, "1@%dl", "1 register r1.0>>0"},
                                       {ABI_X86_64, "1@%sil", "1 register r4.0>>0"},
                                       {ABI_X86_64, "1@%spl", "1 register r7.0>>0"},
                                       {ABI_X86_64, "4@%r8d", "4 register r8.0>>0"},
                                       {ABI_X86_64, "2@%r15w", "2 register r15.0>>0"},
                                       {ABI_X86_64, "-1@%r9b", "-1 register r9.0>>0"},
                                       {ABI_X86_64, "8f@%xmm0", "8f register v0.0>>0"},
                                       {ABI_X86_64, "4@-20(%rbp)", "4 memory r6-20"},
                                       {ABI_X86_64, "8@(%rsp)", "8 memory r7+0"},
                                       {ABI_X86_64, "8@(%rax,%rbx,4)", "8 memory r0+r3<<2+0"},
                                       {ABI_X86_64, "8@symbol(%rip)", "8 at symbol+0"},
                                       {ABI_X86_64, "4@table.2+16(%rip)", "4 at table.2+16"},
                                       {ABI_X86_64, "1@-8+_x$y(%rip)", "1 at _x$y-8"},
                                       {ABI_X86_64, "8@symbol+4", "8 at symbol+4"},
                                       {ABI_X86_64, "8@symbol-4", "8 at symbol-4"},
                                       {ABI_X86_64, "8@16(%rax,%r12)", "8 memory r0+r12<<0+16"},
                                       {ABI_AARCH64, "-4@x0", "-4 register r0.0>>0"},
                                       {ABI_AARCH64, "4@w19", "4 register r19.0>>0"},
                                       {ABI_AARCH64, "8@sp", "8 register r31.0>>0"},
                                       {ABI_AARCH64, "8f@d8", "8f register v8.0>>0"},
                                       {ABI_AARCH64, "-4@5", "-4 constant 5"},
                                       {ABI_AARCH64, "8@-1", "8 constant -1"},
                                       {ABI_AARCH64, "8@[sp, 16]", "8 memory r31+16"},
                                       {ABI_AARCH64, "8@[x0]", "8 memory r0+0"},
                                       {ABI_AARCH64, "8@[x0, #-8]", "8 memory r0-8"},
                                       {ABI_AARCH64, "8@[x0, x1, lsl 3]", "8 memory r0+r1<<3+0"},
                                       {ABI_AARCH64, "8@[x0,x1]", "8 memory r0+r1<<0+0"},
                                       {ABI_ARM_HARD, "4@r0", "4 register r0.0>>0"},
                                       {ABI_ARM_HARD, "-4@[fp, #-8]", "-4 memory r11-8"},
                                       {ABI_ARM_HARD, "4@[sp]", "4 memory r13+0"},
                                       {ABI_ARM_HARD, "4@#5", "4 constant 5"},
                                       {ABI_ARM_SOFT, "-4@lr", "-4 register r14.0>>0"},
                                       {ABI_ARM_HARD, "4f@s3", "4f register v1.4>>0"},
                                       {ABI_ARM_HARD, "8f@d9", "8f register v9.0>>0"},
                                       {ABI_ARM_HARD, "r7", "4 register r7.0>>0"}};
    CHECK(list);
}

static void unknown_forms(void **state) {
    (void)state;
    static const struct form list[] = {{ABI_X86_64, "8@symbol(%rax)", "8 ?"},
                                       {ABI_X86_64, "8@symbol(,%rax,8)", "8 ?"},
                                       {ABI_X86_64, "8@symbol+(%rip)", "8 ?"},
                                       {ABI_X86_64, "8@one+two(%rip)", "8 ?"},
                                       {ABI_X86_64, "8@4(%rip)", "8 ?"},
                                       {ABI_X86_64, "8@symbol(%rip", "8 ?"},
                                       {ABI_AARCH64, "8@[x0, #:lo12:symbol]", "8 ?"},
                                       {ABI_X86_64, "8@%zax", "8 ?"},
                                       {ABI_X86_64, "8@%", "8 ?"},
                                       {ABI_X86_64, "8@%fs:16(%rax)", "8 ?"},
                                       {ABI_X86_64, "8@(%rax", "8 ?"},
                                       {ABI_X86_64, "8@(%rax,%rbx,3)", "8 ?"},
                                       {ABI_X86_64, "8@(%al)", "8 ?"},
                                       {ABI_X86_64, "8@(%xmm1)", "8 ?"},
                                       {ABI_X86_64, "8@", "8 ?"},
                                       {ABI_X86_64, "3@%rax", "0 ?"},
                                       {ABI_X86_64, "x@%rax", "0 ?"},
                                       {ABI_X86_64, "8@$", "8 ?"},
                                       {ABI_X86_64, "8@$99999999999999999999999", "8 ?"},
                                       {ABI_AARCH64, "8@[x0, x1, lsl 4]", "8 ?"},
                                       {ABI_AARCH64, "8@[x0, w1, sxtw]", "8 ?"},
                                       {ABI_AARCH64, "8@x31", "8 ?"},
                                       {ABI_AARCH64, "8@[x0, w1]", "8 ?"},
                                       {ABI_ARM_HARD, "4@[r0, #4", "4 ?"},
                                       {ABI_ARM_HARD, "4@s32", "4 ?"}};
    CHECK(list);
}

static void lists(void **state) {
    (void)state;
    const char *text = "  8@[x0, x1, lsl 3] -4@w1  4@bad[x0, 3] 8@5 ";
    static const char *const means[] = {"8 memory r0+r1<<3+0", "-4 register r1.0>>0", "4 ?",
                                        "8 constant 5"};
    struct operand o;
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
        assert_true(operand_next(ABI_AARCH64, &text, &o));
        AUTO_FREE char *found = describe(&o);
        assert_string_equal(found, means[i]);
    }
    assert_false(operand_next(ABI_AARCH64, &text, &o));
}

static void specs(void **state) {
    (void)state;
    struct types *types = types_new();
    struct probe_request r = {.types = types,
                              .abi = ABI_X86_64,
                              .arguments = "8@%rdi -4@$5 8@(%rax,%rbx,8)",
                              .spec = "arg3/s,arg1/x,arg9",
                              .strings = 64};
    struct capture c;
    struct err err;
    assert_int_equal(operands_compile(&r, &c, &err), 0);
    assert_int_equal(c.count, 3); /* the pointer, its text, arg1 */
    assert_string_equal(c.values[0].name, "arg3");
    assert_true(c.values[0].from == FROM_INDEXED && c.values[0].steps == 1 && c.values[0].reg == 0);
    assert_int_equal(c.values[0].part, capture_index(3, 3));
    assert_true(c.values[1].string && c.values[1].steps == 2 && !c.values[1].name);
    assert_true(c.values[2].format == 'x' && c.values[2].reg == 5);
    capture_done(&c);
    r.spec = NULL;
    assert_int_equal(operands_compile(&r, &c, &err), 0);
    assert_int_equal(c.count, 3);
    assert_true(c.values[1].from == FROM_CONSTANT && c.values[1].constant == 5);
    capture_done(&c);
    assert_int_equal(operands_check_spec("arg1/s,arg2", &err), 0);
    assert_true(operands_check_spec("x->y", &err) < 0);
    assert_string_equal(err.tag, "spec");
    assert_true(operands_check_spec("arg1/f", &err) < 0);
    types_free(types);
}

static bool symbol_at(void *ctx, const char *name, uint64_t *ret) {
    *ret = *(uint64_t *)ctx;
    return strcmp(name, "table.2") == 0;
}

static void symbols(void **state) {
    (void)state;
    struct types *types = types_new();
    uint64_t table = 0x4000;
    struct probe_request r = {.types = types,
                              .abi = ABI_X86_64,
                              .arguments = "-4@table.2+16(%rip) 8@nothing(%rip) 8@table.2",
                              .spec = "arg1,arg2,arg3/s",
                              .strings = 64};
    struct capture c;
    struct err err;
    for (int known = 0; known < 2; known++) {
        r.symbol_at = known ? symbol_at : NULL;
        r.ctx = &table;
        assert_int_equal(operands_compile(&r, &c, &err), 0);
        assert_int_equal(c.count, known ? 4 : 3);
        const struct capture_value *v = c.values;
        assert_true(v[1].from == FROM_NOTHING && v[1].missing == VALUE_UNTYPED);
        assert_int_equal(v[0].from, known ? FROM_MODULE : FROM_NOTHING);
        if (known) {
            assert_true(v[0].constant == 0x4010 && v[0].steps == 1 && v[0].bytes == 4);
            assert_true(v[3].string && v[3].from == FROM_MODULE && v[3].steps == 2);
        }
        capture_done(&c);
    }
    types_free(types);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms), cmocka_unit_test(unknown_forms),
                                       cmocka_unit_test(lists), cmocka_unit_test(specs),
                                       cmocka_unit_test(symbols)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
