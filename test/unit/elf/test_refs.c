/* References from data into code: relocations of all forms, plain words, landing pads. */
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>

#include "support.h"

#define TESTS                                                                                      \
    TEST(function_table_references)                                                                \
    TEST(ifunc_resolver_references)                                                                \
    TEST(relocations_versus_plain_words)                                                           \
    TEST(constants_among_code)                                                                     \
    TEST(landing_pads_of_the_compiler)                                                             \
    TEST(landing_pads_with_own_base)                                                               \
    TEST(patchable_entries_after_relocation)                                                       \
    TEST(patchable_entries_of_all_sections)                                                        \
    TEST(libelf_agrees_on_relocations)

static bool has_ref(const struct module *module, vaddr_t from, vaddr_t target) {
    for (size_t i = 0; i < module->ref_count; i++)
        if (module->refs[i].from == from && module->refs[i].target == target &&
            module->refs[i].kind != CODE_REF_LANDING_PAD)
            return true;
    return false;
}

static void expect_table(const struct module *module, const char *table,
                         const char *const *targets) {
    vaddr_t slot = symbol(module, table)->addr;
    for (; *targets; targets++, slot += 8)
        if (!has_ref(module, slot, symbol(module, *targets)->addr))
            fail_msg("%s: no reference from %s to %s", module->name, table, *targets);
}

/* RELA, REL, RELR, ABS64 of preemptible symbols, and no relocations at all give the same
 * references. */
static void function_table_references(void **state) {
    (void)state;
    for (const char *const *name = fixture_names; *name; name++) {
        if (!fixture_is_shapes(*name) && strcmp(*name, "shapes-aarch64") != 0)
            continue;
        if (!fixture_exists(*name))
            continue;
        struct module *module = fixture_load(*name, 0);
        expect_table(module, "table",
                     (const char *const[]){"local_function", "global_function", "weak_function",
                                           "framed_function", NULL});
        expect_table(module, "writable_table",
                     (const char *const[]){"framed_function", "local_function", NULL});
        module_free(module);
    }
}

static void ifunc_resolver_references(void **state) {
    (void)state;
    struct module *module = fixture_load("shapes-static-pie", 0);
    vaddr_t resolver = symbol(module, "choose")->addr;
    size_t found = 0;
    for (size_t i = 0; i < module->ref_count; i++)
        found += module->refs[i].target == resolver && module->refs[i].kind == CODE_REF_RELOCATION;
    assert_int_equal(found, 1); /* its IRELATIVE relocation */
    module_free(module);
    module = fixture_load("shapes-static", 0); /* references from sections, not PT_DYNAMIC */
    for (size_t i = found = 0; i < module->ref_count; i++)
        found += module->refs[i].target == symbol(module, "choose")->addr &&
                 module->refs[i].kind == CODE_REF_RELOCATION;
    assert_int_equal(found, 1);
    module_free(module);
}

static void relocations_versus_plain_words(void **state) {
    (void)state;
    struct module *pie = fixture_load("shapes-pie", 0), *fixed = fixture_load("shapes-fixed", 0);
    size_t words = 0;
    for (size_t i = 0; i < pie->ref_count; i++)
        assert_int_not_equal(pie->refs[i].kind, CODE_REF_DATA);
    for (size_t i = 0; i < fixed->ref_count; i++)
        words += fixed->refs[i].kind == CODE_REF_DATA;
    assert_true(words >= 6); /* the entries of the two tables */
    module_free(pie);
    module_free(fixed);
}

/* In the old layout .rodata is in the executable segment, and so is `table`. */
static void constants_among_code(void **state) {
    (void)state;
    struct module *module = fixture_load("shapes-old-layout", 0);
    assert_true(module_segment_at(module, symbol(module, "table")->addr)->executable);
    assert_false(module_section_at(module, symbol(module, "table")->addr)->executable);
    module_free(module);
}

static bool is_pad(const struct module *module, vaddr_t addr) {
    for (size_t i = 0; i < module->ref_count; i++)
        if (module->refs[i].kind == CODE_REF_LANDING_PAD && module->refs[i].target == addr)
            return true;
    return false;
}

/* With -fcf-protection exactly landing pads and functions start with endbr64. */
static size_t compare_pads_with_endbr(const struct module *module, vaddr_t addr) {
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    const struct unwind_range *range = module_range_at(module, addr);
    size_t pads = 0;
    for (vaddr_t at = range->start; at + 4 <= range->end; at++) {
        bool marked = memcmp(module_bytes(module, at, 4), endbr64, 4) == 0;
        if (at == range->start)
            continue;
        assert_int_equal(marked, is_pad(module, at));
        pads += marked;
    }
    return pads;
}

static void landing_pads_of_the_compiler(void **state) {
    (void)state;
    for (const char *const *name = fixture_names; *name; name++) {
        if (!fixture_is_shapes(*name))
            continue;
        struct module *module = fixture_load(*name, 0);
        size_t pads = compare_pads_with_endbr(module, symbol(module, "cleaning_function")->addr);
        const struct symbol *cold = module_symbol_named(module, "cleaning_function.cold");
        if (cold)
            pads += compare_pads_with_endbr(module, cold->addr);
        assert_true(pads >= 2);
        module_free(module);
    }
}

static void landing_pads_with_own_base(void **state) {
    (void)state;
    struct module *module = fixture_load("rows", 0);
    vaddr_t start = symbol(module, "rows_personal")->addr, pads[2];
    size_t count = 0;
    for (size_t i = 0; i < module->ref_count; i++) {
        if (module->refs[i].kind != CODE_REF_LANDING_PAD)
            continue;
        assert_in_range(count, 0, 1);
        assert_int_equal(module->refs[i].from, symbol(module, "made_up_lsda")->addr);
        pads[count++] = module->refs[i].target;
    }
    assert_int_equal(count, 2); /* a call site without a landing pad has no entry */
    assert_int_equal(pads[0], start + 2);
    assert_int_equal(pads[1], start + 3);
    module_free(module);
}

static void patchable_entries_after_relocation(void **state) {
    (void)state;
    for (const char *const *name = fixture_names; *name; name++) {
        if (!fixture_is_shapes(*name))
            continue;
        struct module *module = fixture_load(*name, 0);
        assert_int_equal(module->patchable_count, 1);
        assert_int_equal(module->patchables[0].addr,
                         symbol(module, "patchable_function")->addr - 2);
        module_free(module);
    }
}

static void patchable_entries_of_all_sections(void **state) {
    (void)state;
    static const char *const names[] = {"patched-pic", "patched-fixed"};
    for (size_t i = 0; i < 2; i++) {
        struct module *module = fixture_load(names[i], 0);
        vaddr_t first = symbol(module, "first")->addr, second = symbol(module, "second")->addr;
        assert_int_equal(module->patchable_count, 3);
        assert_int_equal(module->patchables[0].addr, first);
        assert_int_equal(module->patchables[1].addr, second);
        assert_int_equal(module->patchables[2].addr, second + 6); /* not tested here */
        module_free(module);
    }
}

/* Calls CHECK for each RELATIVE relocation into text that libelf finds in .rela.dyn; returns their
 * number. */
static size_t check_relative(const struct module *module, Elf *elf) {
    size_t count = 0;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr sh;
        gelf_getshdr(scn, &sh);
        GElf_Rela rela;
        for (int i = 0; sh.sh_type == SHT_RELA && gelf_getrela(elf_getdata(scn, NULL), i, &rela);
             i++) {
            uint64_t type = GELF_R_TYPE(rela.r_info);
            if ((type != R_X86_64_RELATIVE && type != R_X86_64_IRELATIVE) ||
                !module_is_text(module, (vaddr_t)rela.r_addend))
                continue;
            assert_true(has_ref(module, rela.r_offset, (vaddr_t)rela.r_addend));
            count++;
        }
    }
    return count;
}

/* The same for the functions that DT_INIT and DT_FINI name. */
static size_t check_calls(const struct module *module, Elf *elf) {
    size_t count = 0;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr sh;
        GElf_Dyn dyn;
        gelf_getshdr(scn, &sh);
        for (int i = 0; sh.sh_type == SHT_DYNAMIC && gelf_getdyn(elf_getdata(scn, NULL), i, &dyn);
             i++) {
            if (dyn.d_tag != DT_INIT && dyn.d_tag != DT_FINI)
                continue;
            vaddr_t from = sh.sh_addr + (vaddr_t)i * sizeof(Elf64_Dyn) + sizeof(Elf64_Sxword);
            assert_true(has_ref(module, from, dyn.d_un.d_ptr));
            count++;
        }
    }
    return count;
}

static void libelf_agrees_on_relocations(void **state) {
    (void)state;
    struct module *module;
    const char *path = path_of((const void *)gelf_getrela); /* libelf itself: all are RELA */
    assert_int_equal(module_load(path, 0, &module, NULL), 0);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_not_equal(elf_version(EV_CURRENT), EV_NONE);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    size_t count = check_relative(module, elf), found = 0;
    for (size_t i = 0; i < module->ref_count; i++)
        found += module->refs[i].kind == CODE_REF_RELOCATION;
    assert_true(count > 0);
    assert_int_equal(found, count + check_calls(module, elf));
    elf_end(elf);
    module_free(module);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("elf references", tests, NULL, NULL);
}
