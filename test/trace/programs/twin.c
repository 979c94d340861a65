/*
 * One of two libraries (TWIN is a or b) whose functions lie at the same places under different
 * names.
 */
#include "expect.h"

#define PASTE(a, b) a##b
#define NAMED(twin, rest) PASTE(twin, rest)
#define OWN(rest) NAMED(TWIN, rest)

int twin_pick(int n);
int OWN(_work)(int n);
int OWN(_pick)(int n);
int OWN(_other)(int n);

static volatile int zero;
enum { a = 1, b = 2 };

__attribute__((constructor)) static void OWN(_begin)(void) { zero = 100; }
__attribute__((destructor)) static void OWN(_end)(void) { zero = 0; }

NOINLINE static int OWN(_help)(int n) { return n * TWIN + zero; }
NOINLINE int OWN(_pick)(int n) { return n + TWIN + zero; }
NOINLINE int OWN(_other)(int n) { return n - TWIN - zero; }

/* Runs when the library is relocated, and again at dlsym(). */
__attribute__((used)) static int (*OWN(_resolve)(void))(int) {
    return zero ? OWN(_other) : OWN(_pick);
}
#define TEXT(s) #s
#define STRING(s) TEXT(s)
int twin_pick(int n) __attribute__((ifunc(STRING(NAMED(TWIN, _resolve)))));

int OWN(_work)(int n) { return OWN(_help)(n + zero - 100) * twin_pick(n) + 1; }
