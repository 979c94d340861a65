/*
 * Moves its own code to anonymous memory at the same addresses, as programs do to get huge pages.
 * Then it loads and unloads libraries.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "expect.h"

extern char __etext;

static volatile int zero;

static NOINLINE int leaf(int n) { return n * 3 + zero; }

static NOINLINE int caller(int n) {
    ENTER;
    int result = LEAF(leaf, n) + LEAF(leaf, n + 1);
    LEAVE;
    return result;
}

/* Moves the pages from leaf()'s to the end of the code. Meanwhile only library code runs. */
static inline __attribute__((always_inline)) void move_code(void) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)leaf & -page, end = ((uintptr_t)&__etext + page - 1) & -page;
    void *copy =
        mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(copy, (void *)start, end - start);
    mprotect(copy, end - start, PROT_READ | PROT_EXEC);
    if (mremap(copy, end - start, end - start, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) !=
        (void *)start)
        abort();
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    ENTER;
    int total = caller(1);
    move_code();
    total += caller(2);
    for (int i = 0; i < 3; i++) {
        expect_all("> plugin.so!plugin_begin", "< plugin.so!plugin_begin", NULL);
        void *library = dlopen(argv[1], RTLD_NOW);
        total += caller(i);
        expect_all("> plugin.so!plugin_end", "< plugin.so!plugin_end", NULL);
        dlclose(library);
        total += caller(i);
    }
    printf("%d\n", total);
    LEAVE;
    expect_print();
    return 0;
}
