/*
 * Loads a library into a hole of exactly its size, with no free address around it: tight_library
 * LIBRARY
 */
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include "self_check.h"

enum { STACK_BYTES = 512 * 1024, HEAP_BYTES = 64 * 1024 };

struct span {
    const char *name;
    uintptr_t low, high;
};

static int find(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    struct span *s = arg;
    if (strcmp(s->name, info->dlpi_name) != 0)
        return 0;
    s->low = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD)
            continue;
        s->low = start < s->low ? start & ~4095ul : s->low;
        s->high = (start + p->p_memsz + 4095) & ~4095ul;
    }
    return 1;
}

static struct span load(const char *name, void **ret_handle) {
    struct span s = {.name = name};
    *ret_handle = dlopen(name, RTLD_NOW);
    check(*ret_handle && dl_iterate_phdr(find, &s), "dlopen");
    return s;
}

static void use(void *handle) {
    int (*add)(int, int) = (int (*)(int, int))dlsym(handle, "library_add");
    check(add && add(2, 3) == 9, "the library");
}

static char *reserve(size_t size) {
    char *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Grows stack and heap: later they cannot grow any more. */
static void grow_stack_and_heap(void) {
    volatile char stack[STACK_BYTES];
    for (int i = 0; i < STACK_BYTES; i += 4096)
        stack[i] = 1;
    check(stack[0] == 1, "the stack");
    free(malloc(HEAP_BYTES));
}

/* Takes all free addresses but SIZE bytes; returns the address of these. */
static uintptr_t take_all_but(size_t size) {
    char *hole = reserve(size);
    check(hole != NULL, "mmap");
    for (size_t chunk = (size_t)1 << (sizeof(size_t) == 8 ? 46 : 30); chunk >= 4096; chunk /= 2)
        while (reserve(chunk))
            ;
    munmap(hole, size);
    return (uintptr_t)hole;
}

int main(int argc, char **argv) {
    void *handle;
    check(argc == 2, "usage");
    struct span s = load(argv[1], &handle);
    use(handle);
    dlclose(handle);
    grow_stack_and_heap();
    uintptr_t hole = take_all_but(s.high - s.low);
    s = load(argv[1], &handle);
    check(s.low == hole, "the hole");
    use(handle);
    check_work();
    return right();
}
