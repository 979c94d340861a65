/* Types and signatures from DWARF. The fixtures are fixtures/shapes.c and .cc in several forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <string.h>

#include "base/mem.h"
#include "types/debug_types.h"

static struct module *module;
static struct types *graph;
static struct debug_types *debug;

static void open_fixture(const char *name) {
    AUTO_FREE char *path = mem_printf("%s/%s", FIXTURES, name);
    assert_int_equal(module_load(path, MODULE_DEBUG_FILES, &module, NULL), 0);
    graph = types_new();
    assert_int_equal(debug_types_open(module, graph, &debug, NULL), 0);
}

static void close_fixture(void) {
    debug_types_close(debug);
    types_free(graph);
    module_free(module);
}

static void read_symbol(const char *name, struct signature *ret) {
    const struct symbol *symbol = module_symbol_named(module, name);
    assert_non_null(symbol);
    assert_true(debug_types_signature(debug, symbol->addr, ret));
}

static const struct parameter *parameter(const struct signature *s, const char *name) {
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->parameters[i].name, name) == 0)
            return &s->parameters[i];
    fail_msg("no parameter %s", name);
    return NULL;
}

static const struct place *place_in(const struct signature *s, const char *name) {
    return &parameter(s, name)->place;
}

static void expect_type(type_id id, const char *wanted) {
    AUTO_FREE char *text = types_spell(graph, id);
    assert_string_equal(text, wanted);
}

static void signatures_have_names_and_types(void **state) {
    (void)state;
    struct signature s;
    open_fixture("shapes-c");
    read_symbol("take_item", &s);
    assert_string_equal(s.name, "take_item");
    assert_int_equal(s.language, SOURCE_C);
    assert_true(s.prototyped && s.has_places && !s.varargs && !s.member);
    assert_int_equal(s.count, 2);
    expect_type(s.result, "int");
    expect_type(s.parameters[0].type, "struct item *");
    expect_type(s.parameters[1].type, "enum access");
    signature_done(&s);
    read_symbol("take_more", &s);
    assert_true(s.varargs);
    expect_type(s.parameters[0].type, "const char *");
    signature_done(&s);
    read_symbol("give_pair", &s);
    expect_type(s.result, "struct pair");
    signature_done(&s);
    assert_false(debug_types_signature(debug, 1, &s));
    close_fixture();
}

/* The slot in the frame is filled by the prologue only. */
static void before_the_prologue_the_abi_tells(void **state) {
    (void)state;
    struct signature s;
    open_fixture("shapes-c");
    read_symbol("take_item", &s);
    assert_int_equal(s.parameters[0].place.kind, PLACE_BY_ABI);
    assert_false(s.optimized);
    signature_done(&s);
    read_symbol("take_pair", &s);
    assert_int_equal(s.parameters[0].place.kind, PLACE_BY_ABI);
    signature_done(&s);
    if (module->machine == EM_X86_64) { /* the caller has put it where it stays */
        read_symbol("take_large", &s);
        assert_int_equal(s.parameters[0].place.kind, PLACE_FRAME);
        assert_int_equal(s.parameters[0].place.offset, 0);
        signature_done(&s);
    }
    close_fixture();
}

static void expect_register(const struct signature *s, const char *name, unsigned reg) {
    const struct place *place = place_in(s, name);
    assert_int_equal(place->kind, PLACE_REGISTER);
    assert_int_equal(place->reg, reg);
    assert_false(place->address);
}

/* uftrace takes the first entry of a list, whatever its range. */
static void lists_count_by_their_ranges(void **state) {
    (void)state;
    enum { RDI = 5 };
    struct signature s;
    open_fixture("lists");
    if (module->machine != EM_X86_64) {
        close_fixture();
        skip();
    }
    read_symbol("moved", &s);
    expect_type(s.parameters[0].type, "int");
    expect_register(&s, "number", RDI);
    signature_done(&s);
    close_fixture();
}

/* Of Clang's computations the register is where the parameter was passed; others tell nothing. */
static void members_computed_from_a_register_tell_it(void **state) {
    (void)state;
    enum { RDI = 5 };
    static const char *const others[] = {"behind", "two", "sum", "stack"};
    struct signature s;
    open_fixture("lists");
    if (module->machine != EM_X86_64) {
        close_fixture();
        skip();
    }
    read_symbol("computed", &s);
    expect_register(&s, "member", RDI);
    assert_true(place_in(&s, "member")->whole);
    expect_register(&s, "members", RDI);
    assert_true(place_in(&s, "members")->whole);
    expect_register(&s, "register", RDI);
    assert_false(place_in(&s, "register")->whole);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(place_in(&s, others[i])->kind, PLACE_MISSING);
    signature_done(&s);
    close_fixture();
}

static void optimised_code_has_places_at_the_first_instruction(void **state) {
    (void)state;
    enum { RDX = 1, RSI = 4, RDI = 5, XMM0 = 17 };
    struct signature s;
    open_fixture("shapes-c-optimised");
    if (module->machine != EM_X86_64) {
        close_fixture();
        skip();
    }
    read_symbol("take_item", &s);
    expect_register(&s, "item", RDI);
    expect_register(&s, "access", RSI);
    signature_done(&s);
    read_symbol("take_floats", &s);
    expect_register(&s, "d", XMM0);
    expect_register(&s, "f", XMM0 + 1);
    assert_int_equal(place_in(&s, "l")->kind, PLACE_FRAME);
    signature_done(&s);
    read_symbol("take_many", &s);
    assert_int_equal(place_in(&s, "g")->kind, PLACE_FRAME);
    assert_int_equal(place_in(&s, "h")->offset, 8);
    signature_done(&s);
    read_symbol("take_pair", &s);
    const struct place *pair = place_in(&s, "pair");
    assert_int_equal(pair->kind, PLACE_PIECES);
    assert_int_equal(pair->piece_count, 2);
    assert_int_equal(pair->pieces[0].reg, RDI);
    assert_int_equal(pair->pieces[1].reg, RSI);
    assert_int_equal(pair->pieces[1].bytes, 8);
    expect_register(&s, "behind", RDX);
    signature_done(&s);
    assert_non_null(module_symbol_named(module, "take_parted.cold"));
    read_symbol("take_parted", &s);
    expect_register(&s, "number", RDI);
    expect_register(&s, "label", RSI);
    signature_done(&s);
    assert_false(debug_types_signature(debug, module_symbol_named(module, "assembled")->addr, &s));
    close_fixture();
}

/* reduced() takes a constant that its clone knows, and members of *pair instead of pair. */
static void clones_are_not_trusted_to_follow_the_abi(void **state) {
    (void)state;
    struct signature s;
    bool found = false;
    open_fixture("shapes-c-optimised");
    for (size_t i = 0; i < module->symbol_count; i++) {
        const struct symbol *symbol = &module->symbols[i];
        if (strncmp(symbol->name, "reduced.", 8) != 0 || strstr(symbol->name, ".cold"))
            continue;
        found = true;
        assert_true(debug_types_signature(debug, symbol->addr, &s));
        assert_true(s.changed);
        assert_int_equal(s.count, 3);
        expect_type(parameter(&s, "pair")->type, "const struct pair *");
        for (size_t k = 0; k < s.count; k++)
            assert_int_not_equal(s.parameters[k].place.kind, PLACE_BY_ABI);
        signature_done(&s);
    }
    close_fixture();
    if (!found)
        skip();
}

static const struct type *named(const char *name) {
    type_id id = debug_types_find(debug, name);
    if (!id)
        fail_msg("no type %s", name);
    return types_get(graph, id);
}

static void members_of_c(void **state) {
    (void)state;
    struct type_member m;
    open_fixture("shapes-c");
    type_id item = debug_types_find(debug, "struct item");
    assert_true(types_member(graph, item, "high", &m));
    assert_int_equal(m.bit_size, 5);
    assert_int_equal(m.bit_offset % 8, 3);
    assert_true(types_member(graph, item, "x", &m));
    uint64_t x = m.bit_offset;
    assert_true(types_member(graph, item, "y", &m));
    assert_int_equal(m.bit_offset, x + 16);
    assert_true(types_member(graph, item, "rows", &m));
    expect_type(m.type, "int [3][4]");
    assert_int_equal(types_bytes(graph, m.type), 48);
    assert_true(types_member(graph, item, "next", &m));
    assert_int_equal(types_get(graph, m.type)->of, item);
    assert_true(types_member(graph, item, "call", &m));
    expect_type(types_plain(graph, m.type), "int (*)(const char *, int, ...)");
    assert_true(types_member(graph, item, "ready", &m));
    assert_true(types_get(graph, m.type)->flags & TYPE_BOOLEAN);
    assert_true(types_member(graph, item, "rest", &m));
    assert_true(types_get(graph, m.type)->flags & TYPE_OPEN);
    const struct type *color = named("enum color");
    assert_int_equal(color->count, 3);
    assert_int_equal(color->values[2].value, -1);
    assert_true(color->flags & TYPE_SIGNED);
    assert_false(named("enum access")->flags & TYPE_SIGNED);
    close_fixture();
}

static void declarations_lead_to_definitions_in_other_units(void **state) {
    (void)state;
    struct type_member m;
    open_fixture("shapes-c");
    assert_true(types_member(graph, debug_types_find(debug, "struct item"), "secret", &m));
    type_id hidden = types_get(graph, m.type)->of;
    assert_int_equal(types_get(graph, hidden)->kind, TYPE_FORWARD);
    type_id definition = types_definition(graph, hidden);
    assert_true(types_member(graph, definition, "depth", &m));
    assert_int_equal(debug_types_find(debug, "struct nowhere"), 0);
    close_fixture();
}

static bool is_found_by_its_name(void *ctx, type_id id) {
    size_t *count = ctx;
    const struct type *type = types_get(graph, id);
    type_id found = debug_types_find(debug, type->name);
    if (!found || strcmp(types_get(graph, found)->name, type->name) != 0)
        fail_msg("%s is not found", type->name);
    ++*count;
    return true;
}

static bool has_wanted_name(void *ctx, type_id id) {
    struct {
        const char *name;
        size_t count;
    } *wanted = ctx;
    assert_string_equal(types_get(graph, id)->name, wanted->name);
    wanted->count++;
    return true;
}

static bool is_listed_by_its_name(void *ctx, const char *name) {
    struct {
        const char *name;
        size_t count;
    } wanted = {name, 0};
    size_t *count = ctx;
    debug_types_all(debug, name, has_wanted_name, &wanted);
    if (!wanted.count)
        fail_msg("%s is not listed", name);
    ++*count;
    return true;
}

static void all_definitions_are_found(void **state) {
    (void)state;
    static const char *const forms[] = {"shapes-c",       "shapes-cxx",       "shapes-cxx-dwarf4",
                                        "shapes-cxx-dwz", "shapes-cxx-units", "shapes-cxx-split"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t types = 0, names = 0;
        open_fixture(forms[i]);
        debug_types_all(debug, NULL, is_found_by_its_name, &types);
        debug_types_names(debug, is_listed_by_its_name, &names);
        assert_true(types > 10);
        assert_int_equal(names, types);
        close_fixture();
    }
}

static void names_of_cxx_have_scopes(void **state) {
    (void)state;
    struct signature s;
    open_fixture("shapes-cxx");
    const char *take = NULL;
    for (size_t i = 0; i < module->symbol_count; i++)
        if (strncmp(module->symbols[i].name, "_ZN4shop4take", 13) == 0)
            take = module->symbols[i].name;
    assert_non_null(take);
    read_symbol(take, &s);
    assert_int_equal(s.language, SOURCE_CXX);
    expect_type(parameter(&s, "text")->type, "const std::string &");
    expect_type(parameter(&s, "numbers")->type, "std::vector<int>");
    expect_type(parameter(&s, "hidden")->type, "shop::(anonymous namespace)::Hidden *");
    expect_type(parameter(&s, "array")->type, "shop::Array<short int, 3>");
    expect_type(parameter(&s, "last")->type, "int &&");
    const struct type *member = types_get_plain(graph, parameter(&s, "member")->type);
    const struct type *method = types_get_plain(graph, parameter(&s, "method")->type);
    assert_true(member->flags & method->flags & TYPE_MEMBER_POINTER);
    assert_int_equal(method->bytes, 2 * member->bytes);
    signature_done(&s);
    close_fixture();
}

static void expect_by_reference(const char *name, bool wanted) {
    bool is = named(name)->flags & TYPE_BY_REFERENCE;
    if (is != wanted)
        fail_msg("%s is passed by %s", name, is ? "reference" : "value");
}

static void expect_references_in(const char *fixture) {
    open_fixture(fixture);
    expect_by_reference("shop::Trivial", false);
    expect_by_reference("shop::Copied", true);
    expect_by_reference("shop::Holder", true);
    expect_by_reference("shop::Ended", true);
    expect_by_reference("shop::Base", true);
    expect_by_reference("shop::Derived", true);
    expect_by_reference("shop::Derived::Inner", false);
    close_fixture();
}

/* DWARF 5 tells; of DWARF 4 the functions and members do. */
static void classes_that_are_passed_by_reference(void **state) {
    (void)state;
    expect_references_in("shapes-cxx");
    expect_references_in("shapes-cxx-dwarf4");
}

static void bases_are_members(void **state) {
    (void)state;
    struct type_member m;
    open_fixture("shapes-cxx");
    type_id derived = debug_types_find(debug, "shop::Derived");
    assert_true(types_member(graph, derived, "id", &m));
    const struct type *type = types_get(graph, derived);
    assert_string_equal(type->members[0].name, "shop::Base");
    assert_int_equal(type->members[0].flags & (MEMBER_BASE | MEMBER_VIRTUAL), MEMBER_BASE);
    assert_string_equal(type->members[1].name, "shop::Shared");
    assert_int_equal(type->members[1].flags & (MEMBER_BASE | MEMBER_VIRTUAL),
                     MEMBER_BASE | MEMBER_VIRTUAL);
    assert_false(types_member(graph, derived, "shared", &m));
    assert_false(types_member(graph, derived, "count", &m)); /* static */
    assert_true(types_member(graph, derived, "kind", &m));
    assert_true(types_get(graph, m.type)->flags & TYPE_ENUM_CLASS);
    close_fixture();
}

struct text {
    char *all;
};

static bool add_name(void *ctx, vaddr_t pc) {
    struct text *t = ctx;
    struct signature s;
    assert_true(debug_types_signature(debug, pc, &s));
    for (size_t i = 0; i < s.count; i++) {
        AUTO_FREE char *type = types_spell(graph, s.parameters[i].type);
        char *longer = mem_printf("%s\n%s %s %s %d", t->all, s.name, type, s.parameters[i].name,
                                  s.parameters[i].place.kind);
        free(t->all);
        t->all = longer;
    }
    signature_done(&s);
    return true;
}

static char *all_names(const char *fixture) {
    struct text text = {mem_strdup("")};
    open_fixture(fixture);
    debug_types_functions(debug, add_name, &text);
    close_fixture();
    return text.all;
}

/* Compressed, in a separate file, split into .dwo files, with type units, made smaller by dwz. */
static void forms_of_files_say_the_same(void **state) {
    (void)state;
    static const char *const forms[] = {"shapes-cxx-packed",   "shapes-cxx-old-packed",
                                        "shapes-cxx-separate", "shapes-cxx-split",
                                        "shapes-cxx-units",    "shapes-cxx-dwz"};
    AUTO_FREE char *plain = all_names("shapes-cxx");
    assert_true(strlen(plain) > 1000);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", FIXTURES, forms[i]);
        if (access(path, R_OK) < 0)
            continue; /* without the tool that makes it */
        AUTO_FREE char *text = all_names(forms[i]);
        if (strcmp(text, plain) != 0)
            fail_msg("%s differs", forms[i]);
    }
}

static void files_without_dwarf_are_refused(void **state) {
    (void)state;
    struct err err = {0};
    AUTO_FREE char *path = mem_printf("%s/shapes-c-stripped", FIXTURES);
    assert_int_equal(module_load(path, MODULE_DEBUG_FILES, &module, NULL), 0);
    graph = types_new();
    assert_true(debug_types_open(module, graph, &debug, &err) < 0);
    assert_string_equal(err.tag, "no-debug-info");
    types_free(graph);
    module_free(module);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_have_names_and_types),
        cmocka_unit_test(before_the_prologue_the_abi_tells),
        cmocka_unit_test(members_computed_from_a_register_tell_it),
        cmocka_unit_test(optimised_code_has_places_at_the_first_instruction),
        cmocka_unit_test(lists_count_by_their_ranges),
        cmocka_unit_test(clones_are_not_trusted_to_follow_the_abi),
        cmocka_unit_test(members_of_c),
        cmocka_unit_test(declarations_lead_to_definitions_in_other_units),
        cmocka_unit_test(all_definitions_are_found),
        cmocka_unit_test(names_of_cxx_have_scopes),
        cmocka_unit_test(classes_that_are_passed_by_reference),
        cmocka_unit_test(bases_are_members),
        cmocka_unit_test(forms_of_files_say_the_same),
        cmocka_unit_test(files_without_dwarf_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
