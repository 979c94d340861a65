/*
 * Recursion 100 000 calls deep, with data in the frames. There are too many calls for marks, so
 * calls are only counted.
 */
#include <stdio.h>
#include <string.h>

#include "expect.h"

enum { DEPTH = 100000 };

static volatile unsigned char last;

static NOINLINE unsigned long descend(unsigned n) {
    unsigned char room[40];
    memset(room, (int)n, sizeof room);
    last = room[n % sizeof room];
    return n ? descend(n - 1) + room[1] : 0;
}

int main(void) {
    printf("%lu\n", descend(DEPTH));
    printf("calls: descend %d\n", DEPTH + 1);
    return 0;
}
