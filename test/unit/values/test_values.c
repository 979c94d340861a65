/*
 * Values from a request to their text: a function's signature and types, registers and memory as
 * they would be at its entry or return, and what is shown.
 *
 *   arguments_by_type      scalars, enums, texts, structs, references: what -a shows
 *   results_by_type        in registers, in memory
 *   expressions            members, pointers, indexes, casts, addresses, formats
 *   uftrace_forms          arg1/i32, arg2/s, fparg1/64, %rdi/x, retval/s
 *   wrong_specs            the place is marked, near names are shown
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

#include "base/mem.h"
#include "values/compile.h"
#include "values/print.h"
#include "values/run.h"
#include "values/spec.h"

/* ---- a thread ---- */

struct thread {
    uint64_t registers[16];
    uint8_t vectors[16][16], x87[2][16], memory[4096];
};
enum { MEMORY = 0x10000, STACK = MEMORY + 2048 };

static bool read_register(void *ctx, const struct capture_value *v, void *ret, size_t size) {
    struct thread *t = ctx;
    const void *from = v->from == FROM_REGISTER ? (void *)&t->registers[v->reg]
                       : v->from == FROM_X87    ? (void *)t->x87[v->part]
                                                : (void *)(t->vectors[v->reg] + v->part);
    memcpy(ret, from, size);
    return true;
}

static bool read_memory(void *ctx, uint64_t address, void *ret, size_t size) {
    struct thread *t = ctx;
    if (address < MEMORY || address + size > MEMORY + sizeof t->memory)
        return false;
    memcpy(ret, t->memory + (address - MEMORY), size);
    return true;
}

static void put(struct thread *t, uint64_t address, const void *from, size_t size) {
    memcpy(t->memory + (address - MEMORY), from, size);
}

static void put_word(struct thread *t, uint64_t address, uint64_t word) {
    put(t, address, &word, sizeof word);
}

enum { RAX = 0, RDX = 1, RCX = 2, RSI = 4, RDI = 5, R8 = 8 };

/* ---- types ---- */

struct fixture {
    struct types *types;
    type_id int_, uint64, double_, float_, char_, bool_, uchar, int128, color, flags, item,
        item_pointer, text, wide_text, item_reference, function_pointer, holder, bits, view,
        void_pointer;
    struct thread thread;
    struct parameter parameters[8];
    struct signature signature;
    char shown[4096];
};

#define add(f, kind_, name_, bytes_, flags_, of_)                                                  \
    types_add(                                                                                     \
        (f)->types,                                                                                \
        &(struct type){                                                                            \
            .kind = (kind_), .name = (name_), .bytes = (bytes_), .flags = (flags_), .of = (of_)})
#define add_struct(f, name_, bytes_, flags_, members_, count_)                                     \
    types_add((f)->types, &(struct type){.kind = TYPE_STRUCT,                                      \
                                         .name = (name_),                                          \
                                         .bytes = (bytes_),                                        \
                                         .flags = (flags_),                                        \
                                         .members = (members_),                                    \
                                         .count = (count_)})

static void add_enums(struct fixture *f) {
    static const struct type_value colors[] = {{"RED", 0}, {"GREEN", 1}, {"BLUE", -5}};
    static const struct type_value flags[] = {{"READ", 1}, {"WRITE", 2}, {"EXEC", 4}};
    struct type t = {.kind = TYPE_ENUM,
                     .name = "color",
                     .bytes = 4,
                     .of = f->int_,
                     .values = colors,
                     .count = 3,
                     .flags = TYPE_SIGNED};
    f->color = types_add(f->types, &t);
    t = (struct type){.kind = TYPE_ENUM, .name = "flags", .bytes = 4, .values = flags, .count = 3};
    f->flags = types_add(f->types, &t);
}

static void add_structs(struct fixture *f) {
    const struct type_member item[] = {{"id", f->int_, 0, 0, 0, 0},
                                       {"price", f->double_, 64, 0, 0, 0},
                                       {"name", f->text, 128, 0, 0, 0}};
    f->item = add_struct(f, "item", 24, 0, item, 3);
    f->item_pointer = add(f, TYPE_POINTER, "", 8, 0, f->item);
    f->item_reference = add(f, TYPE_POINTER, "", 8, TYPE_REFERENCE, f->item);
    struct type three = {.kind = TYPE_ARRAY, .name = "", .of = f->item, .elements = 3, .bytes = 72};
    const struct type_member holder[] = {{"first", f->item_pointer, 0, 0, 0, 0},
                                         {"all", types_add(f->types, &three), 64, 0, 0, 0}};
    f->holder = add_struct(f, "holder", 80, 0, holder, 2);
    const struct type_member bits[] = {
        {"low", f->int_, 0, 3, 0, 0}, {"high", f->int_, 3, 7, 0, 0}, {"on", f->bool_, 32, 0, 0, 0}};
    f->bits = add_struct(f, "bits", 8, 0, bits, 3);
    const struct type_member view[] = {{"_M_len", f->uint64, 0, 0, 0, 0},
                                       {"_M_str", f->text, 64, 0, 0, 0}};
    f->view =
        add_struct(f, "std::basic_string_view<char, std::char_traits<char> >", 16, 0, view, 2);
}

static int set_up(void **state) {
    struct fixture *f = mem_alloc(sizeof *f);
    f->types = types_new();
    f->int_ = add(f, TYPE_INTEGER, "int", 4, TYPE_SIGNED, 0);
    f->uint64 = add(f, TYPE_INTEGER, "unsigned long", 8, 0, 0);
    f->int128 = add(f, TYPE_INTEGER, "__int128", 16, TYPE_SIGNED, 0);
    f->double_ = add(f, TYPE_FLOAT, "double", 8, 0, 0);
    f->float_ = add(f, TYPE_FLOAT, "float", 4, 0, 0);
    f->char_ = add(f, TYPE_INTEGER, "char", 1, TYPE_SIGNED | TYPE_CHARACTER, 0);
    f->uchar = add(f, TYPE_INTEGER, "unsigned char", 1, TYPE_CHARACTER, 0);
    f->bool_ = add(f, TYPE_INTEGER, "_Bool", 1, TYPE_BOOLEAN, 0);
    type_id wide = add(f, TYPE_INTEGER, "wchar_t", 4, TYPE_SIGNED | TYPE_CHARACTER, 0);
    f->text = add(f, TYPE_POINTER, "", 8, 0, add(f, TYPE_QUALIFIER, "", 0, TYPE_CONST, f->char_));
    f->wide_text = add(f, TYPE_POINTER, "", 8, 0, wide);
    f->void_pointer = add(f, TYPE_POINTER, "", 8, 0, 0);
    f->function_pointer = add(f, TYPE_POINTER, "", 8, 0, add(f, TYPE_FUNCTION, "", 0, 0, 0));
    add_enums(f);
    add_structs(f);
    f->signature = (struct signature){.name = "f",
                                      .parameters = f->parameters,
                                      .producer = "",
                                      .language = SOURCE_CXX,
                                      .machine = EM_X86_64,
                                      .prototyped = true,
                                      .has_places = true};
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    types_free(f->types);
    free(f);
    return 0;
}

static void takes(struct fixture *f, const char *name, type_id type) {
    f->parameters[f->signature.count++] = (struct parameter){.name = name, .type = type};
}

/* ---- showing ---- */

static const char *function_at(void *ctx, uint64_t address) {
    (void)ctx;
    return address == 0x401000 ? "compare" : NULL;
}

static void show_item(struct fixture *f, const struct item *item, bool json, struct words *w) {
    struct printer p = {.types = f->types, .function_at = function_at};
    const char *missing = print_missing(item);
    if (json) {
        words_add(w, "{\"name\":");
        words_json_text(w, item->values[0].name);
        words_add(w, ",\"type\":");
        print_type(f->types, item, w);
        words_add(w, ",\"value\":");
        print_json(&p, item, w);
        if (missing)
            words_printf(w, ",\"missing\":\"%s\"", missing);
        words_add(w, print_is_cut(&p, item) ? ",\"cut\":true}" : "}");
    } else {
        words_printf(w, "%s=", item->values[0].name);
        print_text(&p, item, w);
    }
}

static const char *show(struct fixture *f, enum event_kind kind, const char *spec, bool json) {
    struct values_request r = {f->types, &f->signature, ABI_X86_64, kind, spec, false, 16};
    struct capture c;
    struct err err = {0};
    if (values_compile(&r, &c, &err) < 0) {
        snprintf(f->shown, sizeof f->shown, "%s", err.text);
        return f->shown;
    }
    struct captured captured[CAPTURE_MOST_VALUES * 2];
    struct capture_source source = {&f->thread, 8, STACK, read_register, read_memory};
    uint8_t *store;
    capture_run(&c, &source, captured, &store);
    struct words w = {0};
    struct item item;
    for (size_t at = 0; item_next(&c, captured, &at, &item);) {
        if (w.count)
            words_add(&w, ", ");
        show_item(f, &item, json, &w);
    }
    snprintf(f->shown, sizeof f->shown, "%s", words_text(&w));
    words_done(&w);
    free(store);
    capture_done(&c);
    return f->shown;
}

static const char *at_entry(struct fixture *f, const char *spec) {
    return show(f, EVENT_ENTRY, spec, false);
}
static const char *at_return(struct fixture *f, const char *spec) {
    return show(f, EVENT_RETURN, spec, false);
}
static const char *as_json(struct fixture *f, const char *spec) {
    return show(f, EVENT_ENTRY, spec, true);
}

static void put_item(struct fixture *f, uint64_t address, int id, double price, const char *name) {
    put(&f->thread, address, &id, sizeof id);
    put(&f->thread, address + 8, &price, sizeof price);
    put_word(&f->thread, address + 16, name ? address + 0x200 : 0);
    if (name)
        put(&f->thread, address + 0x200, name, strlen(name) + 1);
}

static void set_double(struct fixture *f, unsigned reg, double value) {
    memcpy(f->thread.vectors[reg], &value, sizeof value);
}

/* ---- tests ---- */

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

static void wrong_specs(void **state) {
    struct fixture *f = *state;
    takes(f, "o", f->item_pointer);
    takes(f, "count", f->int_);
    static const struct {
        const char *spec, *shown;
    } cases[] = {{"o->prize", "o->^prize: item has no member of this name; near: price"},
                 {"o.price", "o.^price: \".\" is behind a pointer: use \"->\""},
                 {"cuont", "^cuont: the function has no parameter of this name; near: count"},
                 {"count->x", "count->^x: \"->\" is not behind a pointer: use \".\""},
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
                 {"*o->name->x", "*o->name->^x: const char has no member of this name"},
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
    } doubles[] = {{-0.0, "-0"},        {1e100, "1e+100"},
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

/* Of rustc without optimisation: scalars and wide pointers as in C, up to an object of another
 * kind. */
static void plain_rust(void **state) {
    struct fixture *f = *state;
    const struct type_member wide[] = {{"data_ptr", f->text, 0, 0, 0, 0},
                                       {"length", f->uint64, 64, 0, 0, 0}};
    type_id text = add_struct(f, "&str", 16, 0, wide, 2);
    f->signature.language = SOURCE_RUST;
    takes(f, "a", f->int_);
    takes(f, "s", text);
    takes(f, "d", f->double_);
    takes(f, "o", f->bits);
    takes(f, "b", f->int_);
    f->signature.result = f->item;
    f->thread.registers[RDI] = MEMORY; /* of the result */
    f->thread.registers[RSI] = 5;
    f->thread.registers[RDX] = MEMORY + 64;
    f->thread.registers[RCX] = 2;
    put(&f->thread, MEMORY + 64, "xyz", 3);
    memcpy(f->thread.vectors[0], &(const double){2.5}, 8);
    assert_string_equal(at_entry(f, NULL), "a=5, s=\"xy\", d=2.5, o=?, b=?");
    f->thread.registers[RAX] = MEMORY;
    put(&f->thread, MEMORY, &(const int){77}, 4);
    assert_string_equal(at_return(f, NULL), "ret={id=77, price=0, name=0x0}");
    f->signature.name = "{closure#0}";
    assert_string_equal(at_entry(f, "a"), "a=?");
    f->signature.name = "f";
    f->signature.result = f->bits; /* versions of rustc differ */
    assert_string_equal(at_entry(f, "a"), "a=?");
    assert_string_equal(at_return(f, NULL), "ret=?");
    f->signature.result = f->int_;
    f->signature.optimized = true;
    assert_string_equal(at_entry(f, "a"), "a=?");
    assert_string_equal(at_return(f, NULL), "ret=?");
}

static void set_go(struct fixture *f) {
    f->signature.language = SOURCE_GO;
    f->signature.producer = "Go cmd/compile go1.19.8; regabi";
}

/* Results have registers of their own, from the first one on. */
static void go_results(void **state) {
    struct fixture *f = *state;
    struct type three = {
        .kind = TYPE_ARRAY, .name = "", .of = f->uint64, .elements = 3, .bytes = 24};
    set_go(f);
    takes(f, "n", f->uint64);
    takes(f, "~r0", f->int_);
    takes(f, "~r1", f->double_);
    takes(f, "~r2", types_add(f->types, &three));
    takes(f, "~r3", f->uint64);
    f->parameters[0].place = (struct place){.kind = PLACE_REGISTER, .reg = RAX};
    for (int i = 1; i < 5; i++)
        f->parameters[i].flags = PARAMETER_RESULT;
    for (int i = 1; i < 5; i++) /* at the entry, they are nowhere */
        f->parameters[i].place = (struct place){.kind = PLACE_MISSING};
    f->thread.registers[RAX] = 5;
    f->thread.registers[3 /* rbx */] = 6;
    set_double(f, 0, 2.5);
    assert_string_equal(at_entry(f, NULL), "n=5");
    assert_string_equal(at_return(f, NULL), "~r0=5, ~r1=2.5, ~r2=?, ~r3=6");
    assert_string_equal(at_return(f, "ret"), "ret=5");
    f->parameters[3].place = (struct place){.kind = PLACE_FRAME, .offset = 16};
    for (uint64_t i = 0; i < 3; i++)
        put_word(&f->thread, STACK + 24 + 8 * i, 10 + i);
    assert_string_equal(at_return(f, NULL), "~r0=5, ~r1=2.5, ~r2={10, 11, 12}, ~r3=6");
    f->signature.inlined = true; /* then a result named _ is left out */
    assert_string_equal(at_return(f, "ret"), "ret=5");
    f->parameters[1].name = "sum";
    assert_string_equal(at_return(f, "ret"), "ret=?");
    f->signature.inlined = false;
    f->signature.producer = "GNU Go 12.2.0";
    assert_string_equal(at_return(f, "ret"), "ret=?");
}

/* Their pieces leave out padding, or show it. */
static void go_objects_with_padding(void **state) {
    struct fixture *f = *state;
    const struct type_member members[] = {{"a", f->bool_, 0, 0, 0, 0},
                                          {"f", f->double_, 64, 0, 0, 0},
                                          {"b", f->bool_, 128, 0, 0, 0},
                                          {"n", f->int_, 160, 0, 0, 0}};
    const struct place_piece a = {PLACE_REGISTER, RAX, 0, 0, 1}, x = {PLACE_REGISTER, 17, 0, 0, 8},
                             b = {PLACE_REGISTER, 3, 0, 0, 1}, n = {PLACE_REGISTER, RCX, 0, 0, 4},
                             gap3 = {PLACE_MISSING, 0, 0, 0, 3}, gap7 = {PLACE_MISSING, 0, 0, 0, 7};
    set_go(f);
    takes(f, "m", add_struct(f, "main.Mixed", 24, 0, members, 4));
    f->thread.registers[RAX] = 1;
    f->thread.registers[3] = 0;
    f->thread.registers[RCX] = 9;
    set_double(f, 0, -0.5);
    f->parameters[0].place =
        (struct place){.kind = PLACE_PIECES, .piece_count = 4, .pieces = {a, x, b, n}};
    assert_string_equal(at_entry(f, NULL), "m={a=true, f=-0.5, b=false, n=9}");
    f->parameters[0].place = (struct place){
        .kind = PLACE_PIECES, .piece_count = 7, .pieces = {a, gap7, x, b, gap3, n, gap7}};
    assert_string_equal(at_entry(f, NULL), "m={a=true, f=-0.5, b=false, n=9}");
    f->parameters[0].place =
        (struct place){.kind = PLACE_PIECES, .piece_count = 4, .pieces = {a, x, n, b}};
    assert_string_equal(at_entry(f, NULL), "m=?");
    f->signature.language = SOURCE_C;
    f->parameters[0].place =
        (struct place){.kind = PLACE_PIECES, .piece_count = 1, .pieces = {gap7}};
    assert_string_equal(at_entry(f, NULL), "m=?");
}

/* Clones that take constants return as the original does; others may return nothing. */
static void results_of_clones(void **state) {
    struct fixture *f = *state;
    takes(f, "a", f->int_);
    f->signature.result = f->int_;
    f->signature.changed = true;
    f->parameters[0].place = (struct place){.kind = PLACE_MISSING};
    f->thread.registers[RAX] = 3;
    assert_string_equal(at_return(f, NULL), "ret=?");
    f->signature.keeps_result = true;
    assert_string_equal(at_return(f, NULL), "ret=3");
    assert_string_equal(at_entry(f, NULL), "a=?");
}

static void constants_in_pieces(void **state) {
    struct fixture *f = *state;
    takes(f, "n", f->int128);
    f->parameters[0].place =
        (struct place){.kind = PLACE_PIECES,
                       .piece_count = 2,
                       .pieces = {{PLACE_CONSTANT, 0, 0, 7, 8}, {PLACE_CONSTANT, 0, 0, 1, 8}}};
    assert_string_equal(at_entry(f, NULL), "n=18446744073709551623");
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
    const struct CMUnitTest tests[] = {T(arguments_by_type),   T(flags_and_bits),
                                       T(results_by_type),     T(expressions),
                                       T(uftrace_forms),       T(wrong_specs),
                                       T(hostile_texts),       T(extreme_numbers),
                                       T(unreadable),          T(contradicting_places),
                                       T(behind_an_address),   T(constant_addresses),
                                       T(plain_rust),          T(patterns),
                                       T(go_results),          T(results_of_clones),
                                       T(constants_in_pieces), T(go_objects_with_padding)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
