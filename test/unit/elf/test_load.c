/* Opening, refusing and laying out of ELF files. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "support.h"

#define TESTS                                                                                      \
    TEST(missing_file)                                                                             \
    TEST(directory_instead_of_a_file)                                                              \
    TEST(devices_pipes_and_text_files)                                                             \
    TEST(header_errors_have_tags)                                                                  \
    TEST(program_of_32_bits_refused)                                                               \
    TEST(impossible_segments)                                                                      \
    TEST(file_cut_within_a_segment)                                                                \
    TEST(any_machine_loads)                                                                        \
    TEST(pie_versus_fixed_by_header)                                                               \
    TEST(text_relocations_reported)                                                                \
    TEST(text_ranges)                                                                              \
    TEST(plt_sections)                                                                             \
    TEST(zeroed_memory_has_no_bytes)                                                               \
    TEST(bytes_end_with_their_segment)                                                             \
    TEST(file_without_section_headers)                                                             \
    TEST(bad_section_headers_ignored)                                                              \
    TEST(build_id_note)                                                                            \
    TEST(borrowed_descriptor_stays_open)                                                           \
    TEST(free_of_null)

static void expect_refusal(int r, const struct err *err, int code, const char *tag) {
    assert_int_equal(r, -code);
    assert_int_equal(err->code, code);
    assert_string_equal(err->tag, tag);
    assert_non_null(strstr(err->text, ": "));
}

static void refuses_path(const char *path, int code, const char *tag) {
    struct module *module;
    struct err err = {0};
    expect_refusal(module_load(path, 0, &module, &err), &err, code, tag);
    assert_ptr_equal(strstr(err.text, path), err.text);
}

static void missing_file(void **state) {
    (void)state;
    refuses_path("/nonexistent/program", ENOENT, "open");
}

static void directory_instead_of_a_file(void **state) {
    (void)state;
    refuses_path("/", EISDIR, "open");
}

static void devices_pipes_and_text_files(void **state) {
    (void)state;
    refuses_path("/dev/null", ENOEXEC, "not-elf");
    refuses_path("/etc/passwd", ENOEXEC, "not-elf");
    refuses_path("/proc/self/status", ENOEXEC, "not-elf"); /* of size 0 */
    int fds[2];
    struct module *module;
    struct err err = {0};
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    expect_refusal(module_load_fd(fds[0], "pipe", 0, &module, &err), &err, ENOEXEC, "not-elf");
    close(fds[0]);
    close(fds[1]);
}

/* Each invalid byte of an ELF header has its own error tag. */
static void header_errors_have_tags(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        uint8_t value;
        int code;
        const char *tag;
    } cases[] = {
        {EI_MAG0, 'E', ENOEXEC, "not-elf"},
        {EI_CLASS, ELFCLASS32, ENOTSUP, "elf-class"},
        {EI_CLASS, 9, ENOEXEC, "corrupt-elf"},
        {EI_DATA, ELFDATA2MSB, ENOTSUP, "elf-byte-order"},
        {EI_DATA, 9, ENOEXEC, "corrupt-elf"},
        {EI_VERSION, 9, ENOEXEC, "corrupt-elf"},
        {offsetof(Elf64_Ehdr, e_type), ET_REL, ENOEXEC, "elf-type"},
        {offsetof(Elf64_Ehdr, e_type), ET_CORE, ENOEXEC, "elf-type"},
        {offsetof(Elf64_Ehdr, e_phentsize), 1, ENOEXEC, "corrupt-elf"},
        {offsetof(Elf64_Ehdr, e_phnum), 0, ENOEXEC, "corrupt-elf"},
        {offsetof(Elf64_Ehdr, e_phoff) + 5, 1, ENOEXEC, "truncated-elf"},
    };
    size_t size;
    AUTO_FREE uint8_t *bytes = fixture_read("shapes-pie", &size);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct module *module;
        struct err err = {0};
        uint8_t old = bytes[cases[i].offset];
        bytes[cases[i].offset] = cases[i].value;
        expect_refusal(load_bytes(bytes, size, &module, &err), &err, cases[i].code, cases[i].tag);
        bytes[cases[i].offset] = old;
    }
}

static void program_of_32_bits_refused(void **state) {
    (void)state;
    size_t size;
    struct module *module;
    struct err err = {0};
    AUTO_FREE uint8_t *bytes = fixture_read("shapes-pie", &size);
    bytes[EI_CLASS] = ELFCLASS32;
    assert_int_equal(load_bytes(bytes, size, &module, &err), -ENOTSUP);
    assert_string_equal(err.text, "bytes: is a 32-bit program: spoor traces 64-bit ones");
}

static Elf64_Phdr *program_headers(uint8_t *bytes) {
    return (Elf64_Phdr *)(bytes + ((Elf64_Ehdr *)bytes)->e_phoff);
}

static Elf64_Phdr *first_load(uint8_t *bytes) {
    Elf64_Phdr *ph = program_headers(bytes);
    while (ph->p_type != PT_LOAD)
        ph++;
    return ph;
}

static void impossible_segments(void **state) {
    (void)state;
    size_t size;
    struct module *module;
    struct err err = {0};
    AUTO_FREE uint8_t *bytes = fixture_read("shapes-pie", &size);
    Elf64_Phdr *ph = first_load(bytes), good = *ph;
    ph->p_filesz = ph->p_memsz + 1;
    expect_refusal(load_bytes(bytes, size, &module, &err), &err, ENOEXEC, "corrupt-elf");
    *ph = good;
    ph->p_memsz = UINT64_MAX;
    ph->p_vaddr = 0x1000;
    expect_refusal(load_bytes(bytes, size, &module, &err), &err, ENOEXEC, "corrupt-elf");
    *ph = good;
    ph->p_memsz = 0x100000; /* overlaps its neighbour */
    expect_refusal(load_bytes(bytes, size, &module, &err), &err, ENOEXEC, "corrupt-elf");
    *ph = good;
    ph->p_offset = size;
    expect_refusal(load_bytes(bytes, size, &module, &err), &err, ENOEXEC, "truncated-elf");
}

static void file_cut_within_a_segment(void **state) {
    (void)state;
    size_t size;
    struct module *module;
    struct err err = {0};
    AUTO_FREE uint8_t *bytes = fixture_read("shapes-pie", &size);
    expect_refusal(load_bytes(bytes, 0x2000, &module, &err), &err, ENOEXEC, "truncated-elf");
    expect_refusal(load_bytes(bytes, 40, &module, &err), &err, ENOEXEC, "truncated-elf");
    expect_refusal(load_bytes(bytes, 10, &module, &err), &err, ENOEXEC, "truncated-elf");
    expect_refusal(load_bytes(bytes, 3, &module, &err), &err, ENOEXEC, "not-elf");
}

static void any_machine_loads(void **state) {
    (void)state;
    size_t size;
    struct module *module;
    struct err err = {0};
    AUTO_FREE uint8_t *bytes = fixture_read("shapes-pie", &size);
    ((Elf64_Ehdr *)bytes)->e_machine = EM_RISCV;
    assert_int_equal(load_bytes(bytes, size, &module, &err), 0);
    assert_int_equal(module->machine, EM_RISCV);
    module_free(module);
}

static void pie_versus_fixed_by_header(void **state) {
    (void)state;
    struct module *pie = fixture_load("shapes-pie", 0), *fixed = fixture_load("shapes-fixed", 0);
    assert_true(pie->position_independent);
    assert_false(fixed->position_independent);
    assert_int_equal(pie->machine, EM_X86_64);
    assert_int_equal(pie->entry, symbol(pie, "_start")->addr);
    assert_string_equal(pie->name, "shapes-pie");
    assert_false(pie->text_relocations);
    module_free(pie);
    module_free(fixed);
}

static void text_relocations_reported(void **state) {
    (void)state;
    struct module *module = fixture_load("shapes-textrel", 0);
    assert_true(module->text_relocations);
    module_free(module);
}

static void text_ranges(void **state) {
    (void)state;
    struct module *module = fixture_load("shapes-pie", 0);
    vaddr_t main_addr = symbol(module, "main")->addr;
    const struct segment *segment = module_segment_at(module, main_addr);
    assert_true(segment->executable && segment->readable && !segment->writable);
    assert_int_equal(segment->start, module->text_low);
    assert_int_equal(segment->start + segment->size, module->text_high);
    assert_int_equal(segment->size, module->text_bytes);
    assert_string_equal(module_section_at(module, main_addr)->name, ".text");
    assert_false(module_section_at(module, main_addr)->plt);
    assert_true(module_segment_at(module, symbol(module, "counter")->addr)->writable);
    module_free(module);
}

static void plt_sections(void **state) {
    (void)state;
    struct module *module = fixture_load("shapes-pie", 0);
    size_t marked = 0;
    for (size_t i = 0; i < module->section_count; i++) {
        const struct section *section = module->sections + i;
        assert_int_equal(section->plt, strncmp(section->name, ".plt", 4) == 0);
        marked += section->plt;
    }
    assert_in_range(marked, 2, 3); /* .plt, .plt.got, .plt.sec (CET) */
    module_free(module);
}

static void zeroed_memory_has_no_bytes(void **state) {
    (void)state;
    struct module *module = fixture_load("shapes-pie", 0);
    const struct symbol *counter = symbol(module, "counter"); /* in .bss */
    assert_null(module_section_at(module, counter->addr)->bytes);
    assert_null(module_bytes(module, counter->addr, 4));
    module_free(module);
}

static void bytes_end_with_their_segment(void **state) {
    (void)state;
    struct module *module = fixture_load("shapes-pie", 0);
    const struct segment *text = module_segment_at(module, module->text_low);
    assert_ptr_equal(module_bytes(module, text->start, text->file_size), text->bytes);
    assert_null(module_bytes(module, text->start, text->file_size + 1));
    assert_null(module_bytes(module, text->start + 1, UINT64_MAX));
    assert_null(module_bytes(module, module->high, 1));
    assert_null(module_segment_at(module, module->low - 1));
    module_free(module);
}

static void expect_same_ranges(const struct module *a, const struct module *b) {
    assert_int_equal(a->range_count, b->range_count);
    for (size_t i = 0; i < a->range_count; i++) {
        assert_int_equal(a->ranges[i].start, b->ranges[i].start);
        assert_int_equal(a->ranges[i].end, b->ranges[i].end);
        assert_int_equal(a->ranges[i].lsda, b->ranges[i].lsda);
        assert_int_equal(a->ranges[i].first_row, b->ranges[i].first_row);
    }
    assert_int_equal(a->row_count, b->row_count);
    for (size_t i = 0; i < a->row_count; i++) {
        assert_int_equal(a->rows[i].pc, b->rows[i].pc);
        assert_int_equal(a->rows[i].reg, b->rows[i].reg);
        assert_int_equal(a->rows[i].offset, b->rows[i].offset);
    }
}

static void expect_same_refs(const struct module *a, const struct module *b) {
    assert_int_equal(a->ref_count, b->ref_count);
    for (size_t i = 0; i < a->ref_count; i++) {
        assert_int_equal(a->refs[i].target, b->refs[i].target);
        assert_int_equal(a->refs[i].from, b->refs[i].from);
        assert_int_equal(a->refs[i].kind, b->refs[i].kind);
    }
}

/* Without section headers the module has the same code, ranges, references and dynamic symbols. */
static void file_without_section_headers(void **state) {
    (void)state;
    static const char *const names[] = {"stripped", "shapes-library", "shapes-sysv-hash"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size;
        struct module *bare;
        AUTO_FREE uint8_t *bytes = fixture_read(names[i], &size);
        struct module *whole = fixture_load(names[i], 0);
        Elf64_Ehdr *header = (Elf64_Ehdr *)bytes;
        header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
        assert_int_equal(load_bytes(bytes, size, &bare, NULL), 0);
        expect_same_ranges(bare, whole);
        expect_same_refs(bare, whole);
        assert_int_equal(bare->build_id_size, whole->build_id_size);
        for (size_t k = 0; k < whole->symbol_count; k++)
            if (strcmp(names[i], "stripped") == 0 ||
                strncmp(whole->symbols[k].name, "versio", 6) == 0)
                symbol(bare, whole->symbols[k].name);
        assert_true(module_section_at(bare, bare->text_low)->executable);
        module_free(bare);
        module_free(whole);
    }
}

static void bad_section_headers_ignored(void **state) {
    (void)state;
    size_t size;
    struct module *module;
    AUTO_FREE uint8_t *bytes = fixture_read("stripped", &size);
    ((Elf64_Ehdr *)bytes)->e_shoff = size - 10;
    assert_int_equal(load_bytes(bytes, size, &module, NULL), 0);
    assert_true(module->range_count > 0);
    module_free(module);
}

static void build_id_note(void **state) {
    (void)state;
    struct module *with = fixture_load("shapes-pie", 0),
                  *without = fixture_load("shapes-nameless", 0);
    assert_int_equal(with->build_id_size, 20);
    assert_int_equal(without->build_id_size, 0);
    const struct section *note = NULL;
    for (size_t i = 0; i < with->section_count; i++)
        if (strcmp(with->sections[i].name, ".note.gnu.build-id") == 0)
            note = with->sections + i;
    assert_non_null(note);
    assert_memory_equal(with->build_id, note->bytes + 16, 20);
    module_free(with);
    module_free(without);
}

static void borrowed_descriptor_stays_open(void **state) {
    (void)state;
    size_t size;
    struct module *module;
    AUTO_FREE uint8_t *bytes = fixture_read("shapes-pie", &size);
    AUTO_FD int fd = memfd_create("copy", MFD_CLOEXEC);
    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(module_load_fd(fd, "[vdso]", 0, &module, NULL), 0);
    assert_string_equal(module->path, "[vdso]");
    assert_string_equal(module->name, "[vdso]");
    assert_true(fcntl(fd, F_GETFD) >= 0);
    module_free(module);
}

static void free_of_null(void **state) {
    (void)state;
    module_free(NULL);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("elf load", tests, NULL, NULL);
}
