/*
 * GNU C's nested functions: r10 holds the static chain, pointers to them lead through code on the
 * stack, and a nonlocal goto leaves frames.
 */
#include <stdio.h>

#include "expect.h"

static NOINLINE int apply(int (*function)(int), int n) {
    ENTER;
    int result = function(n) + function(n + 1);
    LEAVE;
    return result;
}

static NOINLINE int outer(int base) {
    ENTER;
    auto int addition(int n);
    NOINLINE int addition(int n) {
        expect('>', "addition.0");
        base += n;
        expect('<', "addition.0");
        return base;
    }
    int direct = addition(3);
    int result = apply(addition, direct);
    LEAVE;
    return result;
}

static NOINLINE int escape(int base) {
    __label__ out;
    ENTER;
    auto int leave(int n);
    NOINLINE int leave(int n) {
        expect('>', "leave.1");
        if (n > base) {
            expect_all("! leave.1", "! apply", NULL);
            goto out;
        }
        expect('<', "leave.1");
        return n;
    }
    int sum = 0;
    for (int i = 0;; i++)
        sum += apply(leave, i);
out:
    LEAVE;
    return base + 1;
}

int main(void) {
    ENTER;
    printf("%d\n", outer(10));
    printf("%d\n", escape(4));
    LEAVE;
    expect_print();
    return 0;
}
