/*
 * Runs classic BPF, as seccomp takes it (seccomp_check_filter() in kernel/seccomp.c), over values
 * of which some are unknown.
 *
 * Jumps lead forward only. So one pass in order suffices: all paths to an instruction are known
 * when it comes. Where paths meet, values that differ are unknown. A condition on an unknown value
 * goes both ways. So all possible paths are covered, and perhaps some impossible ones.
 */
#include <linux/seccomp.h>
#include <string.h>

#include "arch/host.h"
#include "target/sandbox.h"

struct value {
    bool known;
    uint32_t bits;
};

enum { WORDS = sizeof(struct seccomp_data) / 4 };

struct state { /* before an instruction */
    bool reached;
    struct value a, x, memory[BPF_MEMWORDS];
};

struct run {
    const struct sock_filter *code;
    size_t count;
    struct state *states;       /* by instruction */
    struct value input[WORDS];  /* struct seccomp_data */
    enum sandbox_answer answer; /* the worst so far */
};

static struct value known(uint32_t bits) { return (struct value){true, bits}; }

static void set_input(struct run *r, const struct sandbox_call *call) {
    enum { NUMBER, ARCHITECTURE, PLACE, ARGUMENTS = PLACE + 2 };
    r->input[NUMBER] = known((uint32_t)call->number);
    r->input[ARCHITECTURE] = known(REGS_AUDIT_ARCH);
    for (unsigned i = 0; i < 6; i++)
        if (!(call->unknown >> i & 1)) {
            uint64_t arg = (regs_word_t)call->args[i]; /* as wide as a register */
            r->input[ARGUMENTS + 2 * i] = known((uint32_t)arg);
            r->input[ARGUMENTS + 2 * i + 1] = known((uint32_t)(arg >> 32));
        }
}

static void merge(struct value *into, struct value other) {
    into->known = into->known && other.known && into->bits == other.bits;
}

/* Merges STATE into the state before instruction AT. A filter that runs off its end would be
 * refused by the kernel. */
static void arrive(struct run *r, size_t at, const struct state *state) {
    struct state *target = at < r->count ? &r->states[at] : NULL;
    if (!target) {
        r->answer = SANDBOX_HARMS;
    } else if (!target->reached) {
        *target = *state;
    } else {
        merge(&target->a, state->a);
        merge(&target->x, state->x);
        for (size_t i = 0; i < BPF_MEMWORDS; i++)
            merge(&target->memory[i], state->memory[i]);
    }
}

static void answer(struct run *r, struct value v) {
    enum sandbox_answer now = SANDBOX_HARMS;
    uint32_t action = v.bits & SECCOMP_RET_ACTION_FULL;
    if (v.known && (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG))
        now = SANDBOX_ALLOWS;
    else if (v.known && action == SECCOMP_RET_ERRNO)
        now = SANDBOX_FAILS;
    r->answer = now > r->answer ? now : r->answer;
}

static struct value load(const struct run *r, const struct state *s, const struct sock_filter *in) {
    switch (BPF_MODE(in->code)) {
    case BPF_IMM:
        return known(in->k);
    case BPF_ABS:
        return in->k % 4 == 0 && in->k / 4 < WORDS ? r->input[in->k / 4] : (struct value){0};
    case BPF_LEN:
        return known(sizeof(struct seccomp_data));
    case BPF_MEM:
        return in->k < BPF_MEMWORDS ? s->memory[in->k] : (struct value){0};
    default:
        return (struct value){0};
    }
}

static uint32_t compute(uint16_t operation, uint32_t a, uint32_t b) {
    switch (operation) {
    case BPF_ADD:
        return a + b;
    case BPF_SUB:
        return a - b;
    case BPF_MUL:
        return a * b;
    case BPF_DIV:
        return b ? a / b : 0;
    case BPF_AND:
        return a & b;
    case BPF_OR:
        return a | b;
    case BPF_XOR:
        return a ^ b;
    case BPF_LSH:
        return a << (b & 31);
    case BPF_RSH:
        return a >> (b & 31);
    default: /* BPF_NEG */
        return -a;
    }
}

/* A division by 0 answers 0, which kills (bpf_convert_filter() in net/core/filter.c). */
static void calculate(struct run *r, struct state *s, const struct sock_filter *in) {
    struct value b = BPF_SRC(in->code) == BPF_X ? s->x : known(in->k);
    bool alone = BPF_OP(in->code) == BPF_NEG;
    if (BPF_OP(in->code) == BPF_DIV && !(b.known && b.bits))
        answer(r, known(0));
    s->a.known = s->a.known && (alone || b.known);
    if (s->a.known)
        s->a.bits = compute(BPF_OP(in->code), s->a.bits, b.bits);
}

static bool holds(uint16_t condition, uint32_t a, uint32_t b) {
    switch (condition) {
    case BPF_JEQ:
        return a == b;
    case BPF_JGT:
        return a > b;
    case BPF_JGE:
        return a >= b;
    default: /* BPF_JSET */
        return a & b;
    }
}

static void jump(struct run *r, size_t at, const struct state *s) {
    const struct sock_filter *in = &r->code[at];
    uint16_t condition = BPF_OP(in->code);
    struct value b = BPF_SRC(in->code) == BPF_X ? s->x : known(in->k);
    if (condition == BPF_JA) {
        arrive(r, at + 1 + in->k, s);
        return;
    }
    bool decided = s->a.known && b.known;
    bool is = decided && holds(condition, s->a.bits, b.bits);
    if (!decided || is)
        arrive(r, at + 1 + in->jt, s);
    if (!decided || !is)
        arrive(r, at + 1 + in->jf, s);
}

static void step(struct run *r, size_t at) {
    const struct sock_filter *in = &r->code[at];
    struct state s = r->states[at];
    switch (BPF_CLASS(in->code)) {
    case BPF_RET:
        answer(r, BPF_RVAL(in->code) == BPF_A ? s.a : known(in->k));
        return;
    case BPF_JMP:
        jump(r, at, &s);
        return;
    case BPF_LD:
        s.a = load(r, &s, in);
        break;
    case BPF_LDX:
        s.x = load(r, &s, in);
        break;
    case BPF_ST:
    case BPF_STX:
        if (in->k < BPF_MEMWORDS)
            s.memory[in->k] = BPF_CLASS(in->code) == BPF_ST ? s.a : s.x;
        break;
    case BPF_ALU:
        calculate(r, &s, in);
        break;
    default:
        if (BPF_MISCOP(in->code) == BPF_TAX)
            s.x = s.a;
        else
            s.a = s.x;
    }
    arrive(r, at + 1, &s);
}

enum sandbox_answer filter_answer(const struct sock_filter *code, size_t count,
                                  const struct sandbox_call *call) {
    AUTO_FREE struct state *states = mem_alloc((count + 1) * sizeof *states);
    struct run r = {.code = code, .count = count, .states = states, .answer = SANDBOX_ALLOWS};
    set_input(&r, call);
    arrive(&r, 0, &(struct state){.reached = true, .a = known(0), .x = known(0)});
    for (size_t i = 0; i < count; i++)
        if (states[i].reached)
            step(&r, i);
    return r.answer;
}
