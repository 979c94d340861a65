/* 32-bit Arm: records of 32-bit files, the state of code, .ARM.exidx. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>

#include "elf/image.h"
#include "support.h"

#define TESTS                                                                                      \
    TEST(word_size)                                                                                \
    TEST(addresses_without_the_thumb_bit)                                                          \
    TEST(states_per_function)                                                                      \
    TEST(literals_as_data)                                                                         \
    TEST(function_table_references)                                                                \
    TEST(imports_by_slot)                                                                          \
    TEST(landing_pads_from_exidx)                                                                  \
    TEST(exidx_section_bounds)                                                                     \
    TEST(states_of_stripped_files)                                                                 \
    TEST(debug_frame_of_32_bit_files)                                                              \
    TEST(foreign_machines_refused)                                                                 \
    TEST(loaded_image_equals_the_file)

static const char *const names[] = {"arm-a32", "arm-t32", "arm-mixed", "arm-fixed", NULL};

static void skip_without_compiler(void) {
    if (!fixture_exists("arm-t32"))
        skip();
}

static Elf *open_elf(const char *name, int *ret_fd) {
    AUTO_FREE char *path = fixture_path(name);
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_not_equal(elf_version(EV_CURRENT), EV_NONE);
    Elf *elf = elf_begin(*ret_fd, ELF_C_READ, NULL);
    assert_non_null(elf);
    return elf;
}

static const struct code_mark *mark_at(const struct module *module, vaddr_t addr) {
    for (size_t i = 0; i < module->mark_count; i++)
        if (module->marks[i].addr == addr)
            return &module->marks[i];
    return NULL;
}

/* The state of ADDR according to the last mark before it. */
static uint8_t state_of(const struct module *module, vaddr_t addr) {
    uint8_t state = UINT8_MAX;
    for (size_t i = 0; i < module->mark_count && module->marks[i].addr <= addr; i++)
        state = module->marks[i].state;
    return state;
}

static const struct exception_range *exception_at(const struct module *module, vaddr_t addr) {
    for (size_t i = 0; i < module->exception_count; i++)
        if (addr >= module->exceptions[i].start && addr < module->exceptions[i].end)
            return &module->exceptions[i];
    return NULL;
}

static void word_size(void **state) {
    (void)state;
    skip_without_compiler();
    for (const char *const *name = names; *name; name++) {
        struct module *module = fixture_load(*name, 0);
        assert_int_equal(module->machine, EM_ARM);
        assert_int_equal(module->word_bytes, 4);
        assert_true(module->segment_count >= 2 && module->build_id_size == 20);
        assert_true(module->position_independent == (strcmp(*name, "arm-fixed") != 0));
        assert_int_equal(module->float_abi, FLOAT_ABI_HARD);
        module_free(module);
    }
}

/* Compares size and state of a function symbol with libelf's; returns 1 if NAME is one, else 0. */
static size_t check_symbol(const struct module *module, const char *name, const GElf_Sym *sym) {
    if (GELF_ST_TYPE(sym->st_info) != STT_FUNC || sym->st_shndx == SHN_UNDEF ||
        !module_symbol_named(module, name))
        return 0;
    vaddr_t addr = sym->st_value & ~(vaddr_t)1;
    for (size_t i = 0; i < module->symbol_count; i++) {
        if (strcmp(module->symbols[i].name, name) != 0 || module->symbols[i].addr != addr)
            continue;
        assert_int_equal(module->symbols[i].size, sym->st_size);
        assert_int_equal(state_of(module, addr), sym->st_value & 1 ? CODE_T32 : CODE_A32);
        return 1;
    }
    fail_msg("%s: no symbol %s", module->name, name);
    return 0;
}

static void check_mapping_symbol(const struct module *module, const char *name,
                                 const GElf_Sym *sym) {
    if (GELF_ST_TYPE(sym->st_info) != STT_NOTYPE || name[0] != '$' || !strchr("atd", name[1]) ||
        !module_segment_at(module, sym->st_value) ||
        !module_segment_at(module, sym->st_value)->executable)
        return;
    const struct code_mark *mark = mark_at(module, sym->st_value);
    assert_non_null(mark);
    assert_null(module_symbol_named(module, name));
}

static size_t check_symbols(const struct module *module, Elf *elf) {
    size_t count = 0;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr sh;
        GElf_Sym sym;
        assert_non_null(gelf_getshdr(scn, &sh));
        if (sh.sh_type != SHT_SYMTAB)
            continue;
        Elf_Data *data = elf_getdata(scn, NULL);
        for (int i = 1; gelf_getsym(data, i, &sym); i++) {
            const char *name = elf_strptr(elf, sh.sh_link, sym.st_name);
            count += check_symbol(module, name, &sym);
            check_mapping_symbol(module, name, &sym);
        }
    }
    return count;
}

static void addresses_without_the_thumb_bit(void **state) {
    (void)state;
    skip_without_compiler();
    for (const char *const *name = names; *name; name++) {
        int fd;
        Elf *elf = open_elf(*name, &fd);
        struct module *module = fixture_load(*name, 0);
        assert_true(module->marks_complete);
        assert_true(check_symbols(module, elf) > 5);
        assert_int_equal(module->entry & 1, 0);
        module_free(module);
        elf_end(elf);
        close(fd);
    }
}

static void states_per_function(void **state) {
    (void)state;
    skip_without_compiler();
    static const struct {
        const char *name;
        bool a32, t32;
    } cases[] = {{"arm-a32", true, false}, {"arm-t32", false, true}, {"arm-mixed", true, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char *const functions[] = {"local_function", "global_function",
                                                "weak_function", "framed_function",
                                                "cleaning_function"};
        struct module *module = fixture_load(cases[i].name, 0);
        bool a32 = false, t32 = false;
        for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
            uint8_t here = state_of(module, symbol(module, functions[k])->addr);
            a32 |= here == CODE_A32;
            t32 |= here == CODE_T32;
        }
        assert_int_equal(a32, cases[i].a32);
        assert_int_equal(t32, cases[i].t32);
        module_free(module);
    }
}

static void literals_as_data(void **state) {
    (void)state;
    skip_without_compiler();
    struct module *module = fixture_load("arm-t32", 0);
    const struct symbol *f = symbol(module, "local_function");
    bool found = false;
    for (vaddr_t at = f->addr; at < f->addr + f->size; at += 2)
        found |= state_of(module, at) == CODE_DATA;
    assert_true(found);
    module_free(module);
}

/* Relocated words contain their addends, with the T32 bit, also for relocations by symbols. */
static void function_table_references(void **state) {
    (void)state;
    skip_without_compiler();
    static const char *const targets[] = {"local_function", "global_function", "weak_function",
                                          "framed_function"};
    for (const char *const *name = names; *name; name++) {
        struct module *module = fixture_load(*name, 0);
        vaddr_t slot = symbol(module, "table")->addr;
        for (size_t i = 0; i < sizeof targets / sizeof *targets; i++, slot += 4) {
            bool found = false;
            for (size_t k = 0; k < module->ref_count && !found; k++)
                found = module->refs[k].from == slot &&
                        module->refs[k].target == symbol(module, targets[i])->addr;
            if (!found)
                fail_msg("%s: no reference to %s", *name, targets[i]);
        }
        module_free(module);
    }
}

static void imports_by_slot(void **state) {
    (void)state;
    skip_without_compiler();
    for (const char *const *name = names; *name; name++) {
        struct module *module = fixture_load(*name, 0);
        bool found = false;
        for (size_t i = 0; i < module->import_count; i++)
            found |= !strcmp(module->imports[i].name, "__cxa_finalize") ||
                     !strcmp(module->imports[i].name, "__libc_start_main");
        assert_true(found);
        size_t count;
        AUTO_FREE const char **undefined = module_undefined(module, &count);
        assert_true(count > 0);
        module_free(module);
    }
}

/* A cleanup runs when an exception passes the function. */
static void landing_pads_from_exidx(void **state) {
    (void)state;
    skip_without_compiler();
    for (const char *const *name = names; *name; name++) {
        struct module *module = fixture_load(*name, 0);
        const struct symbol *f = symbol(module, "cleaning_function");
        const struct exception_range *r = exception_at(module, f->addr);
        assert_non_null(r);
        assert_int_equal(r->start, f->addr);
        assert_false(r->ends_unwound);
        assert_string_equal(module_section_at(module, r->lsda)->name, ".ARM.extab");
        bool found = false;
        for (size_t i = 0; i < module->ref_count; i++) {
            const struct code_ref *ref = &module->refs[i];
            if (ref->kind != CODE_REF_LANDING_PAD || ref->from != r->lsda)
                continue;
            found |= ref->target > f->addr && ref->target < f->addr + f->size;
            assert_int_equal(state_of(module, ref->target), state_of(module, f->addr));
        }
        assert_true(found);
        module_free(module);
    }
}

static void exidx_section_bounds(void **state) {
    (void)state;
    skip_without_compiler();
    int fd;
    Elf *elf = open_elf("arm-t32", &fd);
    struct module *module = fixture_load("arm-t32", 0);
    size_t entries = 0;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr sh;
        assert_non_null(gelf_getshdr(scn, &sh));
        entries += sh.sh_type == SHT_ARM_EXIDX ? sh.sh_size / 8 : 0;
    }
    assert_true(entries > 2);
    assert_int_equal(module->exception_count, entries);
    module_free(module);
    elf_end(elf);
    close(fd);
}

static void states_of_stripped_files(void **state) {
    (void)state;
    skip_without_compiler();
    struct module *module = fixture_load("arm-mixed", 0);
    struct module *stripped = fixture_load("arm-stripped", 0);
    assert_false(stripped->marks_complete);
    static const char *const exported[] = {"global_function", "framed_function"};
    for (size_t i = 0; i < sizeof exported / sizeof *exported; i++) {
        vaddr_t addr = symbol(stripped, exported[i])->addr;
        const struct code_mark *mark = mark_at(stripped, addr);
        assert_non_null(mark);
        assert_true(mark->sure);
        assert_int_equal(mark->state, state_of(module, addr));
    }
    assert_int_equal(stripped->exception_count, module->exception_count);
    module_free(stripped);
    module_free(module);
}

/* DWARF, of 4-byte addresses. */
static void debug_frame_of_32_bit_files(void **state) {
    (void)state;
    skip_without_compiler();
    struct module *module = fixture_load("arm-debug", 0);
    const struct symbol *f = symbol(module, "framed_function");
    const struct unwind_range *r = module_range_at(module, f->addr);
    assert_non_null(r);
    assert_int_equal(r->start, f->addr);
    const struct cfa_row *row = module_row_at(module, r, f->addr);
    assert_int_equal(row->reg, 13); /* the stack pointer, with nothing pushed yet */
    assert_int_equal(row->offset, 0);
    assert_true(r->row_count > 1);
    module_free(module);
}

static void foreign_machines_refused(void **state) {
    (void)state;
    skip_without_compiler();
    size_t size;
    struct module *module;
    struct err err = {0};
    AUTO_FREE uint8_t *bytes = fixture_read("arm-t32", &size);
    bytes[offsetof(Elf32_Ehdr, e_machine)] = EM_386;
    assert_int_equal(load_bytes(bytes, size, &module, &err), -ENOTSUP);
    assert_string_equal(err.tag, "elf-class");
    assert_string_equal(err.text, "bytes: is a 32-bit program: spoor traces 64-bit ones");
}

/* ---- modules as a dynamic linker leaves them in memory ---- */

enum { BIAS = 0x00730000 };

static void add_bias(uint8_t *at) {
    uint32_t word = LOAD(uint32_t, at) + BIAS;
    memcpy(at, &word, sizeof word);
}

/* The byte of the file for ADDR. */
static uint8_t *at_address(uint8_t *bytes, uint32_t addr) {
    const Elf32_Ehdr *header = (const void *)bytes;
    const Elf32_Phdr *segments = (const void *)(bytes + header->e_phoff);
    for (size_t i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && addr - segments[i].p_vaddr < segments[i].p_filesz)
            return bytes + segments[i].p_offset + (addr - segments[i].p_vaddr);
    fail_msg("the file holds nothing at 0x%x", addr);
    return NULL;
}

/* Relocations by symbols get an address of code that has no other reference. */
static void relocate(uint8_t *bytes, uint32_t addr, uint32_t size, uint32_t code) {
    for (uint32_t i = 0; i < size / sizeof(Elf32_Rel); i++) {
        Elf32_Rel rel = LOAD(Elf32_Rel, at_address(bytes, addr) + i * sizeof rel);
        uint8_t *word = at_address(bytes, rel.r_offset);
        if (ELF32_R_TYPE(rel.r_info) != R_ARM_RELATIVE)
            memcpy(word, &code, sizeof code);
        add_bias(word);
    }
}

static void load(uint8_t *bytes, uint32_t code) {
    const Elf32_Ehdr *header = (const void *)bytes;
    const Elf32_Phdr *dynamic = (const void *)(bytes + header->e_phoff);
    while (dynamic->p_type != PT_DYNAMIC)
        dynamic++;
    Elf32_Dyn *entries = (void *)(bytes + dynamic->p_offset);
    uint32_t value[DT_JMPREL + 1] = {0};
    for (Elf32_Dyn *d = entries; d->d_tag != DT_NULL; d++)
        if (d->d_tag <= DT_JMPREL)
            value[d->d_tag] = d->d_un.d_val;
    relocate(bytes, value[DT_REL], value[DT_RELSZ], code);
    relocate(bytes, value[DT_JMPREL], value[DT_PLTRELSZ], code);
    for (Elf32_Dyn *d = entries; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_SYMTAB || d->d_tag == DT_STRTAB || d->d_tag == DT_REL ||
            d->d_tag == DT_JMPREL || d->d_tag == DT_GNU_HASH || d->d_tag == DT_INIT_ARRAY)
            add_bias((uint8_t *)&d->d_un.d_val);
}

static size_t relocations(const struct module *m, struct code_ref *ret, size_t room) {
    size_t count = 0;
    for (size_t i = 0; i < m->ref_count; i++)
        if (m->refs[i].kind == CODE_REF_RELOCATION && count < room)
            ret[count++] = m->refs[i];
    return count;
}

static void loaded_image_equals_the_file(void **state) {
    (void)state;
    skip_without_compiler();
    enum { MOST = 1000 };
    size_t size;
    struct module *mapped, *module = fixture_load("arm-mixed", 0);
    static struct code_ref of_file[MOST], of_image[MOST];
    uint8_t *bytes = fixture_read("arm-mixed", &size);
    load(bytes, (uint32_t)symbol(module, "framed_function")->addr + 2);
    assert_int_equal(
        module_load_mapped(&(struct loaded){bytes, size, BIAS}, "bytes", 0, &mapped, NULL), 0);
    size_t count = relocations(module, of_file, MOST);
    assert_in_range(count, 2, MOST - 1);
    assert_int_equal(relocations(mapped, of_image, MOST), count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(of_image[i].from, of_file[i].from);
        assert_int_equal(of_image[i].target, of_file[i].target);
    }
    assert_int_equal(mapped->import_count, module->import_count);
    assert_int_equal(mapped->exception_count, module->exception_count);
    module_free(mapped);
    module_free(module);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("elf of 32-bit Arm", tests, NULL, NULL);
}
