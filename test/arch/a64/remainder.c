/*
 * The agent makes the remainder of an interrupted system call (arch/remainder.h). The thread then
 * returns as from the call itself, with all registers, flags and vectors, also where the remainder
 * fails.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "arch/aarch64/aarch64.h"
#include "arch/aarch64/stub.h"
#include "arch/agent.h"
#include "arch/arm_agent.h"
#include "arch/remainder.h"

enum { WANTED = 100, DONE = 40, ROOM = 65536, END = 0x00000000 /* udf #0 */ };
enum { NZCV = (int)0xf0000000, STACK_AT = ROOM / 2 };

static uint8_t *area, *lane, *stack; /* the area ends with code that ends a run */
static char text[WANTED];
static int failures;
static void fail(const char *what, const char *why) {
    printf("%s: %s\n", what, why);
    failures++;
}

struct state {
    struct regs regs;
    struct user_fpsimd_struct vectors;
};

/* ---- runs with all registers set, by signal handlers ---- */

static const struct state *given;
static struct state taken;
static sigjmp_buf back;

static struct fpsimd_context *vectors_of(ucontext_t *uc) {
    struct _aarch64_ctx *head = (struct _aarch64_ctx *)uc->uc_mcontext.__reserved;
    while (head->magic && head->magic != FPSIMD_MAGIC)
        head = (struct _aarch64_ctx *)((char *)head + head->size);
    return (struct fpsimd_context *)head;
}

static void begin(int sig, siginfo_t *info, void *context) {
    ucontext_t *uc = context;
    (void)sig;
    (void)info;
    memcpy(uc->uc_mcontext.regs, given->regs.raw.regs, sizeof given->regs.raw.regs);
    uc->uc_mcontext.sp = given->regs.raw.sp;
    uc->uc_mcontext.pc = given->regs.raw.pc;
    uc->uc_mcontext.pstate = given->regs.raw.pstate;
    memcpy(vectors_of(uc)->vregs, given->vectors.vregs, sizeof given->vectors.vregs);
}

static void end(int sig, siginfo_t *info, void *context) {
    ucontext_t *uc = context;
    (void)sig;
    (void)info;
    memcpy(taken.regs.raw.regs, uc->uc_mcontext.regs, sizeof taken.regs.raw.regs);
    taken.regs.raw.sp = uc->uc_mcontext.sp;
    taken.regs.raw.pc = uc->uc_mcontext.pc;
    taken.regs.raw.pstate = uc->uc_mcontext.pstate;
    memcpy(taken.vectors.vregs, vectors_of(uc)->vregs, sizeof taken.vectors.vregs);
    siglongjmp(back, 1);
}

static void run(const struct state *in) {
    given = in;
    taken = (struct state){.vectors = {.fpsr = 0}};
    if (sigsetjmp(back, 1) == 0)
        raise(SIGUSR1);
}

static void set_up(void) {
    static uint8_t handlers_stack[65536];
    const stack_t on = {.ss_sp = handlers_stack, .ss_size = sizeof handlers_stack};
    const int flags = SA_SIGINFO | SA_ONSTACK;
    sigaltstack(&on, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_sigaction = begin, .sa_flags = flags}, NULL);
    sigaction(SIGILL, &(struct sigaction){.sa_sigaction = end, .sa_flags = flags}, NULL);
    sigaction(SIGSEGV, &(struct sigaction){.sa_sigaction = end, .sa_flags = flags}, NULL);
    uint8_t *map = mmap(NULL, 3 * ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        exit(1);
    area = map;
    lane = map + ROOM;
    stack = map + 2 * (size_t)ROOM;
    memcpy(area, a64_agent_bytes, a64_agent_size);
    __builtin___clear_cache((char *)area, (char *)area + ROOM);
}

/* ---- remainders ---- */

static taddr_t agent_at(void) { return (taddr_t)area + LANES_BYTES; }
static taddr_t end_at(void) { return (taddr_t)area + ROOM - A64_BYTES; }

static void compare(const char *what, const struct state *expected, const struct state *found) {
    char why[64];
    for (int i = 0; i < 31; i++)
        if (expected->regs.raw.regs[i] != found->regs.raw.regs[i]) {
            (void)snprintf(why, sizeof why, "x%d is %llx", i,
                           (unsigned long long)found->regs.raw.regs[i]);
            fail(what, why);
        }
    if (expected->regs.raw.pc != found->regs.raw.pc || expected->regs.raw.sp != found->regs.raw.sp)
        fail(what, "pc or sp have changed");
    if ((expected->regs.raw.pstate ^ found->regs.raw.pstate) & (unsigned)NZCV)
        fail(what, "flags have changed");
}

/* The state behind write(), which has done DONE bytes. */
static void fill(struct state *s, int seed) {
    for (int i = 0; i < 31; i++)
        s->regs.raw.regs[i] = (uint64_t)(i + seed) * 0x9e3779b97f4a7c15;
    for (size_t i = 0; i < sizeof s->vectors.vregs; i++)
        ((uint8_t *)s->vectors.vregs)[i] = (uint8_t)(i * 7 + (size_t)seed);
    s->vectors.fpsr = s->vectors.fpcr = 0;
    s->regs.raw.regs[0] = DONE;
    s->regs.raw.regs[1] = (uint64_t)text;
    s->regs.raw.regs[2] = WANTED;
    s->regs.raw.regs[8] = SYS_write;
    s->regs.raw.sp = (uint64_t)stack + STACK_AT;
    s->regs.raw.pc = end_at();
    s->regs.raw.pstate = (uint64_t)(seed & 15) << 28;
}

/* Turns REGS into those of the call's remainder; the call's first argument was FD. */
static void begin_remainder(struct state *s, int fd, struct remainder *remainder) {
    const struct remainder_place place = {agent_at(), (taddr_t)lane};
    const struct regs_extended extended = {(const uint8_t *)&s->vectors, sizeof s->vectors};
    struct remainder_call call;
    uint64_t args[CALL_ARGUMENTS];
    size_t size;
    if (remainder_needed(&s->regs, &call) != REMAINDER_OF_WRITING)
        fail("a call that has done a part", "has no remainder");
    call.args[0] = (uint64_t)fd;
    uint8_t *out = remainder_frame(remainder, &size);
    uint8_t *frame = malloc(regs_signal_frame_size(extended.size));
    regs_signal_frame(frame, (taddr_t)out, &s->regs, 0, &extended);
    memcpy(out, frame, size);
    free(frame);
    remainder_arguments(&call, args);
    remainder_begin(&s->regs, &place, &call, args, remainder);
}

/* The thread returns by itself. If the remainder has not begun or is over, the tool takes it out,
 * with the result SUM. */
static void check_remainder(const char *what, int fd, int seed, uint64_t sum) {
    struct remainder *remainder = &((struct lane *)lane)->remainder;
    struct remainder_call call;
    struct state expected, in;
    fill(&expected, seed);
    in = expected;
    begin_remainder(&in, fd, remainder);
    expected.regs.raw.regs[0] = sum;
    run(&in);
    compare(what, &expected, &taken);
    if (memcmp(expected.vectors.vregs, taken.vectors.vregs, sizeof taken.vectors.vregs) != 0)
        fail(what, "vectors have changed");
    if (!remainder_end(&in.regs, agent_at(), remainder, &call) || call.done != DONE)
        fail(what, "seems done before it begins");
    in.regs.raw.pc = agent_at() + agent_remainder().made + A64_BYTES;
    if (remainder_end(&in.regs, agent_at(), remainder, &call) || call.done != sum)
        fail(what, "does not end");
    compare(what, &expected, &in);
    in.regs.raw.pc = agent_at() + agent_remainder().made;
    in.regs.raw.regs[0] = 20;
    if (!remainder_end(&in.regs, agent_at(), remainder, &call) || call.done != DONE + 20)
        fail(what, "has no remainder after an interruption");
}

int main(void) {
    int ends[2];
    char got[WANTED];
    set_up();
    if (pipe(ends) < 0)
        return 1;
    memset(text, 'x', DONE);
    memset(text + DONE, 'y', WANTED - DONE);
    for (int seed = 0; seed < 8; seed++) {
        check_remainder("a rest", ends[1], seed, WANTED);
        if (read(ends[0], got, sizeof got) != WANTED - DONE || memchr(got, 'x', WANTED - DONE))
            fail("a rest", "writes something else");
        check_remainder("a rest that fails", 1000, seed, DONE);
    }
    return failures != 0;
}
