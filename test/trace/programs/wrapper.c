/*
 * The library that is loaded before wrapped.c. It wraps functions of the C library, and asks for
 * the next function of that name.
 */
#include <dlfcn.h>
#include <stdlib.h>

int rand(void) {
    static int (*next)(void);
    if (!next)
        next = (int (*)(void))dlsym(RTLD_NEXT, "rand");
    return next() % 1000 + 1000;
}

long random(void) {
    long (*next)(void) = (long (*)(void))dlsym(RTLD_NEXT, "random");
    return next() % 1000 + 2000;
}
