/* Calls that are known to nest: main > turn > step > leaf, or turn > leaf_of_turn. Its events come
 * faster than a small ring is read.
 *
 *     lost TURNS
 */
#include <stdio.h>
#include <stdlib.h>

#define FUNCTION __attribute__((noinline)) static

FUNCTION int leaf(int x) {
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

FUNCTION int leaf_of_turn(int x) {
    __asm__ volatile("" : "+r"(x));
    return x ^ 5;
}

FUNCTION int step(int x) {
    int sum = 0;
    for (int i = 0; i < 7; i++)
        sum += leaf(x + i);
    __asm__ volatile("" : "+r"(sum));
    return sum;
}

FUNCTION int turn(int x) {
    int sum = leaf_of_turn(x);
    for (int i = 0; i < 3; i++)
        sum ^= step(x + i);
    __asm__ volatile("" : "+r"(sum));
    return sum;
}

int main(int argc, char **argv) {
    int turns = argc > 1 ? atoi(argv[1]) : 100000, sum = 0;
    for (int i = 0; i < turns; i++)
        sum ^= turn(i);
    printf("%d\n", sum);
    return 0;
}
