/*
 * Unreadable pages in the middle of threads' own stacks, as runtimes put them there to detect deep
 * recursion. Calls below them work as usual.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 50 };
#define NOINLINE __attribute__((noinline))

static volatile int sum;

static NOINLINE void leaf(int n) { sum += n; }

static NOINLINE void below(int n) {
    for (int i = 0; i < ROUNDS; i++)
        leaf(n);
}

/* There are two of these pages: calls reach the inner one later. */
static NOINLINE int above(int depth) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char room[2 * size];
    char *page = (char *)(((uintptr_t)room + size - 1) / size * size);
    if (mprotect(page, size, PROT_NONE))
        return 1;
    below(depth);
    int failed = depth > 1 ? above(depth - 1) : 0;
    below(depth);
    return mprotect(page, size, PROT_READ | PROT_WRITE) || failed;
}

static void *run(void *failed) {
    *(int *)failed = above(2);
    leaf(1);
    return NULL;
}

int main(void) {
    int failed[2] = {1, 1};
    pthread_t thread;
    run(&failed[0]);
    if (pthread_create(&thread, NULL, run, &failed[1]) || pthread_join(thread, NULL))
        return 1;
    printf("%d\n", sum);
    return failed[0] || failed[1];
}
