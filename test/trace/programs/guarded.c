/*
 * All of its code is guarded (test/guest/start.S): who comes by a register must land on an
 * instruction for that, or gets SIGILL. Landing instructions of each kind, functions that sign
 * their return addresses, and one that has none and is never entered.
 */
#include "expect.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <ucontext.h>

enum { SKIP = 77, BTYPE = 0xc00 /* of PSTATE: that a jump is to land */ };

typedef int function(int n);
function lands_call, lands_both, lands_jump, signs, signs_returning, unmarked;
int hop(int n, function *to);
__asm__(
    ".text\n\t"
    ".macro begin name\n\t"
    ".globl \\name\n\t"
    ".type \\name, %function\n"
    "\\name: .cfi_startproc\n\t"
    ".endm\n\t"
    ".macro end name\n\t"
    ".cfi_endproc\n\t"
    ".size \\name, . - \\name\n\t"
    ".endm\n\t"
    "begin lands_call; bti c; add w0, w0, #1; ret; end lands_call\n\t"
    "begin lands_both; bti jc; add w0, w0, #2; ret; end lands_both\n\t"
    "begin lands_jump; bti j; add w0, w0, #4; ret; end lands_jump\n\t"
    "begin hop; bti c; br x1; end hop\n\t" /* not by x16 or x17, with which calls are ended */
    "begin signs\n\t"
    "paciasp; .cfi_negate_ra_state\n\t"
    "stp x29, x30, [sp, #-16]!; .cfi_def_cfa_offset 16; .cfi_offset 30, -8; .cfi_offset 29, -16\n\t"
    "add w0, w0, #8\n\t"
    "ldp x29, x30, [sp], #16; .cfi_def_cfa_offset 0; .cfi_restore 29; .cfi_restore 30\n\t"
    "autiasp; .cfi_negate_ra_state\n\t"
    "ret; end signs\n\t"
    "begin signs_returning\n\t"
    "paciasp; .cfi_negate_ra_state; add w0, w0, #16; retaa; end signs_returning\n\t"
    "begin unmarked; add w0, w0, #32; ret; end unmarked");

static volatile int refused;

static NOINLINE void on_fault(int signal, siginfo_t *info, void *context) {
    ENTER;
    ucontext_t *c = context;
    refused += signal == SIGILL && info->si_addr == (void *)unmarked;
    c->uc_mcontext.pc = c->uc_mcontext.regs[30];
    c->uc_mcontext.pstate &= ~(unsigned long)BTYPE;
    LEAVE;
}

static const struct {
    const char *name;
    function *to;
} called[] = {{"lands_call", lands_call},
              {"lands_both", lands_both},
              {"signs", signs},
              {"signs_returning", signs_returning}},
  jumped[] = {{"lands_jump", lands_jump}, {"lands_both", lands_both}};

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    function *volatile to = unmarked;
    int sum = 0;
    if (!(getauxval(AT_HWCAP2) & HWCAP2_BTI) || !(getauxval(AT_HWCAP) & HWCAP_PACA))
        return SKIP;
    ENTER;
    sigaction(SIGILL, &action, NULL);
    for (int i = 0; i < 4; i++) {
        expect('>', called[i].name);
        sum += called[i].to(0);
        expect('<', called[i].name);
    }
    for (int i = 0; i < 2; i++) {
        expect_all("> hop", "< hop", NULL);
        expect('>', jumped[i].name);
        sum += hop(0, jumped[i].to);
        expect('<', jumped[i].name);
    }
    to(0);
    LEAVE;
    printf("%d, refused %d\n", sum, refused);
    if (!refused)
        abort(); /* nothing is guarded, so nothing was shown */
    expect_print();
    return 0;
}
