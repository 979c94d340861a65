/*
 * Linker stubs of files without section headers equal those that the sections of the full file
 * name.
 */
#include <stdio.h>

#include "support.h"

#define TESTS                                                                                      \
    TEST(linker_stubs_by_their_bytes)                                                              \
    TEST(stubs_of_loaded_libraries)

static bool is_stub(const struct module *m, vaddr_t addr) {
    const struct section *s = module_section_at(m, addr);
    return s && s->plt;
}

/* Sections of stubs are equal, except for padding at their ends. */
static void compare_stubs(const struct module *file, const struct module *bare) {
    size_t found = 0;
    for (size_t i = 0; i < file->section_count; i++) {
        const struct section *s = &file->sections[i];
        if (s->plt && s->bytes && !is_stub(bare, s->start))
            fail_msg("%s: no stubs at %lx", file->name, s->start);
        found += s->plt;
    }
    for (size_t i = 0; i < bare->section_count; i++) {
        const struct section *s = &bare->sections[i];
        for (vaddr_t at = s->start; s->plt && at < s->start + s->size; at += 8)
            if (!is_stub(file, at))
                fail_msg("%s: %lx is no stub", file->name, at);
    }
    assert_true(found > 0 || !file->import_count);
}

/* Compares FILE with its copy NAME without section headers. */
static void compare_with_bare(const struct module *file, const char *path) {
    size_t size = file->priv->file.size;
    uint8_t *bytes = malloc(size);
    struct module *bare;
    memcpy(bytes, file->priv->file.bytes, size);
    assert_int_equal(module_load_mapped(&(struct loaded){bytes, size, 0}, path, 0, &bare, NULL), 0);
    assert_int_equal(bare->priv->file.section_count, 0);
    compare_stubs(file, bare);
    module_free(bare);
}

static void linker_stubs_by_their_bytes(void **state) {
    (void)state;
    for (const char *const *name = fixture_names; *name; name++) {
        if (!fixture_exists(*name) || strcmp(*name, "shapes-aarch64") == 0 ||
            strncmp(*name, "arm-", 4) == 0)
            continue;
        struct module *file = fixture_load(*name, 0);
        compare_with_bare(file, *name);
        module_free(file);
    }
}

static void stubs_of_loaded_libraries(void **state) {
    (void)state;
    const void *const there[] = {(const void *)printf, (const void *)_assert_true};
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
        struct module *file;
        assert_int_equal(module_load(path_of(there[i]), 0, &file, NULL), 0);
        compare_with_bare(file, file->path);
        module_free(file);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("elf stubs", tests, NULL, NULL);
}
