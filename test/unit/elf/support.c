/* Finds, loads and reads fixtures, and checks the invariants of loaded modules. */
#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/stat.h>

#include "../../../fuzz/elf_invariants.h"

const char *const fixture_names[] = {"shapes-pie",       "shapes-nameless",
                                     "shapes-fixed",     "shapes-old-layout",
                                     "shapes-static",    "shapes-static-pie",
                                     "shapes-sysv-hash", "shapes-library",
                                     "shapes-textrel",   "shapes-relr",
                                     "shapes-lld",       "shapes-rel",
                                     "shapes-gold",      "shapes-mold",
                                     "shapes-aarch64",   "arm-a32",
                                     "arm-t32",          "arm-mixed",
                                     "arm-fixed",        "arm-stripped",
                                     "arm-debug",        "rows",
                                     "debugframe",       "debugframe-zstd",
                                     "patched-pic",      "patched-fixed",
                                     "stripped",         "minidebug",
                                     "linked-pie",       "linked-nameless",
                                     "linked-pie.debug", NULL};

char *fixture_path(const char *name) { return mem_printf("%s/%s", FIXTURES, name); }

bool fixture_exists(const char *name) {
    AUTO_FREE char *path = fixture_path(name);
    return access(path, R_OK) == 0;
}

bool fixture_is_shapes(const char *name) {
    return strncmp(name, "shapes-", 7) == 0 && strcmp(name, "shapes-aarch64") != 0 &&
           fixture_exists(name);
}

struct module *fixture_load(const char *name, unsigned flags) {
    AUTO_FREE char *path = fixture_path(name);
    struct module *module;
    struct err err = {0};
    if (module_load(path, flags, &module, &err) < 0)
        fail_msg("%s [%s]", err.text, err.tag);
    elf_check_invariants(module);
    return module;
}

uint8_t *fixture_read(const char *name, size_t *ret_size) {
    AUTO_FREE char *path = fixture_path(name);
    struct stat st;
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    *ret_size = (size_t)st.st_size;
    uint8_t *bytes = mem_alloc(*ret_size);
    assert_int_equal(fread(bytes, 1, *ret_size, f), *ret_size);
    fclose(f);
    return bytes;
}

int load_bytes(const uint8_t *bytes, size_t size, struct module **ret, struct err *err) {
    struct image image;
    uint8_t *copy = mem_resize(NULL, size, 1);
    memcpy(copy, bytes, size);
    int r = image_adopt(&image, copy, size, "bytes", err);
    return r ? r : module_from_image(&image, "bytes", MODULE_DEBUG_FILES, ret, err);
}

const char *path_of(const void *addr) {
    Dl_info info;
    assert_int_not_equal(dladdr(addr, &info), 0);
    return info.dli_fname;
}

const struct symbol *symbol(const struct module *module, const char *name) {
    const struct symbol *found = module_symbol_named(module, name);
    if (!found)
        fail_msg("%s has no symbol %s", module->name, name);
    return found;
}
