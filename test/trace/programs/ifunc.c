/*
 * Indirect functions: the resolver runs before main, and the chosen function is called through the
 * PLT and through a pointer.
 */
#include <stdio.h>

#include "expect.h"

static volatile int zero, resolved;

NOINLINE static int slow(int n) { return n - 1 + zero; }
NOINLINE static int fast(int n) { return n + 1 + zero; }

/* May call nothing: in a static program relocation has not happened yet. */
__attribute__((used)) static int (*resolve(void))(int) {
    resolved++;
    return resolved < 100 ? fast : slow;
}

int choose(int n) __attribute__((ifunc("resolve")));

static int (*volatile pointer)(int) = choose;

int main(void) {
    for (int i = 0; i < resolved; i++)
        expect_all("> resolve", "< resolve", NULL);
    ENTER;
    int sum = 0;
    for (int i = 0; i < 5; i++) {
        expect_all("> fast", "< fast", "> fast", "< fast", NULL);
        sum += choose(i);
        sum += pointer(i);
    }
    printf("%d\n", sum);
    LEAVE;
    expect_print();
    return 0;
}
