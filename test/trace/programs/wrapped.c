/* Calls functions of the C library that wrapper.c wraps. */
#include <stdio.h>
#include <stdlib.h>

#include "expect.h"

static NOINLINE long both(unsigned seed) {
    ENTER;
    srand(seed);
    long sum = rand() * 10000L + random();
    LEAVE;
    return sum;
}

int main(void) {
    ENTER;
    for (unsigned seed = 1; seed < 4; seed++)
        printf("%ld\n", both(seed));
    LEAVE;
    expect_print();
    return 0;
}
