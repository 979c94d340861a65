/* Functions that begin with an instruction that traps; the handler goes on behind it, in one case
 * over padding into the next function. */
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "story.h"

int trap_and_seven(void), trap_alone(void), divide(int, int);
__asm__("    .text\n"
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
        "    .size nine, . - nine\n");

enum { TRAP_BYTES = 2, DIVIDE_AT = 2, THIRTEEN = 13, ROUNDS = 4 };
static uintptr_t expected;

static void skip(int sig, siginfo_t *info, void *context) {
    ucontext_t *u = context;
    uintptr_t pc = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
    const char *there = sig == SIGFPE ? "\xf7\xfe" : "\x0f\x0b";
    check((uintptr_t)info->si_addr == expected && pc == expected, "where the trap is");
    check(memcmp((void *)pc, there, TRAP_BYTES) == 0, "what is there");
    if (sig == SIGFPE)
        u->uc_mcontext.gregs[REG_RAX] = THIRTEEN;
    u->uc_mcontext.gregs[REG_RIP] += TRAP_BYTES;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
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
