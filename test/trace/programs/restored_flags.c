/*
 * Code that interrupts other code restores the flags right before it returns (Go's asyncPreempt).
 * Code that is interrupted between a comparison and its branch depends on these flags.
 */
#include <stdio.h>

#include "expect.h"

void restores(void);
__asm__(".globl restores\n"
        ".type restores, @function\n"
        "restores: .cfi_startproc\n"
        "pushfq\n"
        ".cfi_adjust_cfa_offset 8\n"
        "test %rsp, %rsp\n"
        "popfq\n"
        ".cfi_adjust_cfa_offset -8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size restores, . - restores");

/* Calls through a pointer, so that the compiler cannot know that flags are needed. */
static NOINLINE int are_equal(long a, long b) {
    ENTER;
    void (*volatile pointer)(void) = restores;
    unsigned char equal;
    expect_all("> restores", "< restores", NULL);
    __asm__ volatile("mov %%rsp, %%rbx\n"
                     "sub $256, %%rsp\n"
                     "cmp %2, %1\n"
                     "call *%3\n"
                     "sete %0\n"
                     "mov %%rbx, %%rsp"
                     : "=&a"(equal)
                     : "r"(a), "r"(b), "r"(pointer)
                     : "rbx", "cc", "memory");
    LEAVE;
    return equal;
}

int main(void) {
    ENTER;
    int sum = 0;
    for (long i = 0; i < 10; i++)
        sum += are_equal(i, i) + 100 * are_equal(i, i + 1);
    printf("%d\n", sum);
    LEAVE;
    expect_print();
    return sum != 10;
}
