/*
 * Damaged files: loading ends with a module or with an error, whatever the damage. The argument N
 * takes every Nth of the damages (1: all).
 */
#include <stdlib.h>

#include "../../../fuzz/elf_invariants.h"
#include "support.h"

#define TESTS                                                                                      \
    TEST(file_prefixes)                                                                            \
    TEST(flipped_bytes)                                                                            \
    TEST(random_damage)

static size_t every = 1;

static void load_damaged(const uint8_t *bytes, size_t size) {
    struct module *module;
    struct err err = {0};
    int r = load_bytes(bytes, size, &module, &err);
    if (r == 0) {
        elf_check_invariants(module);
        module_free(module);
    } else {
        assert_int_equal(err.code, -r);
        assert_true(err.tag[0] && err.text[0]);
    }
}

static void file_prefixes(void **state) {
    (void)state;
    static const char *const names[] = {"shapes-pie", "rows", "minidebug", "debugframe"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size;
        AUTO_FREE uint8_t *bytes = fixture_read(names[i], &size);
        for (size_t cut = 0; cut < size; cut += 61 * every)
            load_damaged(bytes, cut);
    }
}

enum { NOP = 0x90 }; /* code is not parsed */

static void flipped_bytes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t step;
    } files[] = {{"shapes-library", 2}, {"shapes-fixed", 5}, {"rows", 2}, {"minidebug", 11}};
    static const uint8_t flips[] = {0x01, 0x80, 0xff};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t size;
        AUTO_FREE uint8_t *bytes = fixture_read(files[i].name, &size);
        for (size_t at = 0; at < size;
             at += (at < 4096 ? 1 : files[i].step) * every) { /* headers: 1 */
            if (bytes[at] == NOP)
                continue;
            bytes[at] ^= flips[at % 3];
            load_damaged(bytes, size);
            bytes[at] ^= flips[at % 3];
        }
    }
}

/* Damages many bytes at once: 2 % of one page. */
static void random_damage(void **state) {
    (void)state;
    size_t size;
    AUTO_FREE uint8_t *good = fixture_read("shapes-pie", &size);
    AUTO_FREE uint8_t *bytes = mem_alloc(size);
    srandom(1);
    for (size_t round = 0; round < 1000 / every; round++) {
        memcpy(bytes, good, size);
        size_t page = (size_t)random() % (size / 4096) * 4096;
        for (int i = 0; i < 80; i++)
            bytes[page + (size_t)random() % 4096] = (uint8_t)random();
        memcpy(bytes, good, 16); /* the identification stays valid, or the rest would not be read */
        load_damaged(bytes, size);
    }
}

int main(int argc, char **argv) {
    every = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    if (!every)
        return 2;
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("elf damaged files", tests, NULL, NULL);
}
