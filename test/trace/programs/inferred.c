/*
 * Calls with exits of every kind, one of which is not seen (inferred-code.S). main() does not
 * return.
 */
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

long leaver(long n);
long reached(long n);

static volatile int zero;
static jmp_buf place;

static NOINLINE void jumper(void) { longjmp(place, 1 + zero); }

static NOINLINE int target(int n) { return n * 3 + zero; }
NOINLINE int tail(int n);
NOINLINE int tail(int n) { return target(n + 1 + zero); }

static NOINLINE _Noreturn void never(void) {
    fflush(stdout);
    _exit(target(zero));
}

int main(void) {
    printf("%ld\n", leaver(5) + leaver(zero) + reached(1));
    if (!setjmp(place))
        jumper();
    printf("%d\n", tail(2));
    never();
}
