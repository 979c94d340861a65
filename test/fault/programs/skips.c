/* Functions that begin with an instruction that traps; the handler goes on behind it, in one case
 * over padding into the next function. */
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "story.h"

int trap_and_seven(void), trap_alone(void), divide(int, int);
__asm__("    .text\n"
#ifdef __aarch64__
        "    .macro function name\n"
        "    .p2align 4\n"
        "    .globl \\name\n"
        "    .type \\name, %function\n"
        "\\name:\n"
        "    .cfi_startproc\n"
        "    .endm\n"
        "    .macro endf name\n"
        "    .cfi_endproc\n"
        "    .size \\name, . - \\name\n"
        "    .endm\n"
        "    function trap_and_seven\n"
        "    udf #0\n"
        "    mov w0, #7\n"
        "    ret\n"
        "    endf trap_and_seven\n"
        "    function divide\n"
        "    cbnz w1, 1f\n"
        "    brk #1\n"
        "1:  ret\n"
        "    endf divide\n"
        "    function trap_alone\n"
        "    udf #0\n"
        "    endf trap_alone\n"
        "    nop\n"
        "    .type nine, %function\n"
        "nine:\n"
        "    .cfi_startproc\n"
        "    mov w0, #9\n"
        "    ret\n"
        "    endf nine\n"
#else
        "    .p2align 4\n"
        "    .type trap_and_seven, @function\n"
        "trap_and_seven:\n"
        "    .cfi_startproc\n"
        "    ud2\n"
        "    mov $7, %eax\n"
        "    ret\n"
        "    .cfi_endproc\n"
        "    .size trap_and_seven, . - trap_and_seven\n"
        "    .p2align 4\n"
        "    .type divide, @function\n"
        "divide:\n"
        "    .cfi_startproc\n"
        "    xchg %edi, %eax\n"
        "    cltd\n"
        "    idiv %esi\n"
        "    ret\n"
        "    .cfi_endproc\n"
        "    .size divide, . - divide\n"
        "    .p2align 4\n"
        "    .type trap_alone, @function\n"
        "trap_alone:\n"
        "    .cfi_startproc\n"
        "    ud2\n"
        "    .cfi_endproc\n"
        "    .size trap_alone, . - trap_alone\n"
        "    .p2align 4\n"
        "    .type nine, @function\n"
        "nine:\n"
        "    .cfi_startproc\n"
        "    mov $9, %eax\n"
        "    ret\n"
        "    .cfi_endproc\n"
        "    .size nine, . - nine\n"
#endif
);

enum { THIRTEEN = 13, ROUNDS = 4 };
/* By a division by 0 on x86-64; that is no trap on AArch64, whose function has one instead. */
#ifdef __aarch64__
enum { TRAP_BYTES = 4, DIVIDE_AT = 4, DIVISION = SIGTRAP };
#define TRAP "\0\0\0\0"
#define DIVIDES "\x20\0\x20\xd4"
#define PC(context) (context)->uc_mcontext.pc
#define RESULT(context) (context)->uc_mcontext.regs[0]
#else
enum { TRAP_BYTES = 2, DIVIDE_AT = 2, DIVISION = SIGFPE };
#define TRAP "\x0f\x0b"
#define DIVIDES "\xf7\xfe"
#define PC(context) (context)->uc_mcontext.gregs[REG_RIP]
#define RESULT(context) (context)->uc_mcontext.gregs[REG_RAX]
#endif
static uintptr_t expected;

static void skip(int sig, siginfo_t *info, void *context) {
    ucontext_t *u = context;
    uintptr_t pc = (uintptr_t)PC(u);
    check((uintptr_t)info->si_addr == expected && pc == expected, "where the trap is");
    check(memcmp((void *)pc, sig == DIVISION ? DIVIDES : TRAP, TRAP_BYTES) == 0, "what is there");
    if (sig == DIVISION)
        RESULT(u) = THIRTEEN;
    PC(u) += TRAP_BYTES;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, NULL);
    sigaction(DIVISION, &action, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        expected = (uintptr_t)trap_and_seven;
        check(trap_and_seven() == 7, "what follows a trap");
        expected = (uintptr_t)divide + DIVIDE_AT;
        check(divide(5, i % 2) == (i % 2 ? 5 : 13), "a division");
        expected = (uintptr_t)trap_alone;
        check(trap_alone() == 9, "what follows the padding behind a trap");
    }
    check_work();
    return right();
}
