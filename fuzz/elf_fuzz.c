/*
 * Fuzzes the ELF loader. Each input is loaded twice: from the heap, where a sanitizer sees any read
 * beyond its end, and as a file.
 *
 *   clang -g -O1 -D_GNU_SOURCE -Isrc -fsanitize=fuzzer,address,undefined fuzz/elf_fuzz.c \
 *       fuzz/elf_invariants.c src/elf/[a-z]*.c src/base/[a-z]*.c \
 *       -lz -lzstd -llzma -liberty -ldw -lelf -o elf-fuzz && ./elf-fuzz -max_len=20000 CORPUS
 *
 * With elf_run.c instead of libFuzzer it replays files: an ordinary test.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/internal.h"
#include "elf_invariants.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void finish(int r, struct module *module, const struct err *err) {
    if (r == 0)
        elf_check_invariants(module);
    else if (r != -err->code || !err->tag[0] || !err->text[0])
        abort();
    module_free(module);
}

static void load_from_heap(const uint8_t *bytes, size_t size) {
    struct module *module = NULL;
    struct image image;
    struct err err = {0};
    uint8_t *copy = mem_resize(NULL, size, 1);
    memcpy(copy, bytes, size);
    int r = image_adopt(&image, copy, size, "input", &err);
    if (!r)
        r = module_from_image(&image, "", MODULE_DEBUG_FILES, &module, &err);
    finish(r, module, &err);
}

static void load_from_file(const uint8_t *bytes, size_t size) {
    struct module *module = NULL;
    struct err err = {0};
    AUTO_FD int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    int r = module_load_fd(fd, "input", 0, &module, &err);
    finish(r, module, &err);
}

/* As if a process had it in memory. */
static void load_mapped(const uint8_t *bytes, size_t size, uint64_t bias) {
    struct module *module = NULL;
    struct err err = {0};
    uint8_t *copy = mem_resize(NULL, size, 1);
    memcpy(copy, bytes, size);
    int r = module_load_mapped(&(struct loaded){copy, size, bias}, "input", 0, &module, &err);
    finish(r, module, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    load_from_heap(bytes, size);
    load_from_file(bytes, size);
    load_mapped(bytes, size, 0);
    load_mapped(bytes, size, 0x1000);
    return 0;
}
