/* Allocation that ends the tool when memory runs out; arenas in chunks of 64 KB. */
#include "base/mem.h"

#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_READ /* the C library may be older than the kernel */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

static void die(void) {
    static const char text[] = "spoor: out of memory: free some, or trace fewer functions\n";
    ssize_t n = write(2, text, sizeof text - 1);
    (void)n;
    _exit(125);
}

void *mem_alloc(size_t size) {
    void *p = calloc(1, size ? size : 1);
    if (!p)
        die();
    return p;
}

void *mem_resize(void *old, size_t count, size_t size) {
    void *p = reallocarray(old, count ? count : 1, size ? size : 1);
    if (!p)
        die();
    return p;
}

void *mem_map(size_t size) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        die();
    return p;
}

void mem_will_fill(void *p, size_t size) {
    enum { LARGE = 8 << 20 }; /* less would waste the rest of huge pages */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = ((uintptr_t)p + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)p + size) & ~(page - 1);
    if (size >= LARGE) /* kernels without huge pages refuse; nothing is lost then */
        madvise((char *)p + (start - (uintptr_t)p), end - start, MADV_HUGEPAGE);
}

/* Older kernels refuse; nothing is lost then. */
static void fetch(uintptr_t start, size_t size, int how) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), down = start & ~(page - 1);
    madvise((void *)down, size + (start - down), how); /* NOLINT(performance-no-int-to-ptr) */
}

void mem_fetch_to_write(void *p, size_t size) { fetch((uintptr_t)p, size, MADV_POPULATE_WRITE); }

void mem_fetch_to_read(const void *p, size_t size) {
    fetch((uintptr_t)p, size, MADV_POPULATE_READ);
}

void mem_leave_file(const void *p, size_t size) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = (uintptr_t)p + size;
    const uintptr_t start = ((uintptr_t)p + page - 1) & ~(page - 1);
    if (start < end) /* if the kernel refuses, nothing is lost */
        madvise((void *)start, (end & ~(page - 1)) - start,
                MADV_DONTNEED); /* NOLINT(performance-no-int-to-ptr) */
}

void *mem_map_whole(size_t size) {
    void *p = mem_map(size);
    mem_will_fill(p, size);
    return p;
}

void mem_unmap(void *pages, size_t size) { munmap(pages, size); }

/* The limit of the control group in version 2, as a container sees it; UINT64_MAX: none. */
static uint64_t group_limit(void) {
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "re");
    uint64_t bytes;
    bool found = f && fscanf(f, "%" SCNu64, &bytes) == 1;
    if (f)
        fclose(f);
    return found ? bytes : UINT64_MAX;
}

uint64_t mem_of_machine(void) {
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t limit = group_limit();
    return bytes < limit ? bytes : limit;
}

void mem_give_back(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Else glibc raises its limit to the size of what was freed last, up to 32 MB. */
void mem_map_large(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

char *mem_strdup(const char *text) {
    char *p = strdup(text);
    if (!p)
        die();
    return p;
}

char *mem_printf(const char *fmt, ...) {
    char *p = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&p, fmt, ap);
    va_end(ap);
    if (n < 0)
        die();
    return p;
}

enum { CHUNK_BYTES = 64 * 1024 };

struct chunk {
    struct chunk *next;
    size_t used, room;
    _Alignas(16) unsigned char bytes[];
};

struct arena {
    struct chunk *head;
};

struct arena *arena_new(void) {
    return mem_alloc(sizeof(struct arena));
}

void arena_free(struct arena *arena) {
    if (!arena)
        return;
    for (struct chunk *c = arena->head, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(arena);
}

void *arena_alloc(struct arena *arena, size_t size) {
    size = (size + 15) & ~(size_t)15;
    struct chunk *c = arena->head;
    if (!c || c->room - c->used < size) {
        size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
        c = mem_alloc(sizeof *c + room);
        c->room = room;
        c->next = arena->head;
        arena->head = c;
    }
    void *p = c->bytes + c->used;
    c->used += size;
    return p;
}

char *arena_strdup(struct arena *arena, const char *text) {
    size_t n = strlen(text) + 1;
    return memcpy(arena_alloc(arena, n), text, n);
}
