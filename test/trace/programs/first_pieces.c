/*
 * Two timers fire while functions are called whose first instruction is written anew as several, or
 * is an exit itself. The number of calls of each goes to the file that the first argument names.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

enum { CALLS = 24000, SIGNALS = 100, ALARM_US = 4000, SAMPLE_US = 15000, STEP = 7 };

#if defined __x86_64__
#define FUNCTION(name, first)                                                                      \
    ".globl " #name "\n.type " #name ", @function\n.balign 16\n" #name ":\n.cfi_startproc\n" first \
    "\n.cfi_endproc\n.size " #name ", . - " #name "\n"
#define BEGIN ".text\n"
#define END ".section .rodata\n.balign 8\nfirst_constant: .quad 7\n.text\n"
#define BODY "\nlea (%rdi,%rax), %rax\nret"
#define LITERAL "mov first_constant(%rip), %rax" BODY
#define ADDRESS "lea first_constant(%rip), %rax\nmov (%rax), %rax" BODY
#define EMPTY "ret"
#define TAIL "jmp first_empty"
#elif defined __aarch64__
#define FUNCTION(name, first)                                                                      \
    ".globl " #name "\n.type " #name ", %function\n.balign 16\n" #name ":\n.cfi_startproc\n" first \
    "\n.cfi_endproc\n.size " #name ", . - " #name "\n"
#define BEGIN ".text\n"
#define END ".section .rodata\n.balign 8\n.word 0\nfirst_constant: .quad 7\n.text\n"
#define BODY "\nadd x0, x0, x1\nret"
#define LITERAL "ldr x1, first_constant" BODY
#define ADDRESS "adr x1, first_constant\nldr x1, [x1]" BODY
#define EMPTY "ret"
#define TAIL "b first_empty"
#else
#define FUNCTION(name, first)                                                                      \
    ".globl " #name "\n.type " #name ", %function\n.balign 4\n" STATE #name ":\n.fnstart\n" first  \
    "\n.fnend\n.size " #name ", . - " #name "\n"
#ifdef __thumb__
#define STATE ".thumb\n.thumb_func\n"
#else
#define STATE ".arm\n"
#endif
#define BEGIN ".syntax unified\n.text\n"
#define END ""
#define BODY "\nadd r0, r0, r1\nbx lr\n.balign 4\n1: .word 7"
#define LITERAL "ldr r1, 1f" BODY
#define ADDRESS "adr r1, 1f\nldr r1, [r1]" BODY
#define EMPTY "bx lr"
#define TAIL "b first_empty"
#endif

__asm__(BEGIN FUNCTION(first_literal, LITERAL) FUNCTION(first_address, ADDRESS)
            FUNCTION(first_empty, EMPTY) FUNCTION(first_tail, TAIL) END);
long first_literal(long), first_address(long), first_empty(long), first_tail(long);

static volatile sig_atomic_t signals;

static void on_signal(int sig) {
    (void)sig;
    signals++;
}

static void set_timer(int which, int signal_number, int us) {
    const struct itimerval often = {{0, us}, {0, us}};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(signal_number, &action, NULL);
    setitimer(which, &often, NULL);
}

int main(int argc, char **argv) {
    const struct itimerval never = {{0, 0}, {0, 0}};
    long calls = 0, sum = 0;
    set_timer(ITIMER_REAL, SIGALRM, ALARM_US);
    set_timer(ITIMER_PROF, SIGPROF, SAMPLE_US);
    for (; calls < CALLS || signals < SIGNALS; calls++) {
        sum = first_address(first_literal(sum)) - 2 * STEP;
        (void)first_empty(sum);
        (void)first_tail(sum);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    setitimer(ITIMER_PROF, &never, NULL);
    FILE *f = argc == 2 ? fopen(argv[1], "w") : NULL;
    if (!f || sum)
        return 1;
    fprintf(f, "first_literal %ld\nfirst_address %ld\nfirst_empty %ld\nfirst_tail %ld\n", calls,
            calls, 2 * calls, calls);
    puts("right");
    return fclose(f) != 0;
}
