/* Symbols: their kinds, their order, and their sources in stripped files. */
#include <fcntl.h>
#include <ftw.h>
#include <gelf.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <sys/stat.h>

#include "support.h"

#define TESTS                                                                                      \
    TEST(symbol_types)                                                                             \
    TEST(tls_and_undefined_symbols_left_out)                                                       \
    TEST(undefined_symbols_listed_once)                                                            \
    TEST(name_to_show_comes_first)                                                                 \
    TEST(versions_stripped_from_names)                                                             \
    TEST(symbol_in_both_tables)                                                                    \
    TEST(mapping_symbols_skipped)                                                                  \
    TEST(stripped_file_without_local_names)                                                        \
    TEST(debug_file_by_build_id)                                                                   \
    TEST(debug_file_by_checksum)                                                                   \
    TEST(minidebug_section)                                                                        \
    TEST(foreign_debug_file_refused)                                                               \
    TEST(debug_directory_beside_the_program)                                                       \
    TEST(debuginfod_only_with_servers)                                                             \
    TEST(libelf_agrees_on_dynamic_symbols)

static void symbol_types(void **state) {
    (void)state;
    for (const char *const *name = fixture_names; *name; name++) {
        if (!fixture_is_shapes(*name))
            continue;
        struct module *module = fixture_load(*name, 0);
        assert_int_equal(symbol(module, "global_function")->type, SYMBOL_FUNCTION);
        assert_true(symbol(module, "global_function")->size > 0);
        assert_int_equal(symbol(module, "local_function")->type, SYMBOL_FUNCTION);
        assert_false(symbol(module, "local_function")->global);
        assert_int_equal(symbol(module, "chosen_at_start")->type, SYMBOL_IFUNC);
        assert_int_equal(symbol(module, "table")->type, SYMBOL_OBJECT);
        assert_int_equal(symbol(module, "table")->size, 4 * sizeof(void *));
        module_free(module);
    }
}

static void tls_and_undefined_symbols_left_out(void **state) {
    (void)state;
    struct module *module = fixture_load("shapes-pie", 0);
    assert_null(module_symbol_named(module, "of_each_thread"));
    assert_null(module_symbol_named(module, "__libc_start_main"));
    assert_null(module_symbol_named(module, "shapes.c")); /* the name of the source file */
    assert_null(module_symbol_named(module, ""));
    module_free(module);
}

static bool is_among(const char *name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void undefined_symbols_listed_once(void **state) {
    (void)state;
    struct module *module;
    size_t count;
    assert_int_equal(module_load("/proc/self/exe", 0, &module, NULL), 0);
    AUTO_FREE const char **names = module_undefined(module, &count);
    assert_true(is_among("_cmocka_run_group_tests", names, count));
    assert_true(is_among("__libc_start_main", names, count));
    assert_true(is_among("free", names, count));
    assert_false(is_among("stderr", names, count)); /* data */
    assert_false(is_among("module_undefined", names, count));
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(names[i - 1], names[i]) < 0);
    module_free(module);
    module = fixture_load("shapes-static", 0);
    free(module_undefined(module, &count));
    assert_int_equal(count, 0);
    module_free(module);
}

static void name_to_show_comes_first(void **state) {
    (void)state;
    struct module *module = fixture_load("shapes-pie", 0);
    vaddr_t addr = symbol(module, "global_function")->addr;
    size_t i = 0;
    while (module->symbols[i].addr != addr)
        i++;
    assert_string_equal(module->symbols[i].name, "global_function");
    assert_string_equal(module->symbols[i + 1].name, "_second_alias");
    assert_string_equal(module->symbols[i + 2].name, "__first_alias");
    assert_int_not_equal(module->symbols[i + 3].addr, addr);
    module_free(module);
}

static void versions_stripped_from_names(void **state) {
    (void)state;
    struct module *module = fixture_load("shapes-library", 0);
    size_t found = 0;
    for (size_t i = 0; i < module->symbol_count; i++) {
        assert_null(strchr(module->symbols[i].name, '@'));
        found += strcmp(module->symbols[i].name, "versioned") == 0;
    }
    assert_int_equal(found, 2); /* one of OLD and one of NEW */
    module_free(module);
}

static void symbol_in_both_tables(void **state) {
    (void)state;
    struct module *module = fixture_load("shapes-sysv-hash", 0); /* -rdynamic: all are in both */
    for (size_t i = 1; i < module->symbol_count; i++) {
        const struct symbol *a = module->symbols + i - 1, *b = module->symbols + i;
        assert_true(a->addr != b->addr || strcmp(a->name, b->name) != 0);
    }
    module_free(module);
}

static void mapping_symbols_skipped(void **state) {
    (void)state;
    if (!fixture_exists("shapes-aarch64"))
        skip();
    struct module *module = fixture_load("shapes-aarch64", 0);
    symbol(module, "global_function");
    for (size_t i = 0; i < module->symbol_count; i++)
        assert_int_not_equal(module->symbols[i].name[0], '$');
    module_free(module);
}

static void stripped_file_without_local_names(void **state) {
    (void)state;
    struct module *module = fixture_load("stripped", MODULE_DEBUG_FILES);
    assert_false(module->has_debug_file);
    assert_null(module_symbol_named(module, "local_function"));
    module_free(module);
}

/* The stripped file's symbols equal those of its original. */
static void expect_all_symbols(const char *name, const char *original) {
    struct module *whole = fixture_load(original, 0);
    struct module *module = fixture_load(name, MODULE_DEBUG_FILES);
    assert_true(module->has_debug_file);
    assert_int_equal(module->symbol_count, whole->symbol_count);
    for (size_t i = 0; i < whole->symbol_count; i++) {
        assert_int_equal(module->symbols[i].addr, whole->symbols[i].addr);
        assert_string_equal(module->symbols[i].name, whole->symbols[i].name);
    }
    module_free(whole);
    module_free(module);
    module = fixture_load(name, 0);
    assert_false(module->has_debug_file);
    assert_null(module_symbol_named(module, "local_function"));
    module_free(module);
}

static void debug_file_by_build_id(void **state) {
    (void)state;
    expect_all_symbols("linked-pie", "shapes-pie");
}

static void debug_file_by_checksum(void **state) {
    (void)state;
    expect_all_symbols("linked-nameless", "shapes-nameless");
}

static void minidebug_section(void **state) {
    (void)state;
    expect_all_symbols("minidebug", "shapes-pie");
}

/* Copies FROM into DIRECTORY as NAME, with byte number FLIP_BACK from its end inverted (0: none).
 */
static void copy_into(const char *directory, const char *name, const char *from, size_t flip_back) {
    size_t size;
    AUTO_FREE uint8_t *bytes = fixture_read(from, &size);
    AUTO_FREE char *path = mem_printf("%s/%s", directory, name);
    if (flip_back)
        bytes[size - flip_back] ^= 0xff;
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static int remove_visited(const char *path, const struct stat *st, int type, struct FTW *where) {
    (void)st, (void)type, (void)where;
    return remove(path);
}

static bool finds_debug_file(const char *directory, const char *name) {
    AUTO_FREE char *path = mem_printf("%s/%s", directory, name);
    struct module *module;
    assert_int_equal(module_load(path, MODULE_DEBUG_FILES, &module, NULL), 0);
    bool found = module->has_debug_file;
    module_free(module);
    return found;
}

static void foreign_debug_file_refused(void **state) {
    (void)state;
    char directory[] = "/tmp/spoor-test-XXXXXX";
    assert_non_null(mkdtemp(directory));
    copy_into(directory, "program", "linked-nameless", 0);
    copy_into(directory, "linked-nameless.debug", "linked-nameless.debug", 0);
    assert_true(finds_debug_file(directory, "program"));
    copy_into(directory, "linked-nameless.debug", "linked-nameless.debug", 1);
    assert_false(finds_debug_file(directory, "program"));
    copy_into(directory, "program", "linked-pie", 0); /* the other file has no build ID */
    copy_into(directory, "linked-pie.debug", "linked-nameless.debug", 0);
    assert_false(finds_debug_file(directory, "program"));
    assert_int_equal(nftw(directory, remove_visited, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void debug_directory_beside_the_program(void **state) {
    (void)state;
    char directory[] = "/tmp/spoor-test-XXXXXX";
    assert_non_null(mkdtemp(directory));
    AUTO_FREE char *inner = mem_printf("%s/.debug", directory);
    assert_int_equal(mkdir(inner, 0700), 0);
    copy_into(directory, "program", "linked-pie", 0);
    assert_false(finds_debug_file(directory, "program"));
    copy_into(inner, "linked-pie.debug", "linked-pie.debug", 0);
    assert_true(finds_debug_file(directory, "program"));
    assert_int_equal(nftw(directory, remove_visited, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* The client understands file:// URLs: DIRECTORY/buildid/HEX/debuginfo. */
static void debuginfod_only_with_servers(void **state) {
    (void)state;
    char directory[] = "/tmp/spoor-test-XXXXXX", hex[41];
    assert_non_null(mkdtemp(directory));
    struct module *module = fixture_load("stripped", MODULE_DEBUG_FILES);
    assert_false(module->has_debug_file);
    for (size_t i = 0; i < 20; i++)
        snprintf(hex + 2 * i, 3, "%02x", module->build_id[i]);
    module_free(module);
    AUTO_FREE char *tree = mem_printf("%s/buildid/%s", directory, hex);
    AUTO_FREE char *parent = mem_printf("%s/buildid", directory);
    AUTO_FREE char *cache = mem_printf("%s/cache", directory);
    AUTO_FREE char *url = mem_printf("file://%s", directory);
    assert_int_equal(mkdir(parent, 0700) | mkdir(tree, 0700), 0);
    copy_into(tree, "debuginfo", "linked-pie.debug", 0);
    setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
    setenv("DEBUGINFOD_URLS", url, 1);
    module = fixture_load("stripped", MODULE_DEBUG_FILES);
    unsetenv("DEBUGINFOD_URLS");
    assert_true(module->has_debug_file);
    assert_int_equal(symbol(module, "local_function")->type, SYMBOL_FUNCTION);
    module_free(module);
    assert_int_equal(nftw(directory, remove_visited, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static bool has_symbol(const struct module *module, vaddr_t addr, const char *name) {
    for (size_t i = 0; i < module->symbol_count; i++)
        if (module->symbols[i].addr == addr && strcmp(module->symbols[i].name, name) == 0)
            return true;
    return false;
}

/* The symbols of libc that libelf calls defined, and neither thread-local nor absolute. */
static void libelf_agrees_on_dynamic_symbols(void **state) {
    (void)state;
    struct module *module;
    const char *path = path_of((const void *)gnu_get_libc_version);
    assert_int_equal(module_load(path, 0, &module, NULL), 0);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_not_equal(elf_version(EV_CURRENT), EV_NONE);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    size_t count = 0;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr sh;
        gelf_getshdr(scn, &sh);
        if (sh.sh_type != SHT_DYNSYM)
            continue;
        GElf_Sym sym;
        for (int i = 1; gelf_getsym(elf_getdata(scn, NULL), i, &sym); i++) {
            if (sym.st_shndx == SHN_UNDEF || sym.st_shndx >= SHN_LORESERVE ||
                GELF_ST_TYPE(sym.st_info) == STT_TLS)
                continue;
            assert_true(has_symbol(module, sym.st_value, elf_strptr(elf, sh.sh_link, sym.st_name)));
            count++;
        }
    }
    assert_true(count > 1000 && count >= module->symbol_count);
    elf_end(elf);
    module_free(module);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("elf symbols", tests, NULL, NULL);
}
