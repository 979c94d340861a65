/* Prints "nested", and waits in main, a, b and c, one inside the other, until standard input ends.
 * Each of them ends some time after the inner one. */
#include <stdio.h>
#include <unistd.h>

static volatile int ended;

static void stay(void) {
    usleep(20000);
    ended++;
}

__attribute__((noinline)) static void c(void) {
    puts("nested");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    stay();
}

__attribute__((noinline)) static void b(void) {
    c();
    stay();
    ended++;
}

__attribute__((noinline)) static void a(void) {
    b();
    stay();
    ended++;
}

int main(void) {
    a();
    stay();
    return ended != 6;
}
