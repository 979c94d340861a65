/*
 * Frames of varying size: alloca, variable-length arrays, frames of more than a page, aligned
 * frames, stack protectors.
 */
#include <alloca.h>
#include <stdio.h>
#include <string.h>

#include "expect.h"

static volatile int zero;

static NOINLINE int sum_bytes(const unsigned char *at, int count) {
    int total = zero;
    for (int i = 0; i < count; i++)
        total += at[i];
    return total;
}

static NOINLINE int grow(int n) {
    ENTER;
    unsigned char *room = alloca((size_t)n * 100 + 1);
    memset(room, n, (size_t)n * 100 + 1);
    int total = LEAF(sum_bytes, room, n * 100);
    if (n > 0)
        total += grow(n - 1);
    total += LEAF(sum_bytes, room, 1);
    LEAVE;
    return total;
}

static NOINLINE int variable(int n) {
    ENTER;
    int total = 0;
    for (int i = 1; i <= n; i++) {
        unsigned char room[i * 33];
        memset(room, i, sizeof room);
        total += LEAF(sum_bytes, room, (int)sizeof room);
    }
    LEAVE;
    return total;
}

static NOINLINE int huge(int n) {
    unsigned char room[50000];
    ENTER;
    memset(room, n, sizeof room);
    int total = LEAF(sum_bytes, room, sizeof room);
    if (n > 0)
        total += huge(n - 1);
    LEAVE;
    return total;
}

static NOINLINE int aligned(int n) {
    _Alignas(256) unsigned char room[256];
    ENTER;
    memset(room, n, sizeof room);
    int total = LEAF(sum_bytes, room, sizeof room) + (int)((size_t)room % 256);
    if (n > 0)
        total += aligned(n - 1);
    LEAVE;
    return total;
}

static NOINLINE int guarded(int n) {
    unsigned char room[64];
    ENTER;
    memset(room, n, sizeof room);
    int total = LEAF(sum_bytes, room, sizeof room);
    LEAVE;
    return total;
}

int main(void) {
    ENTER;
    printf("%d\n", grow(20));
    printf("%d\n", variable(20));
    printf("%d\n", huge(5));
    printf("%d\n", aligned(5));
    printf("%d\n", guarded(9));
    LEAVE;
    expect_print();
    return 0;
}
