/*
 * Stacks that grow in pieces (-fsplit-stack). A function that finds no room for its frame runs on a
 * new piece, and returns through code of the compiler's. Tested are deep calls, repeated calls at
 * the border of a piece, variable frames, longjmp, and threads. For the first thread the kernel
 * chooses where the pieces lie. For the others this program does: downwards, upwards, interleaved,
 * or around the thread's first piece.
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "expect.h"

enum { DEPTH = 30, THREADS = 3, STACK_BYTES = 128 * 1024, BITS = 9, SLOT_BYTES = 40 * 1024 };
enum { SLOTS = 1 << BITS, HALF_BYTES = SLOTS / 2 * SLOT_BYTES };

static __thread struct {
    char *low; /* NULL: anywhere. Otherwise half of the slots, the thread's first stack, and the
                  other half */
    int way;
    unsigned used;
} place;

/* The slot of piece number N. */
static __attribute__((no_split_stack)) unsigned slot(int way, unsigned number) {
    unsigned reversed = 0;
    for (unsigned i = 0; i < BITS; i++)
        reversed |= (number >> i & 1) << (BITS - 1 - i);
    return way == 0 ? SLOTS - 1 - number : way == 1 ? number : reversed;
}

static __attribute__((no_split_stack)) long call_mmap(void *addr, size_t size, int prot,
                                                      int flags) {
    register long r10 __asm__("r10") = flags, r8 __asm__("r8") = -1, r9 __asm__("r9") = 0;
    long ret;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(SYS_mmap), "D"(addr), "S"(size), "d"(prot), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}

/* Replaces the C library's mmap(): the program's code that makes pieces calls it. */
__attribute__((no_split_stack)) void *mmap(void *addr, size_t size, int prot, int flags, int fd,
                                           off_t offset) {
    (void)fd;
    (void)offset;
    if (place.low) {
        unsigned at = slot(place.way, place.used++);
        if (place.used > SLOTS || size > SLOT_BYTES)
            __builtin_trap();
        addr = place.low + (size_t)at * SLOT_BYTES + (at < SLOTS / 2 ? 0 : STACK_BYTES);
        flags |= MAP_FIXED;
    }
    return (void *)call_mmap(addr, size, prot, flags);
}

static volatile int zero;
static __thread jmp_buf back;

static NOINLINE long fill(unsigned char *room, long bytes) {
    memset(room, 1, (size_t)bytes);
    return room[bytes / 2] + zero;
}

static NOINLINE long deep(int depth) {
    unsigned char room[5000];
    ENTER;
    long sum = LEAF(fill, room, sizeof room) + (depth ? deep(depth - 1) : 0);
    LEAVE;
    return sum;
}

/* Whatever room was left, one of these calls crosses the border of a piece. */
static NOINLINE long at_border(int depth) {
    unsigned char room[900];
    ENTER;
    long sum = depth;
    for (int i = 0; i < 2; i++)
        sum += LEAF(fill, room, sizeof room);
    if (depth)
        sum += at_border(depth - 1);
    LEAVE;
    return sum;
}

static NOINLINE long varies(int depth) {
    ENTER;
    unsigned char *room = alloca((size_t)depth * 1000 + 1);
    long sum = LEAF(fill, room, depth * 1000 + 1);
    if (depth)
        sum += varies(depth - 1);
    LEAVE;
    return sum;
}

static NOINLINE int jump(int depth) {
    unsigned char room[5000];
    ENTER;
    if (LEAF(fill, room, sizeof room) + depth > 1)
        return jump(depth - 1) + room[zero];
    for (int i = 0; i <= 10; i++)
        UNWOUND;
    longjmp(back, 1);
}

static NOINLINE long returns_twice(void) {
    volatile long count = 0;
    ENTER;
    if (setjmp(back) != 0)
        count++;
    if (count < 3)
        jump(10);
    LEAVE;
    return count;
}

static NOINLINE long everything(void) {
    ENTER;
    long sum = deep(DEPTH);
    for (int i = 0; i < 3; i++)
        sum = sum * 3 + at_border(DEPTH);
    sum = sum * 3 + varies(20);
    sum = sum * 3 + returns_twice();
    LEAVE;
    return sum;
}

static char *rooms[THREADS];

static NOINLINE void *body(void *argument) {
    long *result = argument;
    expect_thread((int)*result);
    ENTER;
    place.way = (int)*result - 1;
    place.low = rooms[place.way];
    *result = everything();
    LEAVE;
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    long results[THREADS];
    pthread_attr_t inside;
    ENTER;
    pthread_attr_init(&inside);
    for (int i = 0; i < THREADS; i++) {
        results[i] = i + 1;
        rooms[i] = mmap(NULL, 2L * HALF_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        pthread_attr_setstack(&inside, rooms[i] + HALF_BYTES, STACK_BYTES);
        pthread_create(&threads[i], &inside, body, &results[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", everything());
    for (int i = 0; i < THREADS; i++)
        printf("%ld\n", results[i]);
    LEAVE;
    expect_print();
    return 0;
}
