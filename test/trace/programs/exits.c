/* Calls functions with every form of exit (exits-code.S). */
#include "expect.h"

#include <stdio.h>

long ret_plain(long n), ret_rep(long n), ret_bnd(long n), exit_target(long n);
long ret_popping(void), ret_popping_bnd(void);
long call_popping(long n, long (*function)(void));
long tail_short(long n), tail_long(long n), tail_bnd(long n), tail_conditional(long n);
long tail_register(long n), tail_notrack(long n), tail_bnd_register(long n), tail_slot(long n);
long tail_notrack_slot(long n), tail_member(long n), tail_framed(long n);
long computes(long n), by_label(long n);

#define TAIL(function, n) tail(function, #function, n)

static NOINLINE long tail(long (*function)(long), const char *name, long n) {
    ENTER;
    expect('>', name);
    expect('<', name);
    expect_all("> exit_target", "< exit_target", NULL);
    long result = function(n);
    LEAVE;
    return result;
}

static NOINLINE long popping(long (*function)(void), const char *name, long n) {
    ENTER;
    expect('>', "call_popping");
    expect('>', name);
    expect('<', name);
    expect('<', "call_popping");
    long result = call_popping(n, function);
    LEAVE;
    return result;
}

int main(void) {
    ENTER;
    for (long n = 0; n < 4; n++) {
        printf("%ld %ld %ld\n", LEAF(ret_plain, n), LEAF(ret_rep, n), LEAF(ret_bnd, n));
        printf("%ld\n", popping(ret_popping, "ret_popping", n));
        printf("%ld\n", popping(ret_popping_bnd, "ret_popping_bnd", n));
        printf("%ld %ld\n", TAIL(tail_short, n), TAIL(tail_long, n));
        printf("%ld %ld\n", TAIL(tail_bnd, n), TAIL(tail_framed, n));
        printf("%ld %ld\n", TAIL(tail_register, n), TAIL(tail_notrack, n));
        printf("%ld %ld\n", TAIL(tail_bnd_register, n), TAIL(tail_member, n));
        printf("%ld %ld\n", TAIL(tail_slot, n), TAIL(tail_notrack_slot, n));
        printf("%ld\n", n ? LEAF(tail_conditional, n) : TAIL(tail_conditional, n));
        printf("%ld\n", LEAF(computes, n));
        printf("%ld\n", LEAF(by_label, n));
    }
    LEAVE;
    expect_print();
    return 0;
}
