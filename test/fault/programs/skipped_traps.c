/*
 * Functions that begin with a trapping instruction. The handler resumes behind it, in one case over
 * padding into the next function.
 */
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "self_check.h"

/* T32 code of 32-bit Arm has other traps than A32 code. */
#if defined __aarch64__
#define STATE
#define RESULT_REGISTER "w0"
#define RETURN "ret"
#define UNLESS_ZERO "cbnz w1, 1f"
#define BREAKPOINT "brk #1"
#elif defined __arm__
#define RESULT_REGISTER "r0"
#define RETURN "bx lr"
#define UNLESS_ZERO "cmp r1, #0\n    bne 1f"
#ifdef __thumb__
#define STATE ".syntax unified\n    .thumb\n    .thumb_func"
#define BREAKPOINT "udf #1"
#else
#define STATE ".arm"
#define BREAKPOINT "udf #16"
#endif
#endif

int trap_and_seven(void), trap_alone(void), divide(int, int);
__asm__("    .text\n"
#if defined __aarch64__ || defined __arm__
        "    .macro function name\n"
        "    .p2align 4\n"
        "    " STATE "\n"
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
        "    mov " RESULT_REGISTER ", #7\n"
        "    " RETURN "\n"
        "    endf trap_and_seven\n"
        "    function divide\n"
        "    " UNLESS_ZERO "\n"
        "    " BREAKPOINT "\n"
        "1:  " RETURN "\n"
        "    endf divide\n"
        "    function trap_alone\n"
        "    udf #0\n"
        "    endf trap_alone\n"
        "    nop\n"
        "    .type nine, %function\n"
        "nine:\n"
        "    .cfi_startproc\n"
        "    mov " RESULT_REGISTER ", #9\n"
        "    " RETURN "\n"
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
/* Traps by a division by 0 on x86-64; on Arm that is no trap, so a trap instruction replaces it. */
#if defined __aarch64__
enum { TRAP_BYTES = 4, DIVIDE_AT = 4, DIVISION = SIGTRAP };
#define TRAP "\0\0\0\0"
#define DIVIDES "\x20\0\x20\xd4"
#define PC(context) (context)->uc_mcontext.pc
#define RESULT(context) (context)->uc_mcontext.regs[0]
#elif defined __arm__
#ifdef __thumb__
enum { TRAP_BYTES = 2, DIVIDE_AT = 4, DIVISION = SIGTRAP };
#define TRAP "\0\xde"
#define DIVIDES "\1\xde"
#else
enum { TRAP_BYTES = 4, DIVIDE_AT = 8, DIVISION = SIGTRAP };
#define TRAP "\xf0\0\xf0\xe7"
#define DIVIDES "\xf0\1\xf0\xe7"
#endif
#define PC(context) (context)->uc_mcontext.arm_pc
#define RESULT(context) (context)->uc_mcontext.arm_r0
#else
enum { TRAP_BYTES = 2, DIVIDE_AT = 2, DIVISION = SIGFPE };
#define TRAP "\x0f\x0b"
#define DIVIDES "\xf7\xfe"
#define PC(context) (context)->uc_mcontext.gregs[REG_RIP]
#define RESULT(context) (context)->uc_mcontext.gregs[REG_RAX]
#endif
static uintptr_t expected;

/* The address of a function's code: without the lowest bit of T32 functions. */
static uintptr_t code_of(uintptr_t function) {
#ifdef __arm__
    function &= ~(uintptr_t)1;
#endif
    return function;
}

static void skip(int sig, siginfo_t *info, void *context) {
    ucontext_t *u = context;
    uintptr_t pc = (uintptr_t)PC(u);
    check((uintptr_t)info->si_addr == expected && pc == expected, "where the trap is");
    check(memcmp((void *)pc, sig == DIVISION ? DIVIDES : TRAP, TRAP_BYTES) == 0,
          "the bytes of the trap");
    if (sig == DIVISION)
        RESULT(u) = THIRTEEN;
    PC(u) += TRAP_BYTES;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, NULL);
    sigaction(DIVISION, &action, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        expected = code_of((uintptr_t)trap_and_seven);
        check(trap_and_seven() == 7, "what follows a trap");
        expected = code_of((uintptr_t)divide) + DIVIDE_AT;
        check(divide(5, i % 2) == (i % 2 ? 5 : 13), "a division");
        expected = code_of((uintptr_t)trap_alone);
        check(trap_alone() == 9, "what follows the padding behind a trap");
    }
    check_work();
    return right();
}
