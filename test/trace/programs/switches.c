/* Functions with jump tables: dense, sparse, computed goto, and small enough to be leaves. */
#include "expect.h"
#include <stdio.h>

static volatile int zero;

static NOINLINE int plain(int n) {
    switch (n) {
    case 0:
        return 17;
    case 1:
        return 4 + zero;
    case 2:
        return 91;
    case 3:
        return zero - 3;
    case 4:
        return 44;
    case 5:
        return zero * 2 + 1;
    case 6:
        return 7;
    case 7:
        return 12 - zero;
    default:
        return -1;
    }
}

static NOINLINE int add(int a, int b) { return a + b + zero; }
static NOINLINE int subtract(int a, int b) { return a - b + zero; }
static NOINLINE int multiply(int a, int b) { return a * b + zero; }

/* Each case calls; some do so by a tail call. */
static NOINLINE int calling(int n, int a) {
    ENTER;
    int result;
    switch (n) {
    case 0:
        result = LEAF(add, a, 1);
        break;
    case 1:
        result = LEAF(subtract, a, 2) + LEAF(add, a, 3);
        break;
    case 2:
        result = LEAF(multiply, a, 5);
        break;
    case 3:
        result = a;
        break;
    case 4:
        result = LEAF(add, a, 4);
        result = LEAF(multiply, result, 3);
        break;
    case 5:
        result = LEAF(subtract, 9, a);
        break;
    case 6:
        result = n + a;
        break;
    default:
        result = LEAF(add, n, a);
        break;
    }
    LEAVE;
    return result;
}

/* So long that T32's table has entries of two bytes. */
#define STEP(n, k) result = (result ^ (zero + (n))) * (2 * (k) + 3)
#define CASE(n)                                                                                    \
    case n:                                                                                        \
        STEP(n, 0);                                                                                \
        STEP(n, 1);                                                                                \
        STEP(n, 2);                                                                                \
        STEP(n, 3);                                                                                \
        STEP(n, 4);                                                                                \
        STEP(n, 5);                                                                                \
        result = LEAF(add, result, n);                                                             \
        break
static NOINLINE unsigned longer(int n) {
    ENTER;
    unsigned result = 1;
    switch (n) {
        CASE(0);
        CASE(1);
        CASE(2);
        CASE(3);
        CASE(4);
        CASE(5);
        CASE(6);
        CASE(7);
    default:
        result = 5;
    }
    LEAVE;
    return result;
}

static NOINLINE int sparse(int n) {
    ENTER;
    int result;
    switch (n) {
    case -1000:
        result = LEAF(add, n, 1);
        break;
    case 3:
        result = 3;
        break;
    case 77:
        result = LEAF(multiply, n, 2);
        break;
    case 100000:
        result = zero;
        break;
    default:
        result = -7;
        break;
    }
    LEAVE;
    return result;
}

/* A small interpreter with threaded code. */
static NOINLINE int interpret(const unsigned char *code) {
    static const void *const table[] = {&&op_halt, &&op_increment, &&op_double, &&op_call,
                                        &&op_back};
    int value = 0, laps = 0;
    ENTER;
    const unsigned char *pc = code;
    goto *table[*pc++];
op_increment:
    value++;
    goto *table[*pc++];
op_double:
    value *= 2;
    goto *table[*pc++];
op_call:
    value = LEAF(add, value, 10);
    goto *table[*pc++];
op_back:
    if (laps++ < 5)
        pc = code;
    goto *table[*pc++];
op_halt:
    LEAVE;
    return value;
}

int main(void) {
    static const unsigned char code[] = {1, 2, 3, 1, 4, 2, 0};
    ENTER;
    for (int n = -1; n < 10; n++) {
        int small = LEAF(plain, n);
        printf("%d %d %u\n", small, calling(n, n * 3), longer(n));
    }
    static const int sparse_values[] = {-1000, 3, 77, 100000, 5};
    for (int i = 0; i < 5; i++)
        printf("%d\n", sparse(sparse_values[i]));
    printf("%d\n", interpret(code));
    LEAVE;
    expect_print();
    return 0;
}
