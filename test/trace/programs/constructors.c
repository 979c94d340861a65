/*
 * Code that runs before and after main: constructors by priority, the preinit array, atexit
 * handlers, destructors.
 */
#include <stdio.h>
#include <stdlib.h>

#include "expect.h"

__attribute__((constructor(101))) static void first(void) {
    ENTER;
    LEAVE;
}

__attribute__((constructor(202))) static void second(void) {
    ENTER;
    LEAVE;
}

__attribute__((constructor)) static void third(void) {
    ENTER;
    LEAVE;
}

static NOINLINE void on_exit_first(void) {
    ENTER;
    LEAVE;
}

static NOINLINE void on_exit_second(void) {
    ENTER;
    LEAVE;
}

__attribute__((destructor)) static void finish(void) {
    ENTER;
    LEAVE;
}

__attribute__((destructor(101))) static void finish_last(void) {
    ENTER;
    LEAVE;
    expect_print();
}

static NOINLINE void before_all(void) {
    ENTER;
    LEAVE;
}

#ifndef NO_PREINIT
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = before_all;
#endif

int main(void) {
    ENTER;
    atexit(on_exit_second);
    atexit(on_exit_first);
    puts("main");
    LEAVE;
    return 0;
}
