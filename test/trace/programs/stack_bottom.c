/*
 * A stack's first function was called by no function. It returns to a nop, one instruction behind
 * the beginning of another function, which looks like the place behind a call (Go's goexit).
 */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "expect.h"

enum { STACK_BYTES = 65536, ROUNDS = 3 };

extern jmp_buf back;
void bottom(void);

#ifdef __aarch64__
#define FILL
#define CODE_OF_BOTTOM "    nop\n    bl at_end\n    nop\n"
#define CODE_OF_AT_END                                                                             \
    "    adrp x0, back\n    add x0, x0, :lo12:back\n    mov w1, #1\n    b longjmp\n"
enum { NOP_BYTES = 4 };
#else
#define FILL ", 0xcc"
#define CODE_OF_BOTTOM "    nop\n    call at_end\n    nop\n"
#define CODE_OF_AT_END "    lea back(%rip), %rdi\n    mov $1, %esi\n    jmp longjmp@PLT\n"
enum { NOP_BYTES = 1 };
#endif
#define FUNCTION(name)                                                                             \
    ".globl " name "; .type " name ", %function; .p2align 4" FILL "\n" name ": .cfi_startproc\n"
#define END(name) ".cfi_endproc; .size " name ", . - " name "\n"

__asm__(".text\n" FUNCTION("bottom") CODE_OF_BOTTOM END("bottom") FUNCTION("at_end")
            CODE_OF_AT_END END("at_end"));

jmp_buf back;
static void (*volatile beginning)(void) = bottom; /* read at run time only */

static NOINLINE void work(void) {
    ENTER;
    LEAVE;
}

int main(void) {
    ENTER;
    /* far enough from the first stack to count as another */
    uintptr_t place = (uintptr_t)__builtin_frame_address(0) - ((uintptr_t)64 << 32);
    char *stack = mmap((void *)(place & ~(uintptr_t)4095), STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (stack == MAP_FAILED)
        return 77;
    for (volatile int i = 0; i < ROUNDS; i++) {
        if (!setjmp(back)) {
            expect_stack(1);
            uintptr_t *top = (uintptr_t *)(void *)(stack + STACK_BYTES - 32),
                      to = (uintptr_t)beginning + NOP_BYTES;
#ifdef __aarch64__
            __asm__ volatile("mov sp, %0; mov x30, %1; br %2" ::"r"(top), "r"(to), "r"(work)
                             : "x30", "memory");
#else
            *++top = to;
            __asm__ volatile("mov %0, %%rsp; jmp *%1" ::"r"(top), "r"(work) : "memory");
#endif
        }
        expect_all("> at_end", "< at_end", NULL);
        expect_stack(0);
    }
    LEAVE;
    expect_print();
    return 0;
}
