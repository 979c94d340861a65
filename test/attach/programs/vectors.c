/*
 * Three threads hold numbers of their own in all vector registers while they call a function. This
 * includes SVE at its full width, with predicates and FFR. Each register must still hold its number
 * when standard input ends: then prints "right". Prints "cannot" if there is no SVE.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { THREADS = 3, MOST_BYTES = 256, VECTORS = 32, PREDICATES = 16, CALLS = 5000 };
enum { HAS_SVE = 1 << 22 };

struct vectors {
    uint8_t vectors[VECTORS * MOST_BYTES];                 /* consecutive, at their actual size */
    uint8_t predicates[(PREDICATES + 1) * MOST_BYTES / 8]; /* the last is FFR */
};

static atomic_bool over;

/* Loads all registers from HELD, calls step() so often, and stores all to FOUND. Returns the size
 * of a vector in bytes. */
uint64_t vectors_hold(const struct vectors *held, struct vectors *found, uint64_t calls);
__asm__(".pushsection .text\n"
        "    .arch armv8.2-a+sve\n"
        "    .macro each_vector op, at\n"
        "    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, "
        "22, 23, "
        "24, 25, 26, 27, 28, 29, 30, 31\n"
        "    \\op z\\n, [\\at, #\\n, mul vl]\n"
        "    .endr\n"
        "    .endm\n"
        "    .macro each_predicate op, at\n"
        "    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "    \\op p\\n, [\\at, #\\n, mul vl]\n"
        "    .endr\n"
        "    .endm\n"
        "    .globl step\n"
        "    .type step, %function\n"
        "step:\n"
        "    sub x2, x2, #1\n"
        "    cmp x2, #0\n"
        "    ret\n"
        "    .size step, . - step\n"
        "    .globl vectors_hold\n"
        "    .type vectors_hold, %function\n"
        "vectors_hold:\n"
        "    .cfi_startproc\n"
        "    stp x29, x30, [sp, #-80]!\n"
        "    .cfi_def_cfa_offset 80\n"
        "    .cfi_offset 29, -80\n"
        "    .cfi_offset 30, -72\n"
        "    stp d8, d9, [sp, #16]\n"
        "    stp d10, d11, [sp, #32]\n"
        "    stp d12, d13, [sp, #48]\n"
        "    stp d14, d15, [sp, #64]\n"
        "    add x3, x0, #0x2000\n"
        "    add x4, x1, #0x2000\n"
        "    ldr p0, [x3, #16, mul vl]\n"
        "    setffr\n"
        "    wrffr p0.b\n"
        "    each_predicate ldr, x3\n"
        "    each_vector ldr, x0\n"
        "1:  bl step\n"
        "    b.ne 1b\n"
        "    each_vector str, x1\n"
        "    each_predicate str, x4\n"
        "    rdffr p0.b\n"
        "    str p0, [x4, #16, mul vl]\n"
        "    rdvl x0, #1\n"
        "    ldp d8, d9, [sp, #16]\n"
        "    ldp d10, d11, [sp, #32]\n"
        "    ldp d12, d13, [sp, #48]\n"
        "    ldp d14, d15, [sp, #64]\n"
        "    ldp x29, x30, [sp], #80\n"
        "    ret\n"
        "    .cfi_endproc\n"
        "    .size vectors_hold, . - vectors_hold\n"
        "    .popsection\n");
_Static_assert(sizeof(((struct vectors *)0)->vectors) == 0x2000, "where predicates are");

static void lap(uint8_t seed) {
    struct vectors held, found;
    for (size_t i = 0; i < sizeof held; i++)
        ((uint8_t *)&held)[i] = (uint8_t)(i * 151 + i / 255 + seed);
    /* FFR holds ones first, then zeros. */
    memset(held.predicates, 0, sizeof held.predicates);
    uint64_t bytes;
    __asm__(".arch_extension sve\n\trdvl %0, #1" : "=r"(bytes));
    for (size_t i = 0; i < PREDICATES * bytes / 8; i++)
        held.predicates[i] = (uint8_t)(i * 89 + seed);
    memset(held.predicates + PREDICATES * bytes / 8, 0xff, bytes / 16);
    memset(&found, 0, sizeof found);
    vectors_hold(&held, &found, CALLS);
    if (memcmp(held.vectors, found.vectors, VECTORS * bytes) == 0 &&
        memcmp(held.predicates, found.predicates, (PREDICATES + 1) * bytes / 8) == 0)
        return;
    for (size_t i = 0; i < VECTORS * bytes; i++)
        if (held.vectors[i] != found.vectors[i]) {
            printf("wrong: byte %zu of z%zu\n", i % bytes, i / bytes);
            break;
        }
    printf("wrong: vectors, predicates or FFR\n");
    fflush(stdout);
    _Exit(1);
}

static void *holding(void *seed) {
    for (uint8_t n = *(uint8_t *)seed; !over; n += THREADS)
        lap(n);
    return NULL;
}

int main(void) {
    static uint8_t seeds[THREADS] = {0, 1, 2};
    pthread_t threads[THREADS];
    struct pollfd in = {.fd = 0, .events = POLLIN};
    if (!(getauxval(AT_HWCAP) & HAS_SVE)) {
        puts("cannot");
        return 0;
    }
    for (int i = 1; i < THREADS; i++)
        pthread_create(&threads[i], NULL, holding, &seeds[i]);
    puts("ready");
    fflush(stdout);
    for (uint8_t n = 0; poll(&in, 1, 0) == 0; n += THREADS)
        lap(n);
    over = true;
    for (int i = 1; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts("right");
    return 0;
}
