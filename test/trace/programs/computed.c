/*
 * Jumps to addresses computed from a place in the same function (computed-code.S). They lead into
 * the middle of what would otherwise be one window. Each call still ends by the return behind the
 * slots.
 */
#include <stdio.h>

#include "expect.h"

int scaled(long n), added(long n), framed(long n);
#ifndef __PIE__
int absolute(long n);
#endif

int main(void) {
    ENTER;
    for (long n = 0; n < 8; n++) {
        printf("%d %d %d ", LEAF(scaled, n), LEAF(added, n), LEAF(framed, n));
#ifndef __PIE__
        printf("%d ", LEAF(absolute, n));
#endif
    }
    printf("\n");
    LEAVE;
    expect_print();
    return 0;
}
