/*
 * Damaged DWARF: reading it ends, with fewer types, whatever the damage. The argument N takes every
 * Nth of the damages (1: all).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
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

/* ---- types that contain themselves ---- */

struct reference { /* of one entry to the type of another one, in the same unit */
    uint8_t *at;
    uint32_t own, parent; /* offsets of entries, in the unit */
};
struct references {
    struct reference list[512];
    size_t count;
};

static void find_references(Dwarf_Die *die, uint32_t parent, struct references *ret) {
    Dwarf_Die child;
    Dwarf_Attribute type;
    uint32_t own = (uint32_t)dwarf_cuoffset(die);
    if (dwarf_attr(die, DW_AT_type, &type) && dwarf_whatform(&type) == DW_FORM_ref4 &&
        ret->count < sizeof ret->list / sizeof *ret->list)
        ret->list[ret->count++] = (struct reference){type.valp, own, parent};
    for (int rc = dwarf_child(die, &child); rc == 0; rc = dwarf_siblingof(&child, &child))
        find_references(&child, own, ret);
}

static void lead_to(const struct reference *r, uint32_t target, const uint8_t *bytes, size_t size) {
    uint8_t before[4];
    memcpy(before, r->at, sizeof before);
    memcpy(r->at, &target, sizeof target); /* little-endian, as what is built here */
    LLVMFuzzerTestOneInput(bytes, size);
    memcpy(r->at, before, sizeof before);
}

static void cyclic_types(void **state) {
    (void)state;
    size_t size;
    AUTO_FREE uint8_t *bytes = read_fixture("shapes-cxx", &size);
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)bytes, size);
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    Dwarf_Die unit;
    struct references all = {.count = 0};
    assert_non_null(dwarf_offdie(dwarf, 0xc, &unit)); /* behind the head of DWARF 5 */
    find_references(&unit, 0, &all);
    assert_true(all.count > 100);
    for (size_t i = 0; i < all.count; i += (every + 9) / 10) {
        lead_to(&all.list[i], all.list[i].own, bytes, size);
        lead_to(&all.list[i], all.list[i].parent, bytes, size);
    }
    dwarf_end(dwarf);
    elf_end(elf);
}

int main(int argc, char **argv) {
    if (argc > 1)
        every = strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(cut_files), cmocka_unit_test(flipped_bytes),
                                       cmocka_unit_test(many_damages_at_once),
                                       cmocka_unit_test(cyclic_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
