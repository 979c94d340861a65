/* Sets and reads all registers of code under test in signal handlers. */
#include "machine.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "arch/arm/psr.h"

enum { GENERAL = 17, END_A32 = (int)0xe7f0def0, END_T32 = 0xde01, PSR_GE = 0xf0000 };

int machine_failures;
static const struct machine *given;
static struct machine *taken;
static bool running, with_info;
static uint64_t blocked; /* the signal mask where the code ended */
static ucontext_t own;   /* where machine_run() continues */

static void *pointer(uint32_t at) { return (void *)(uintptr_t)at; } /* NOLINT: a number given */

static void get(const ucontext_t *uc, struct machine *m) {
    const uint32_t *records = (const uint32_t *)uc->uc_regspace;
    memcpy(m->regs.raw.uregs, &uc->uc_mcontext.arm_r0, GENERAL * sizeof(uint32_t));
    memcpy(m->vectors, records + 2, sizeof m->vectors);
    m->vector_control = records[2 + 2 * 32];
}

static void set(ucontext_t *uc, const struct machine *m) {
    uint32_t *records = (uint32_t *)uc->uc_regspace;
    memcpy(&uc->uc_mcontext.arm_r0, m->regs.raw.uregs, GENERAL * sizeof(uint32_t));
    memcpy(records + 2, m->vectors, sizeof m->vectors);
    records[2 + 2 * 32] = m->vector_control;
}

static void begin(int sig, siginfo_t *info, void *context) {
    ucontext_t *uc = context;
    (void)sig;
    (void)info;
    own = *uc;
    set(uc, given);
    running = true;
}

/* A fault of the program itself ends it. */
static void end(int sig, siginfo_t *info, void *context) {
    ucontext_t *uc = context;
    (void)info;
    if (!running) {
        (void)signal(sig, SIG_DFL);
        return;
    }
    running = false;
    get(uc, taken);
    memcpy(&blocked, &uc->uc_sigmask, sizeof blocked);
    *uc = own;
}

/* Handlers find the frame at their stack pointer, and the compiler moves that first of all. */
struct machine_entry entered;
__asm__(".globl machine_enter\n.type machine_enter, %function\n.arm\nmachine_enter:\n"
        "movw r3, #:lower16:entered\nmovt r3, #:upper16:entered\n"
        "str sp, [r3]\nstr lr, [r3, #4]\nb machine_entered");
void machine_enter(int sig, siginfo_t *info, void *context);
void machine_entered(int sig, siginfo_t *info, void *context);
static void (*looker)(struct machine_entry entry);

/* Without a siginfo_t there is no context argument either; the context is where the frame is. */
void machine_entered(int sig, siginfo_t *info, void *context) {
    struct machine_entry entry = entered;
    looker(entry);
    end(sig, info, with_info ? context : pointer(entry.sp));
}

static const int ends[] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS};

void machine_look(bool info, void (*look)(struct machine_entry entry)) {
    struct sigaction action = {.sa_sigaction = look ? machine_enter : end,
                               .sa_flags = (info ? SA_SIGINFO : 0) | SA_ONSTACK};
    looker = look;
    with_info = info;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        sigaction(ends[i], &action, NULL);
}

uint64_t machine_mask(void) { return blocked; }

void machine_open(void) {
    static uint8_t handlers_stack[65536];
    const stack_t stack = {.ss_sp = handlers_stack, .ss_size = sizeof handlers_stack};
    struct sigaction action = {.sa_sigaction = begin, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    void *map = mmap(pointer(GROUND), GROUND_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (map != pointer(GROUND)) {
        perror("no memory for code");
        exit(1);
    }
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    machine_look(true, NULL);
    machine_clear();
}

void machine_write(uint32_t at, const void *bytes, size_t size) {
    memcpy(pointer(at), bytes, size);
    __builtin___clear_cache(pointer(at), pointer(at + (uint32_t)size));
}

void machine_clear(void) {
    const uint32_t word = (uint32_t)END_A32;
    for (uint32_t at = CODE_LOW; at < CODE_HIGH; at += sizeof word)
        memcpy(pointer(at), &word, sizeof word);
    __builtin___clear_cache(pointer(CODE_LOW), pointer(CODE_HIGH));
}

void machine_end(uint32_t at, bool t32) {
    const uint32_t a32 = (uint32_t)END_A32;
    const uint16_t half = (uint16_t)END_T32;
    if (t32)
        machine_write(at, &half, sizeof half);
    else
        machine_write(at, &a32, sizeof a32);
}

void machine_run(const struct machine *in, struct machine *out) {
    given = in;
    taken = out;
    *out = (struct machine){.vector_control = 0};
    raise(SIGUSR1);
}

static uint32_t next(uint32_t *state) { /* xorshift, Marsaglia 2003 */
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

void machine_fill(struct machine *m, uint32_t seed) {
    uint32_t state = 2463534242U + seed * 7919U;
    *m = (struct machine){.vector_control = 0};
    for (int i = 0; i < 15; i++)
        m->regs.raw.uregs[i] = next(&state);
    for (int i = 0; i < 32; i++)
        m->vectors[i] = (uint64_t)next(&state) << 32 | next(&state);
    m->regs.raw.uregs[13] = STACK;
    m->regs.raw.uregs[PSR] = (seed & 15) << 28 | PSR_USER;
}

void machine_fail(const char *what, const char *detail) {
    printf("%s: %s\n", what, detail);
    machine_failures++;
}

void machine_compare(const char *what, const struct machine *expected,
                     const struct machine *found) {
    const uint32_t compared = PSR_NZCVQ | PSR_T32 | PSR_BLOCK | PSR_GE;
    char text[96];
    for (int i = 0; i < GENERAL; i++) {
        uint32_t mask = i == PSR ? compared : UINT32_MAX;
        uint32_t e = expected->regs.raw.uregs[i] & mask, f = found->regs.raw.uregs[i] & mask;
        if (e == f)
            continue;
        (void)snprintf(text, sizeof text, "register %d is %x, not %x", i, (unsigned)f, (unsigned)e);
        machine_fail(what, text);
        return;
    }
    if (memcmp(expected->vectors, found->vectors, sizeof found->vectors) != 0 ||
        expected->vector_control != found->vector_control)
        machine_fail(what, "vectors have changed");
}

bool machine_read(const void *from, taddr_t at, regs_word_t *ret) {
    (void)from;
    memcpy(ret, pointer((uint32_t)at), sizeof *ret);
    return true;
}
