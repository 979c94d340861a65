/*
 * Runs with LD_AUDIT: each call of the C library goes through the dynamic linker, which keeps all
 * registers of arguments and results.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "expect.h"

static NOINLINE double sum(int n) {
    static const char *const numbers[] = {"0.5", "1e-3", "271.828", "-4"};
    double total = 0;
    ENTER;
    for (int i = 0; i < n; i++) {
        char text[64];
        int exponent;
        snprintf(text, sizeof text, "%s", numbers[i % 4]);
        double part = frexp(strtod(text, NULL), &exponent);
        snprintf(text, sizeof text, "%.17g %Lg %d %c", part, (long double)part * 3, exponent, 'x');
        total += strtod(text, NULL) + exponent + (double)strtold(text, NULL);
    }
    LEAVE;
    return total;
}

int main(void) {
    ENTER;
    printf("%.17g\n", sum(100));
    LEAVE;
    expect_print();
    return 3;
}
