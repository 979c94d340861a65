/*
 * A program whose code is all guarded (test/guest/start.S): an indirect branch must reach a landing
 * instruction, or raises SIGILL. It has landing instructions of each kind, and functions that sign
 * their return addresses or the addresses that they call and jump to. One function has no landing
 * instruction and is never entered.
 */
#include "expect.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <ucontext.h>

enum { SKIP = 77, BTYPE = 0xc00 /* of PSTATE: the last instruction was an indirect branch */ };

typedef int function(int n);
function lands_call, lands_both, lands_jump, signs, signs_returning, unmarked;
typedef int hopping(int n, function *to); /* jumps to TO at its end, or calls it */
hopping hop, hop_signed, hop_zero, hop_other_key, calls_signed;
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
    "begin hop; bti c; br x1; end hop\n\t" /* not through x16 or x17, which end calls */
    "begin hop_signed; bti c; pacia x1, x2; braa x1, x2; end hop_signed\n\t"
    "begin hop_zero; bti c; paciza x1; braaz x1; end hop_zero\n\t"
    "begin hop_other_key; bti c; pacib x1, sp; brab x1, sp; end hop_other_key\n\t"
    "begin calls_signed\n\t"
    "pacibsp; .cfi_b_key_frame; .cfi_negate_ra_state\n\t"
    "stp x29, x30, [sp, #-16]!; .cfi_def_cfa_offset 16; .cfi_offset 30, -8; .cfi_offset 29, -16\n\t"
    "pacia x1, x2; blraa x1, x2\n\t"
    "ldp x29, x30, [sp], #16; .cfi_def_cfa_offset 0; .cfi_restore 29; .cfi_restore 30\n\t"
    "retab; end calls_signed\n\t"
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
static const struct {
    const char *name;
    hopping *by;
} hops[] = {{"hop", hop},
            {"hop_signed", hop_signed},
            {"hop_zero", hop_zero},
            {"hop_other_key", hop_other_key}};

/* Jumps reach each landing instruction, and so does a call of a signed address. */
static NOINLINE int hop_about(void) {
    int sum = 0;
    ENTER;
    for (int h = 0; h < 4; h++)
        for (int i = 0; i < 2; i++) {
            expect('>', hops[h].name);
            expect('<', hops[h].name);
            expect('>', jumped[i].name);
            sum += hops[h].by(0, jumped[i].to);
            expect('<', jumped[i].name);
        }
    expect_all("> calls_signed", "> lands_both", "< lands_both", "< calls_signed", NULL);
    sum += calls_signed(0, lands_both);
    LEAVE;
    return sum;
}

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
    sum += hop_about();
    to(0);
    LEAVE;
    printf("%d, refused %d\n", sum, refused);
    if (!refused)
        abort(); /* nothing is guarded, so the test shows nothing */
    expect_print();
    return 0;
}
