/*
 * Damaged DWARF: reading it ends, with fewer types, whatever the damage. The argument N takes every
 * Nth of the damages (1: all).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static size_t every = 1;
static const char *const names[] = {"shapes-c", "shapes-c-packed", "shapes-cxx"};

static uint8_t *read_fixture(const char *name, size_t *ret_size) {
    AUTO_FREE char *path = mem_printf("%s/%s", FIXTURES, name);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = mem_alloc(size);
    assert_int_equal(fread(bytes, 1, size, f), size);
    fclose(f);
    *ret_size = size;
    return bytes;
}

static void cut_files(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size;
        AUTO_FREE uint8_t *bytes = read_fixture(names[i], &size);
        for (size_t cut = 1; cut < size; cut += 331 * every) {
            AUTO_FREE uint8_t *part = mem_alloc(cut);
            memcpy(part, bytes, cut);
            LLVMFuzzerTestOneInput(part, cut);
        }
    }
}

static void flipped_bytes(void **state) {
    (void)state;
    static const uint8_t flips[] = {0x01, 0x80, 0xff, 0x10};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size;
        AUTO_FREE uint8_t *bytes = read_fixture(names[i], &size);
        for (size_t at = 64; at < size; at += 17 * every) {
            uint8_t flip = flips[at / 17 % sizeof flips];
            bytes[at] ^= flip;
            LLVMFuzzerTestOneInput(bytes, size);
            bytes[at] ^= flip;
        }
    }
}

static void many_damages_at_once(void **state) {
    (void)state;
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size;
        AUTO_FREE uint8_t *bytes = read_fixture(names[i], &size);
        for (size_t round = 0; round < 400 / every; round++) {
            AUTO_FREE uint8_t *copy = mem_alloc(size);
            memcpy(copy, bytes, size);
            for (int k = 0; k < 40; k++) {
                random = random * 1103515245 + 12345;
                copy[64 + (random >> 4) % (size - 64)] = (uint8_t)(random >> 20);
            }
            LLVMFuzzerTestOneInput(copy, size);
        }
    }
}

int main(int argc, char **argv) {
    if (argc > 1)
        every = strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(cut_files), cmocka_unit_test(flipped_bytes),
                                       cmocka_unit_test(many_damages_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
