/*
 * A stack moves while calls are open on it, as Go's stacks do, and its new place touches the old
 * one. Returns have other stack pointers than their entries. See moving-code.S.
 */
#include <stdio.h>

#include "expect.h"

enum { STACK_BYTES = 4096, STACKS = 8, DEPTH = 5, ROUNDS = 3 };

static unsigned char stacks[STACKS][STACK_BYTES] __attribute__((aligned(STACK_BYTES)));
unsigned char *next_stack = stacks[0];
int freed_stacks;

void on_stack(unsigned char *top, int n);
unsigned char *first_stack(void);

static NOINLINE void round_trip(void) {
    ENTER;
    expect_all("> first_stack", "> runtime.stackalloc", "< runtime.stackalloc", "< first_stack",
               NULL);
    unsigned char *top = first_stack();
    expect('>', "on_stack");
    expect_stack(1);
    for (int i = 0; i <= DEPTH; i++)
        expect('>', "deep");
    expect_all("> runtime.copystack", "> runtime.stackalloc", "< runtime.stackalloc",
               "> runtime.stackfree", "< runtime.stackfree", "< runtime.copystack", NULL);
    for (int i = 0; i <= DEPTH; i++)
        expect('<', "deep");
    expect_stack(0);
    expect('<', "on_stack");
    on_stack(top, DEPTH);
    LEAVE;
}

int main(void) {
    ENTER;
    for (int i = 0; i < ROUNDS; i++)
        round_trip();
    printf("%d stacks moved\n", freed_stacks);
    LEAVE;
    expect_print();
    return 0;
}
