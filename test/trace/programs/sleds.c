/*
 * A program with XRay's sleds at entries, returns and tail jumps (clang -fxray-instrument). It does
 * the first half of patching them by itself. Then its runtime patches and unpatches them, alone and
 * while threads run through them. The runtime's handler counts its events. The calls are the same
 * in all cases.
 *
 * Functions named after "shared" have no room beside a sled: a branch also leads to their return,
 * or they consist of sleds. Events in a sled are lost while the sled is patched, so the calls of
 * these functions are compared only while it is not.
 */
#include "expect.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define UNSEEN __attribute__((xray_never_instrument))

/* xray/xray_interface.h */
enum { SLED_ENTRY, SLED_EXIT, SLED_TAIL, KINDS = 8, STATUS_SUCCESS = 1 };
int __xray_set_handler(void (*handler)(int32_t function, int kind));
int __xray_remove_handler(void);
int __xray_patch(void);
int __xray_unpatch(void);

static volatile int zero;
static volatile long seen[KINDS];

UNSEEN static void count(int32_t function, int kind) {
    (void)function;
    __atomic_fetch_add(&seen[kind & (KINDS - 1)], 1, __ATOMIC_RELAXED);
}

NOINLINE int target(int n) {
    ENTER;
    int result = n * 3 + zero;
    LEAVE;
    return result;
}

NOINLINE int jumps(int n) {
    ENTER;
    int twice = n * 2 + zero;
    LEAVE;
    return target(twice);
}

NOINLINE int recursive(int n) {
    ENTER;
    int result = n ? recursive(n - 1) + n : zero;
    LEAVE;
    return result;
}

NOINLINE double wide(double a, double b, float c) {
    ENTER;
    double result = a * b + (double)c + zero;
    LEAVE;
    return result;
}

/* Functions without marks of their own. */
NOINLINE int leaf(int n) { return n * 5 + zero; }
NOINLINE int picks(int n) {
    switch (n) {
    case 0:
        return zero + 4;
    case 1:
        return zero * 3;
    case 2:
        return zero - 7;
    case 3:
        return leaf(n);
    default:
        zero = 0;
        return 1;
    }
}
NOINLINE void shared_early(int n) {
    if (n > 3)
        return;
    target(n);
    zero = 0;
}
NOINLINE void shared_empty(void) { __asm__ volatile(""); }
NOINLINE int unnamed_early(int n) {
    if (n & 1)
        zero = 0;
    return n + zero;
}
NOINLINE void unnamed_empty(void) { __asm__ volatile(""); }

UNSEEN static void run_shared(int n) {
    expect('>', "shared_early");
    shared_early(n);
    expect('<', "shared_early");
    expect('>', "shared_empty");
    shared_empty();
    expect('<', "shared_empty");
}

UNSEEN static void run_all(bool touched) {
    int sum = jumps(4) + recursive(3) + target(1) + (int)wide(1.5, 4.0, 0.25f);
    for (int n = 0; n < 6; n++) {
        sum += LEAF(picks, n == 3 ? 0 : n);
        sum += LEAF(leaf, n);
        if (!touched)
            run_shared(n);
        sum += unnamed_early(n);
        unnamed_empty();
    }
    printf("%d\n", sum);
}

UNSEEN static void must(int status) {
    if (status != STATUS_SUCCESS)
        abort();
}

/* An entry of the runtime's sled map (version 2). */
struct sled {
    intptr_t offset, function; /* from here */
    uint8_t kind, always, version, padding[2 * sizeof(intptr_t) - 3];
};
extern struct sled __start_xray_instr_map[], __stop_xray_instr_map[];

#if defined(__aarch64__)
enum { SLED_HEAD = 4, SLED_BYTES = 32 };
#elif defined(__arm__)
enum { SLED_HEAD = 4, SLED_BYTES = 28 };
#else
enum { SLED_HEAD = 2, SLED_BYTES = 11 };
#endif
enum { MOST_SLEDS = 128, PAGE = 4096, BREAKPOINT = 0xcc };

UNSEEN static uint8_t *place(const struct sled *s) { return (uint8_t *)&s->offset + s->offset; }

UNSEEN static void protect(const uint8_t *low, const uint8_t *high, int how) {
    uintptr_t start = (uintptr_t)low & ~(uintptr_t)(PAGE - 1);
    if (mprotect((void *)start, (uintptr_t)high - start, how))
        abort();
}

/* The runtime writes the later bytes of a sled before its head, while other threads run. Whatever
 * these bytes are, the sleds must have no effect. */
UNSEEN static void run_half_patched(void) {
    static uint8_t saved[MOST_SLEDS][SLED_BYTES];
    const size_t count = (size_t)(__stop_xray_instr_map - __start_xray_instr_map);
    uint8_t *low = place(__start_xray_instr_map), *high = low;
    for (size_t i = 0; i < count; i++) {
        uint8_t *at = place(&__start_xray_instr_map[i]);
        low = at < low ? at : low;
        high = at > high ? at : high;
    }
    if (count > MOST_SLEDS)
        abort();
    protect(low, high + SLED_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (size_t i = 0; i < count; i++) {
        uint8_t *rest = place(&__start_xray_instr_map[i]) + SLED_HEAD;
        memcpy(saved[i], rest, SLED_BYTES - SLED_HEAD);
        memset(rest, BREAKPOINT, SLED_BYTES - SLED_HEAD);
    }
    run_all(false);
    for (size_t i = 0; i < count; i++)
        memcpy(place(&__start_xray_instr_map[i]) + SLED_HEAD, saved[i], SLED_BYTES - SLED_HEAD);
    protect(low, high + SLED_BYTES, PROT_READ | PROT_EXEC);
}

/* Prints the handler's counts of one run, which include the functions that set marks. */
UNSEEN static void run_patched(void) {
    for (int i = 0; i < KINDS; i++)
        seen[i] = 0;
    must(__xray_patch());
    run_all(true);
    must(__xray_unpatch());
    printf("handled %ld entries, %ld exits, %ld tail exits\n", seen[SLED_ENTRY], seen[SLED_EXIT],
           seen[SLED_TAIL]);
}

enum { THREADS = 3, CALLS = 500, FLIPS = 20 };

NOINLINE int busy_leaf(int n) { return n * 7 + zero; }
NOINLINE int busy_jump(int n) { return busy_leaf(n + 1 + zero); }

static int running;

UNSEEN static void *work(void *result) {
    long sum = 0;
    for (int i = 0; i < CALLS; i++) {
        sum += busy_jump(i) + unnamed_early(i);
        unnamed_empty();
    }
    *(long *)result = sum;
    __atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
    return NULL;
}

UNSEEN static void run_threads(void) {
    pthread_t threads[THREADS];
    long results[THREADS];
    running = THREADS;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &results[i]);
    for (int i = 0; i < FLIPS && __atomic_load_n(&running, __ATOMIC_ACQUIRE); i++) {
        must(__xray_patch());
        must(__xray_unpatch());
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld %ld %ld\n", results[0], results[1], results[2]);
    printf("calls: busy_leaf %d\ncalls: busy_jump %d\n", THREADS * CALLS, THREADS * CALLS);
}

UNSEEN int main(void) {
    run_all(false);
    run_half_patched();
    __xray_set_handler(count);
    run_patched();
    run_threads();
    __xray_remove_handler();
    run_all(true); /* the events in patched sleds are lost for good */
    expect_print();
    return 0;
}
