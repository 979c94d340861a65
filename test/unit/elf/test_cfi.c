/* Ranges and CFA rows: against rows stated by hand, and against libdw on real files. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdio.h>

#include "support.h"

#define TESTS                                                                                      \
    TEST(rows_from_instructions)                                                                   \
    TEST(unknown_cfi_instructions_make_rows_unknown)                                               \
    TEST(signal_frames)                                                                            \
    TEST(outermost_frames)                                                                         \
    TEST(lsda_of_a_range)                                                                          \
    TEST(lookups_at_the_ends)                                                                      \
    TEST(repeated_ranges)                                                                          \
    TEST(overlapping_ranges)                                                                       \
    TEST(compressed_debug_frame)                                                                   \
    TEST(libdw_agrees_on_this_program)                                                             \
    TEST(libdw_agrees_on_libc)                                                                     \
    TEST(libdw_agrees_on_the_dynamic_linker)                                                       \
    TEST(libdw_agrees_on_libdw)                                                                    \
    TEST(libdw_agrees_on_aarch64)                                                                  \
    TEST(libdw_agrees_on_debug_frame)

enum { FP = 6, SP = 7 }; /* DWARF's numbers of rbp and rsp (x86-64 psABI, figure 3.36) */

static const struct cfa_row *rows_of(const struct module *module, const char *name,
                                     uint32_t *ret_count) {
    const struct symbol *function = symbol(module, name);
    const struct unwind_range *range = module_range_at(module, function->addr);
    assert_non_null(range);
    assert_int_equal(range->start, function->addr);
    assert_int_equal(range->end, function->addr + function->size);
    *ret_count = range->row_count;
    return module->rows + range->first_row;
}

/* EXPECTED: rows whose pc counts from the function's start; register 0 ends the list. */
static void expect_rows(const struct module *module, const char *name,
                        const struct cfa_row *expected) {
    uint32_t count, i = 0;
    const struct cfa_row *rows = rows_of(module, name, &count);
    for (; expected[i].reg; i++) {
        if (i >= count)
            fail_msg("%s has only %u rows", name, count);
        assert_int_equal(rows[i].pc - rows[0].pc, expected[i].pc);
        assert_int_equal(rows[i].reg, expected[i].reg);
        assert_int_equal(rows[i].offset, expected[i].offset);
    }
    if (i != count)
        fail_msg("%s has %u rows", name, count);
}
#define EXPECT_ROWS(module, name, ...)                                                             \
    expect_rows(module, name, (const struct cfa_row[]){__VA_ARGS__, {0, 0, 0}})

static void rows_from_instructions(void **state) {
    (void)state;
    struct module *module = fixture_load("rows", 0);
    EXPECT_ROWS(module, "rows_push", {0, SP, 8}, {1, SP, 16}, {2, FP, 16}, {102, SP, 8});
    EXPECT_ROWS(module, "rows_remember", {0, SP, 8}, {1, SP, 48}, {2, SP, 8}, {3, SP, 48});
    EXPECT_ROWS(module, "rows_merged", {0, SP, 8});
    EXPECT_ROWS(module, "rows_expression", {0, SP, 8}, {1, CFA_EXPRESSION, 0}, {3, SP, 24},
                {5, SP, 40});
    EXPECT_ROWS(module, "rows_factored", {0, SP, 8}, {1, SP, 24}, {2, SP, 64}, {302, SP, 72},
                {70302, SP, 80});
    EXPECT_ROWS(module, "rows_bare", {0, CFA_EXPRESSION, 0}, {1, FP, 16});
    module_free(module);
}

static void unknown_cfi_instructions_make_rows_unknown(void **state) {
    (void)state;
    static const uint8_t marker[] = {DW_CFA_GNU_args_size, 0x77}, nobodys[] = {0x3f, 0};
    size_t size, replaced = 0;
    struct module *module;
    AUTO_FREE uint8_t *bytes = fixture_read("rows", &size);
    for (uint8_t *at; (at = memmem(bytes, size, marker, sizeof marker)); replaced++)
        memcpy(at, nobodys, sizeof nobodys);
    assert_int_equal(replaced, 2); /* one in .eh_frame, one in .debug_frame */
    assert_int_equal(load_bytes(bytes, size, &module, NULL), 0);
    EXPECT_ROWS(module, "rows_unknown", {0, SP, 8}, {1, SP, 16}, {2, CFA_EXPRESSION, 0});
    EXPECT_ROWS(module, "rows_unbalanced", {0, SP, 8}, {1, CFA_EXPRESSION, 0});
    module_free(module);
}

static void signal_frames(void **state) {
    (void)state;
    struct module *module = fixture_load("rows", 0);
    assert_true(module_range_at(module, symbol(module, "rows_signal")->addr)->signal_frame);
    assert_false(module_range_at(module, symbol(module, "rows_push")->addr)->signal_frame);
    module_free(module);
}

static void outermost_frames(void **state) {
    (void)state;
    struct module *module = fixture_load("rows", 0);
    assert_true(module_range_at(module, symbol(module, "rows_outermost")->addr)->outermost);
    assert_false(module_range_at(module, symbol(module, "rows_ends")->addr)->outermost);
    assert_false(module_range_at(module, symbol(module, "rows_push")->addr)->outermost);
    module_free(module);
}

static void lsda_of_a_range(void **state) {
    (void)state;
    struct module *module = fixture_load("rows", 0);
    const struct unwind_range *range =
        module_range_at(module, symbol(module, "rows_personal")->addr);
    assert_string_equal(module_section_at(module, range->lsda)->name, ".gcc_except_table");
    assert_int_equal(range->lsda, symbol(module, "made_up_lsda")->addr);
    assert_int_equal(module_range_at(module, symbol(module, "rows_push")->addr)->lsda, 0);
    module_free(module);
}

static void lookups_at_the_ends(void **state) {
    (void)state;
    struct module *module = fixture_load("rows", 0);
    const struct unwind_range *range = module_range_at(module, symbol(module, "rows_push")->addr);
    assert_ptr_equal(module_range_at(module, range->end - 1), range);
    assert_ptr_not_equal(module_range_at(module, range->end), range);
    assert_null(module_range_at(module, module->ranges[0].start - 1));
    assert_null(module_range_at(module, module->ranges[module->range_count - 1].end));
    assert_null(module_row_at(module, range, range->start - 1));
    assert_null(module_row_at(module, range, range->end));
    assert_int_equal(module_row_at(module, range, range->start + 50)->reg, FP);
    module_free(module);
}

/* rows.S describes each function twice, in .eh_frame and in .debug_frame. */
static void repeated_ranges(void **state) {
    (void)state;
    struct module *module = fixture_load("rows", 0);
    size_t functions = 0;
    for (size_t i = 0; i < module->symbol_count; i++)
        functions += module->symbols[i].type == SYMBOL_FUNCTION;
    assert_int_equal(module->range_count, functions);
    module_free(module);
}

static void overlapping_ranges(void **state) {
    (void)state;
    size_t size;
    struct module *module = fixture_load("rows", 0), *overlapping;
    AUTO_FREE uint8_t *bytes = fixture_read("rows", &size);
    vaddr_t addr = symbol(module, "rows_factored")->addr, moved = addr + 100;
    uint32_t index = image_find_section(&module->priv->file, ".debug_frame", SHT_PROGBITS);
    Elf64_Shdr sh = image_section(&module->priv->file, index);
    uint8_t *fde = memmem(bytes + sh.sh_offset, sh.sh_size, &addr, sizeof addr);
    assert_non_null(fde);
    memcpy(fde, &moved, sizeof moved);
    assert_int_equal(load_bytes(bytes, size, &overlapping, NULL), 0);
    assert_int_equal(overlapping->range_count, module->range_count);
    assert_int_equal(module_range_at(overlapping, moved)->start, addr);
    module_free(overlapping);
    module_free(module);
}

static void expect_debug_frame(const char *name, uint32_t compression) {
    struct module *module = fixture_load(name, 0);
    const struct image *file = &module->priv->file;
    Elf64_Shdr sh = image_section(file, image_find_section(file, ".debug_frame", SHT_PROGBITS));
    assert_true(sh.sh_flags & SHF_COMPRESSED);
    assert_int_equal(LOAD(Elf64_Chdr, file->bytes + sh.sh_offset).ch_type, compression);
    assert_int_equal(module->range_count, 40);
    for (size_t i = 0; i < module->symbol_count; i++) {
        uint32_t count;
        if (module->symbols[i].type == SYMBOL_FUNCTION)
            assert_int_equal(rows_of(module, module->symbols[i].name, &count)[0].offset, 8);
    }
    module_free(module);
}

static void compressed_debug_frame(void **state) {
    (void)state;
    expect_debug_frame("debugframe", ELFCOMPRESS_ZLIB);
    if (fixture_exists("debugframe-zstd"))
        expect_debug_frame("debugframe-zstd", 2);
}

/* libdw's rule for the CFA at PC. */
static struct cfa_row libdw_row(Dwarf_CFI *cfi, vaddr_t pc, bool *ret_signal) {
    struct cfa_row row = {pc, CFA_EXPRESSION, 0};
    Dwarf_Frame *frame;
    Dwarf_Op *ops;
    size_t count;
    if (dwarf_cfi_addrframe(cfi, pc, &frame) != 0)
        fail_msg("libdw has no frame at %#lx: %s", pc, dwarf_errmsg(-1));
    dwarf_frame_info(frame, NULL, NULL, ret_signal);
    if (dwarf_frame_cfa(frame, &ops, &count) == 0 && count == 1 && ops->atom == DW_OP_bregx) {
        row.reg = (int16_t)ops->number;
        row.offset = (int32_t)ops->number2;
    }
    free(frame);
    return row;
}

static void compare_at(const struct module *module, const struct unwind_range *range,
                       const struct cfa_row *row, vaddr_t pc, Dwarf_CFI *cfi) {
    bool signal_frame;
    struct cfa_row other = libdw_row(cfi, pc, &signal_frame);
    if (row->reg != other.reg || row->offset != other.offset)
        fail_msg("%s: CFA at %#lx is r%d%+d, libdw says r%d%+d", module->name, pc, row->reg,
                 row->offset, other.reg, other.offset);
    assert_int_equal(signal_frame, range->signal_frame);
}

/* Compares at the first and the last byte of each row of every EVERYth range. */
static void compare_with_libdw(const struct module *module, Dwarf_CFI *cfi, size_t every) {
    assert_non_null(cfi);
    for (size_t i = 0; i < module->range_count; i += every) {
        const struct unwind_range *range = module->ranges + i;
        const struct cfa_row *row = module->rows + range->first_row;
        for (uint32_t k = 0; k < range->row_count; k++, row++) {
            vaddr_t end = k + 1 < range->row_count ? row[1].pc : range->end;
            compare_at(module, range, row, row->pc, cfi);
            compare_at(module, range, row, end - 1, cfi);
        }
    }
}

static size_t count_fdes(Elf *elf) {
    size_t count = 0;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        Elf64_Shdr *sh = elf64_getshdr(scn);
        if (strcmp(elf_strptr(elf, elf64_getehdr(elf)->e_shstrndx, sh->sh_name), ".eh_frame") != 0)
            continue;
        Dwarf_CFI_Entry entry;
        Dwarf_Off next = 0;
        const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
        for (Dwarf_Off at = 0;; at = next) {
            if (dwarf_next_cfi(ident, elf_getdata(scn, NULL), true, at, &next, &entry) != 0)
                break;
            count += !dwarf_cfi_cie_p(&entry);
        }
    }
    return count;
}

static void compare_file(const char *path, size_t every) {
    struct module *module;
    struct err err;
    if (module_load(path, 0, &module, &err) < 0)
        fail_msg("%s", err.text);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_not_equal(elf_version(EV_CURRENT), EV_NONE);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    assert_int_equal(module->range_count, count_fdes(elf));
    Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
    compare_with_libdw(module, cfi, every);
    dwarf_cfi_end(cfi);
    elf_end(elf);
    module_free(module);
}

static void libdw_agrees_on_this_program(void **state) {
    (void)state;
    compare_file("/proc/self/exe", 1);
}

static void libdw_agrees_on_libc(void **state) {
    (void)state;
    compare_file(path_of((const void *)gnu_get_libc_version), 1);
}

static void libdw_agrees_on_the_dynamic_linker(void **state) {
    (void)state;
    compare_file("/lib64/ld-linux-x86-64.so.2", 1);
}

static void libdw_agrees_on_libdw(void **state) {
    (void)state;
    compare_file(path_of((const void *)dwarf_begin), 3);
}

static void libdw_agrees_on_aarch64(void **state) {
    (void)state;
    if (!fixture_exists("shapes-aarch64"))
        skip();
    AUTO_FREE char *path = fixture_path("shapes-aarch64");
    compare_file(path, 1);
}

static void libdw_agrees_on_debug_frame(void **state) {
    (void)state;
    struct module *module = fixture_load("debugframe", 0);
    AUTO_FD int fd = open(module->path, O_RDONLY | O_CLOEXEC);
    Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
    compare_with_libdw(module, dwarf_getcfi(dwarf), 1);
    dwarf_end(dwarf);
    module_free(module);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("elf unwind ranges", tests, NULL, NULL);
}
