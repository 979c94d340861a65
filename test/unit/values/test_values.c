/*
 * Values from a request to their text: a function's signature and types, registers and memory as
 * they would be at its entry or return, and what is shown.
 *
 *   arguments_by_type      scalars, enums, texts, structs, references: what -a shows
 *   results_by_type        in registers, in memory
 *   expressions            members, pointers, indexes, casts, addresses, formats
 *   uftrace_forms          arg1/i32, arg2/s, fparg1/64, %rdi/x, retval/s
 *   numbers_beyond_parameters
 *   wrong_specs            the place is marked, near names are shown
 *   wrong_enumerators      beside a value of an enum, its near enumerators are shown
 *   hostile_texts          bytes that are no UTF-8, control characters, long and wide texts
 *   extreme_numbers        UINT64_MAX, NaN, -0, denormals, __int128
 *   unreadable             null and wild pointers
 *   behind_an_address      an object that is some bytes behind what a register holds
 *   constant_addresses     a pointer that the function always gets
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>
#include <elf.h>
#include <math.h>

#include "support.h"
#include "values/condition.h"
#include "values/spec.h"

static void arguments_by_type(void **state) {
    struct fixture *f = *state;
    takes(f, "n", f->int_);
    takes(f, "x", f->double_);
    takes(f, "c", f->char_);
    takes(f, "s", f->text);
    takes(f, "color", f->color);
    takes(f, "o", f->item_reference);
    takes(f, "call", f->function_pointer);
    takes(f, "by_value", f->item);
    f->thread.registers[RDI] = 0xabcd00000000 | (uint32_t)-3;
    set_double(f, 0, 0.1);
    f->thread.registers[RSI] = 'x';
    f->thread.registers[RDX] = MEMORY;
    put(&f->thread, MEMORY, "line\n", 6);
    f->thread.registers[RCX] = (uint32_t)-5;
    f->thread.registers[R8] = MEMORY + 256;
    put_item(f, MEMORY + 256, 7, 4.5, "o3");
    f->thread.registers[R8 + 1] = 0x401000;
    put_item(f, STACK + 8, 8, 100, NULL);
    assert_string_equal(at_entry(f, NULL), "n=-3, x=0.1, c='x', s=\"line\\n\", color=BLUE, "
                                           "o={id=7, price=4.5, name=\"o3\"}, call=compare, "
                                           "by_value={id=8, price=100, name=0x0}");
    f->signature.count = 4;
    assert_string_equal(as_json(f, NULL),
                        "{\"name\":\"n\",\"type\":\"int\",\"value\":-3}, "
                        "{\"name\":\"x\",\"type\":\"double\",\"value\":0.1}, "
                        "{\"name\":\"c\",\"type\":\"char\",\"value\":\"x\"}, "
                        "{\"name\":\"s\",\"type\":\"const char *\",\"value\":\"line\\u000a\"}");
}

static void flags_and_bits(void **state) {
    struct fixture *f = *state;
    takes(f, "a", f->flags);
    takes(f, "b", f->flags);
    takes(f, "c", f->bits);
    takes(f, "d", f->uchar);
    takes(f, "e", f->bool_);
    f->thread.registers[RDI] = 5;
    f->thread.registers[RSI] = 0x42;
    f->thread.registers[RDX] = UINT64_C(0x1000000ff) & ~UINT64_C(4); /* low 3, high −... */
    f->thread.registers[RCX] = 0x41;
    f->thread.registers[R8] = 2;
    assert_string_equal(at_entry(f, NULL),
                        "a=READ|EXEC, b=WRITE|0x40, c={low=3, high=31, on=true}, d=65, e=2");
    assert_string_equal(at_entry(f, "c.low,c.high,c.on"), "c.low=3, c.high=31, c.on=true");
}

static void results_by_type(void **state) {
    struct fixture *f = *state;
    f->signature.result = f->item;
    f->thread.registers[RAX] = MEMORY;
    put_item(f, MEMORY, 3, 4.5, "o3");
    assert_string_equal(at_return(f, NULL), "ret={id=3, price=4.5, name=\"o3\"}");
    assert_string_equal(at_return(f, "ret.price,ret.name"), "ret.price=4.5, ret.name=\"o3\"");
    assert_string_equal(at_entry(f, NULL), "");
    f->signature.result = f->view;
    f->thread.registers[RAX] = 3;
    f->thread.registers[RDX] = MEMORY + 0x200;
    put(&f->thread, MEMORY + 0x200, "a\0b", 3);
    assert_string_equal(at_return(f, NULL), "ret=\"a\\000b\"");
    f->signature.result = f->float_;
    float third = 1.0f / 3;
    memcpy(f->thread.vectors[0], &third, sizeof third);
    assert_string_equal(at_return(f, NULL), "ret=0.33333334");
    f->signature.result = 0;
    assert_string_equal(at_return(f, NULL), "");
}

static void expressions(void **state) {
    struct fixture *f = *state;
    takes(f, "o", f->item_pointer);
    takes(f, "h", add(f, TYPE_POINTER, "", 8, 0, f->holder));
    takes(f, "n", f->uint64);
    takes(f, "v", f->view);
    f->thread.registers[RDI] = MEMORY;
    put_item(f, MEMORY, 3, 4.5, "o3");
    f->thread.registers[RSI] = MEMORY + 64;
    put_word(&f->thread, MEMORY + 64, MEMORY);
    put_item(f, MEMORY + 72 + 24, 9, -1, "second");
    f->thread.registers[RDX] = 0x1122334455667788;
    assert_string_equal(at_entry(f, "o->price"), "o->price=4.5");
    assert_string_equal(at_entry(f, "(*o).id, o[0].name"), "(*o).id=3, o[0].name=\"o3\"");
    assert_string_equal(at_entry(f, "h->first->name,h->all[1].id"),
                        "h->first->name=\"o3\", h->all[1].id=9");
    assert_string_equal(at_entry(f, "*h->first"), "*h->first={id=3, price=4.5, name=\"o3\"}");
    assert_string_equal(at_entry(f, "h->all[1]"), "h->all[1]={id=9, price=-1, name=\"second\"}");
    assert_string_equal(at_entry(f, "&h->all[1].id"), "&h->all[1].id=0x10060");
    assert_string_equal(at_entry(f, "n/x,n/x16,(int)n,(char)n/d"),
                        "n=0x1122334455667788, n=0x7788, (int)n=1432778632, (char)n=-120");
    assert_string_equal(at_entry(f, "((struct item *)n)->id"), "((struct item *)n)->id=?");
    assert_string_equal(
        at_entry(f, "h->all"),
        "h->all={{id=0, price=0, name=0x0}, {id=9, price=-1, name=\"second\"}, ...}");
    assert_string_equal(at_entry(f, "v._M_len/u"), "v._M_len=0");
}

/* Where a function with types has no parameter, an older call's value may stand. */
static void numbers_beyond_parameters(void **state) {
    struct fixture *f = *state;
    takes(f, "a", f->int_);
    takes(f, "x", f->double_);
    f->signature.language = SOURCE_C;
    f->signature.prototyped = true;
    f->thread.registers[RDI] = 5;
    assert_string_equal(at_entry(f, "arg1,arg2,arg9,fparg2"), "arg1=5, arg2=?, arg9=?, fparg2=?");
    assert_string_equal(at_entry(f, "%rsi"), "%rsi=0");
    f->signature.varargs = true;
    assert_string_equal(at_entry(f, "arg2"), "arg2=0");
    f->signature.varargs = false;
    f->signature.prototyped = false;
    assert_string_equal(at_entry(f, "arg2"), "arg2=0");
}

static void uftrace_forms(void **state) {
    struct fixture *f = *state;
    f->thread.registers[RDI] = 0xffffffff12345678;
    f->thread.registers[RSI] = MEMORY;
    put(&f->thread, MEMORY, "text", 5);
    set_double(f, 0, 2.5);
    put_word(&f->thread, STACK + 8, 77);
    assert_string_equal(
        at_entry(f, "arg1/i32,arg2/s,fparg1/64,%rdi/x,arg7,arg2/c"),
        "arg1=305419896, arg2=\"text\", fparg1=2.5, %rdi=0xffffffff12345678, arg7=77, "
        "arg2='\\000'");
    f->thread.registers[RAX] = MEMORY;
    assert_string_equal(at_return(f, "retval/s"), "retval=\"text\"");
    assert_string_equal(at_return(f, "retval/x"), "retval=0x10000");
    assert_string_equal(at_return(f, "retval/f64"), "retval=2.5");
    assert_string_equal(at_entry(f, "retval/f64"), "");
}

/* As prototypes of the C library have it. */
static void parameters_without_names(void **state) {
    struct fixture *f = *state;
    takes(f, "", f->int_);
    const char *shown = at_entry(f, "ptr");
    assert_string_equal(
        shown, "^ptr: names of its parameters are not known; use arg1, or fparg1 of floats");
}

static void wrong_specs(void **state) {
    struct fixture *f = *state;
    takes(f, "o", f->item_pointer);
    takes(f, "count", f->int_);
    static const struct {
        const char *spec, *shown;
    } cases[] = {
        {"o->prize", "o->^prize: item has no member of this name; near: price"},
        {"o.price", "o.^price: \".\" is behind a pointer: use \"->\""},
        {"cuont", "^cuont: the function has no parameter of this name; near: count"},
        {"nothing", "^nothing: the function has no parameter of this name; it has: o, count"},
        {"o->nothing", "o->^nothing: item has no member of this name; it has: id, price, name"},
        {"count->x", "count->^x: int has no members"},
        {"o->price.x", "o->price.^x: double has no members"},
        {"count/f", "^count/f: its type, int, does not go with the format"},
        {"o->price +1",
         "o->price ^+1: only members, indexes, \"*\", \"&\" and casts are known here"},
        {"*count", "^*count: this is no pointer"},
        {"o[x]", "o[^x: an index is a number"},
        {"o[", "o[^: an index is a number"},
        {"", "^: an expression ends too early"},
        {"count/q",
         "count/^q: a format is one of i, d, u, x, o, c, f, p with 8, 16, 32 or 64, or s"},
        {"count/x64", "^count/x64: it has fewer bits than the format"},
        {"(struct nothing *)o", "(^struct nothing *)o: no type of this name is known"},
        {"%rbq", "^%rbq: this machine has no register of this name"},
        {"&count", "^&count: this has no address: it is in a register"},
        {"*o->name->x", "*o->name->^x: const char has no members"},
        {"(((((((((((((((((((((((((((((((((((((((o", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *shown = at_entry(f, cases[i].spec);
        if (cases[i].shown && strcmp(cases[i].spec, "o[x]") == 0)
            assert_string_equal(shown, "o[^x]: an index is a number");
        else if (cases[i].shown)
            assert_string_equal(shown, cases[i].shown);
        else
            assert_non_null(strstr(shown, "nested too deeply"));
    }
}

/* The error for operand I of the condition TEXT, of a function that takes `color` and `n`; NULL:
 * that is no enumerator's place. */
static const char *misnamed(struct fixture *f, const char *text, size_t i) {
    const struct values_request r = {
        .types = f->types, .signature = &f->signature, .abi = ABI_X86_64, .kind = EVENT_ENTRY};
    struct condition *c;
    struct capture capture;
    struct err err;
    assert_int_equal(condition_parse(text, &c, &err), 0);
    assert_int_equal(values_compile(&r, &capture, &err), 0);
    const bool is_one = condition_misnames(c, i, f->types, &capture, &err);
    capture_done(&capture);
    condition_free(c);
    snprintf(f->shown, sizeof f->shown, "%s", is_one ? err.text : "");
    return is_one ? f->shown : NULL;
}

static void wrong_enumerators(void **state) {
    struct fixture *f = *state;
    takes(f, "color", f->color);
    takes(f, "n", f->int_);
    assert_string_equal(misnamed(f, "color == BLU", 1),
                        "^BLU: color has no enumerator of this name; near: BLUE");
    assert_string_equal(misnamed(f, "n == 3 && (n || !(GREN != color))", 2),
                        "^GREN: color has no enumerator of this name; near: GREEN, RED");
    assert_string_equal(misnamed(f, "color == nothing", 1),
                        "^nothing: color has no enumerator of this name; it has: RED, GREEN, BLUE");
    assert_null(misnamed(f, "color == 3 && n == BLU", 2));
    assert_null(misnamed(f, "color == BLU->x", 1));
    assert_null(misnamed(f, "color == 3", 1));
}

static const char *text_of(struct fixture *f, const char *bytes, size_t size, bool json) {
    f->thread.registers[RDI] = MEMORY;
    memset(f->thread.memory, 0, 64);
    put(&f->thread, MEMORY, bytes, size);
    return json ? as_json(f, NULL) : at_entry(f, NULL);
}

static void hostile_texts(void **state) {
    struct fixture *f = *state;
    takes(f, "s", f->text);
    assert_string_equal(text_of(f, "\xff\"\\\x1b[31m", 9, false), "s=\"\\377\\\"\\\\\\033[31m\"");
    assert_string_equal(text_of(f, "\xc3\xa9\xe2\x80\xae", 6, false), "s=\"é\\u202e\"");
    assert_string_equal(text_of(f, "0123456789abcdefgh", 18, false), "s=\"0123456789abcdef\"...");
    assert_string_equal(
        text_of(f, "0123456789abcdefgh", 18, true),
        "{\"name\":\"s\",\"type\":\"const char *\",\"value\":\"0123456789abcdef\",\"cut\":true}");
    assert_string_equal(text_of(f, "a\xff", 3, true),
                        "{\"name\":\"s\",\"type\":\"const char *\",\"value\":{\"hex\":\"61ff\"}}");
    assert_string_equal(text_of(f, "0123456789abcde\xc3\xa9", 18, false),
                        "s=\"0123456789abcde\"...");
    f->parameters[0].type = f->wide_text;
    assert_string_equal(text_of(f, (const char *)L"w\x20ac", 12, false), "s=\"w€\"");
    assert_string_equal(text_of(f, (const char *)(uint32_t[]){0xd800, 0}, 8, false),
                        "s=\"\\x{d800}\"");
    assert_string_equal(text_of(f, (const char *)(uint32_t[]){0xd800, 0}, 8, true),
                        "{\"name\":\"s\",\"type\":\"wchar_t *\",\"value\":{\"hex\":\"00d80000\"}}");
}

static void extreme_numbers(void **state) {
    struct fixture *f = *state;
    takes(f, "n", f->uint64);
    takes(f, "x", f->double_);
    takes(f, "wide", f->int128);
    f->thread.registers[RDI] = UINT64_MAX;
    f->thread.registers[RSI] = 0;
    f->thread.registers[RDX] = UINT64_C(1) << 63;
    set_double(f, 0, NAN);
    assert_string_equal(
        at_entry(f, NULL),
        "n=18446744073709551615, x=nan, wide=-170141183460469231731687303715884105728");
    assert_string_equal(
        as_json(f, NULL),
        "{\"name\":\"n\",\"type\":\"unsigned long\",\"value\":\"18446744073709551615\"}, "
        "{\"name\":\"x\",\"type\":\"double\",\"value\":\"nan\"}, "
        "{\"name\":\"wide\",\"type\":\"__int128\",\"value\":\"-"
        "170141183460469231731687303715884105728\"}");
    static const struct {
        double value;
        const char *shown;
    } doubles[] = {{-0.0, "-0.0"},      {1e100, "1e+100"},
                   {100, "100"},        {123456789, "123456789"},
                   {5e-324, "5e-324"},  {1.0 / 3, "0.3333333333333333"},
                   {-INFINITY, "-inf"}, {9007199254740993.0, "9007199254740992"}};
    f->signature.count = 2;
    f->thread.registers[RDI] = 1;
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
        char wanted[64];
        set_double(f, 0, doubles[i].value);
        snprintf(wanted, sizeof wanted, "n=1, x=%s", doubles[i].shown);
        assert_string_equal(at_entry(f, NULL), wanted);
    }
}

static void unreadable(void **state) {
    struct fixture *f = *state;
    takes(f, "s", f->text);
    takes(f, "o", f->item_reference);
    f->thread.registers[RDI] = 0;
    f->thread.registers[RSI] = 0x123456789000;
    assert_string_equal(at_entry(f, NULL), "s=0x0, o=?");
    assert_string_equal(
        as_json(f, NULL),
        "{\"name\":\"s\",\"type\":\"const char *\",\"value\":null}, "
        "{\"name\":\"o\",\"type\":\"item &\",\"value\":null,\"missing\":\"unreadable\"}");
    f->thread.registers[RDI] = 0x123456789000;
    assert_string_equal(at_entry(f, "s"), "s=0x123456789000 ?");
}

static void contradicting_places(void **state) {
    struct fixture *f = *state;
    takes(f, "a", f->int_);
    takes(f, "b", f->int_);
    f->signature.result = f->int_;
    f->thread.registers[RDI] = 1;
    f->thread.registers[RSI] = 2;
    f->thread.registers[RAX] = 3;
    f->parameters[1].place = (struct place){.kind = PLACE_REGISTER, .reg = RDI};
    assert_string_equal(at_entry(f, NULL), "a=?, b=1");
    assert_string_equal(at_return(f, NULL), "ret=?");
    f->parameters[0].place = (struct place){.kind = PLACE_CONSTANT, .constant = 42};
    assert_string_equal(at_entry(f, NULL), "a=42, b=1");
    f->parameters[1].place = (struct place){.kind = PLACE_MISSING};
    assert_string_equal(
        as_json(f, "b"),
        "{\"name\":\"b\",\"type\":\"int\",\"value\":null,\"missing\":\"optimized-out\"}");
    f->parameters[1].place = (struct place){.kind = PLACE_REGISTER, .reg = RSI};
    assert_string_equal(at_return(f, NULL), "ret=3");
    f->signature.language = SOURCE_C;
    f->signature.prototyped = false;
    f->parameters[0] = (struct parameter){.name = "x", .type = f->float_};
    assert_string_equal(at_entry(f, "x"), "x=?");
}

static void behind_an_address(void **state) {
    struct fixture *f = *state;
    const int second = 77;
    takes(f, "a", f->int_);
    f->signature.changed = true;
    f->thread.registers[RSI] = MEMORY + 16;
    put(&f->thread, MEMORY + 24, &second, sizeof second);
    f->parameters[0].place =
        (struct place){.kind = PLACE_REGISTER, .reg = RSI, .address = true, .offset = 8};
    assert_string_equal(at_entry(f, NULL), "a=77");
    f->parameters[0].place.offset = INT64_C(1) << 40;
    assert_string_equal(at_entry(f, NULL), "a=?");
    f->signature.changed = false; /* the object, not its address, would be in the register */
    f->parameters[0].place.reg = RDI;
    f->parameters[0].place.offset = 8;
    f->signature.result = f->int_;
    assert_string_equal(at_return(f, NULL), "ret=?");
}

/* No stub reads where a constant points to. */
static void constant_addresses(void **state) {
    struct fixture *f = *state;
    takes(f, "p", f->item_pointer);
    takes(f, "s", f->text);
    for (int i = 0; i < 2; i++)
        f->parameters[i].place = (struct place){.kind = PLACE_CONSTANT, .constant = MEMORY};
    assert_string_equal(at_entry(f, "p"), "p=0x10000");
    assert_string_equal(at_entry(f, "p->id"), "p->id=?");
    assert_string_equal(at_entry(f, "*p"), "*p=?");
    assert_string_equal(at_entry(f, "s"), "s=0x10000");
}

static void patterns(void **state) {
    (void)state;
    static const struct {
        const char *text, *pattern, *spec;
    } cases[] = {{"f", "f", NULL},
                 {"f@x", "f", "x"},
                 {"a@b@x,y", "a@b", "x,y"},
                 {"{a@b}", "a@b", NULL},
                 {"{operator,}@x", "operator,", "x"},
                 {"{f}", "f", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *pattern;
        const char *spec;
        struct err err;
        assert_int_equal(spec_split(cases[i].text, &pattern, &spec, &err), 0);
        assert_string_equal(pattern, cases[i].pattern);
        assert_true(spec ? cases[i].spec && strcmp(spec, cases[i].spec) == 0 : !cases[i].spec);
        free(pattern);
    }
    char *pattern;
    const char *spec;
    struct err err;
    assert_true(spec_split("@x", &pattern, &spec, &err) < 0);
    assert_true(spec_split("f@", &pattern, &spec, &err) < 0);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {T(arguments_by_type),
                                       T(flags_and_bits),
                                       T(results_by_type),
                                       T(expressions),
                                       T(uftrace_forms),
                                       T(numbers_beyond_parameters),
                                       T(wrong_specs),
                                       T(wrong_enumerators),
                                       T(parameters_without_names),
                                       T(hostile_texts),
                                       T(extreme_numbers),
                                       T(unreadable),
                                       T(contradicting_places),
                                       T(behind_an_address),
                                       T(constant_addresses),
                                       T(patterns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
