/*
 * Part of spoor_backtrace.c: memory of the program, and the state in which its code is followed.
 *
 * Code is followed instruction by instruction, for what it does to the stack pointer, to the
 * registers that functions keep for their callers, and to what is saved of them; what it computes
 * else becomes "not known". Two uses:
 *
 *   forward   from where a frame stands to a return, with the registers as they are and the stack
 * as it is; on return the caller's registers are those of the state virtual   from a function's
 * start, where each register holds a tag of its own and the stack is a range of addresses that does
 * not exist; behind the prologue the slots tell what was saved where, and how deep the stack is
 *
 * What followed code stores to the stack is kept in slots: memory is never written.
 */
#ifndef SPOOR_SIM_H
#define SPOOR_SIM_H

#include "spoor_backtrace.h"

#if defined(__arm__)
#define HAVE_ARM 1
#define HAVE_A64 0
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define HAVE_A32 0
#define HAVE_M 1
#else
#define HAVE_A32 1
#define HAVE_M 0
#endif
#elif defined(__aarch64__)
#define HAVE_ARM 0
#define HAVE_A32 0
#define HAVE_M 0
#define HAVE_A64 1
#else
#define HAVE_ARM 1
#define HAVE_A32 1
#define HAVE_M 1
#define HAVE_A64 1
#endif

#define IS_A64(image) (HAVE_A64 && (!HAVE_ARM || (image)->isa == SPOOR_ISA_A64))
#define IS_M(image) (HAVE_M && (!HAVE_A32 || (image)->isa == SPOOR_ISA_M))
#define SP_OF(image) (IS_A64(image) ? (unsigned)SPOOR_A64_SP : (unsigned)SPOOR_SP)
#define PC_OF(image) (IS_A64(image) ? (unsigned)SPOOR_A64_PC : (unsigned)SPOOR_PC)
#define LR_OF(image) (IS_A64(image) ? 30u : (unsigned)SPOOR_LR)
#define WORD_OF(image) (IS_A64(image) ? 8u : 4u)
#define BIT(n) ((spoor_word)1 << (n))

/* Of a virtual state: no program has these addresses and values. */
#define VIRTUAL_SP ((spoor_word)0xd1ce0000u)
#define VIRTUAL_DEPTH 0x8000u
#define VIRTUAL_TAG ((spoor_word)0xd0d0b100u)

enum { SLOTS = 24 };

struct slot {
    spoor_word at, value;
};

struct sim_registers {
    spoor_word r[SPOOR_REGS];
    spoor_word known;
    spoor_word loaded; /* bit n: r[n] was read from the stack itself: a save of the frame, maybe */
};

struct sim {
    const struct spoor_walk *walk;
    struct sim_registers now;
    spoor_word target; /* of a branch */
    struct slot slot[SLOTS];
    uint32_t slot_known; /* bit n: what slot[n] holds is */
    uint8_t slots;
    uint8_t is_virtual;
    uint8_t it;      /* instructions left of a T32 IT block */
    uint8_t at_trap; /* it began at an instruction that traps */
    uint8_t reg;     /* of STEP_RETURN: the register with the address */
    uint8_t size;    /* of the instruction */
};

enum step {
    STEP_NEXT,
    STEP_DEAD,        /* it cannot be followed any further */
    STEP_CALL,        /* it comes back, with what calls do not keep unknown */
    STEP_BRANCH,      /* to target */
    STEP_FORK,        /* to target, or the next */
    STEP_RETURN,      /* to r[reg], whatever that is */
    STEP_MAYBE_RETURN /* the next, or a return */
};

static int is_in(spoor_word at, size_t size, spoor_word low, spoor_word high) {
    return at >= low && at < high && high - at >= size;
}

/* Copies memory within the bounds: text, tables, and the stack of the frame. 0, or else. */
static int read_bytes(const struct spoor_walk *walk, spoor_word at, void *to, size_t size) {
    const struct spoor_image *image = walk->image;
    if (!is_in(at, size, image->text_low, image->text_high) &&
        !is_in(at, size, image->exidx_low, image->exidx_high) &&
        !is_in(at, size, walk->stack.low, walk->stack.high))
        return -1;
    if (image->read)
        return image->read(image->arg, at, to, size);
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)to)[i] = ((const volatile uint8_t *)(uintptr_t)at)[i];
    return 0;
}

static int read_u16(const struct spoor_walk *walk, spoor_word at, uint16_t *ret_value) {
    uint16_t value;
    if (read_bytes(walk, at, &value, 2))
        return -1;
    *ret_value = value;
    return 0;
}

static int read_u32(const struct spoor_walk *walk, spoor_word at, uint32_t *ret_value) {
    uint32_t value;
    if (read_bytes(walk, at, &value, 4))
        return -1;
    *ret_value = value;
    return 0;
}

static int read_word(const struct spoor_walk *walk, spoor_word at, spoor_word *ret_value) {
    spoor_word value = 0; /* little-endian, as all of these processors run today */
    if (read_bytes(walk, at, &value, WORD_OF(walk->image)))
        return -1;
    *ret_value = value;
    return 0;
}

static int is_known(const struct sim *sim, unsigned n) { return (sim->now.known >> n) & 1; }

static void forget(struct sim *sim, spoor_word bits) {
    sim->now.known &= ~bits;
    sim->now.loaded &= ~bits;
}

static void set_known(struct sim *sim, unsigned n, spoor_word value) {
    sim->now.r[n] = HAVE_ARM && !IS_A64(sim->walk->image) ? (uint32_t)value : value;
    sim->now.known |= BIT(n);
    sim->now.loaded &= ~BIT(n);
}

/* to = from + add, of unknown values unknown. */
static void set_sum(struct sim *sim, unsigned to, unsigned from, spoor_word add) {
    if (!is_known(sim, from)) {
        forget(sim, BIT(to));
        return;
    }
    spoor_word loaded = add == 0 && ((sim->now.loaded >> from) & 1);
    set_known(sim, to, sim->now.r[from] + add);
    sim->now.loaded |= loaded << to;
}

/* May the program's stack be there, or become that? */
static int is_stack(const struct sim *sim, spoor_word at) {
    const struct spoor_stack *stack = &sim->walk->stack;
    spoor_word low = stack->low < VIRTUAL_DEPTH ? 0 : stack->low - VIRTUAL_DEPTH;
    if (sim->is_virtual)
        return at - (VIRTUAL_SP - VIRTUAL_DEPTH) <= 2 * VIRTUAL_DEPTH;
    return at >= low && at <= stack->high;
}

/* What register n holds goes to the stack; 0, or else when there is no slot left. */
static int store(struct sim *sim, unsigned n, spoor_word at) {
    unsigned i = 0;
    while (i < sim->slots && sim->slot[i].at != at)
        i++;
    if (i == SLOTS)
        return -1;
    if (i == sim->slots)
        sim->slots++;
    sim->slot[i].at = at;
    sim->slot[i].value = sim->now.r[n];
    sim->slot_known &= ~(1u << i);
    sim->slot_known |= (uint32_t)is_known(sim, n) << i;
    return 0;
}

/* Register n comes from memory; unknown when that is no stack, or was never written. */
static void load(struct sim *sim, unsigned n, spoor_word at) {
    spoor_word value;
    forget(sim, BIT(n));
    for (unsigned i = 0; i < sim->slots; i++)
        if (sim->slot[i].at == at) {
            if (sim->slot_known >> i & 1)
                set_known(sim, n, sim->slot[i].value);
            return;
        }
    if (sim->is_virtual || !is_in(at, 1, sim->walk->stack.low, sim->walk->stack.high) ||
        read_word(sim->walk, at, &value))
        return;
    set_known(sim, n, value);
    sim->now.loaded |= BIT(n);
}

/* What calls need not keep. */
static void forget_call(struct sim *sim) {
    forget(sim, IS_A64(sim->walk->image) ? 0x4007ffff : 0x500f);
}

#if HAVE_ARM
enum { MANY_LOAD = 1, MANY_BACK = 2, MANY_UP = 4, MANY_BEFORE = 8 };

/* LDM and STM of the registers in LIST, in each of their modes. */
static enum step transfer_many(struct sim *sim, unsigned base, uint32_t list, unsigned mode) {
    uint32_t size = 0, from = (uint32_t)sim->now.r[base], at, back;
    for (uint32_t rest = list; rest; rest &= rest - 1)
        size += 4;
    back = mode & MANY_UP ? from + size : from - size;
    at = (mode & MANY_UP ? from : back) + (!(mode & MANY_UP) == !(mode & MANY_BEFORE) ? 4 : 0);
    int follow = is_known(sim, base) && is_stack(sim, from);
    if (mode & MANY_BACK)
        set_sum(sim, base, base, back - from);
    for (unsigned n = 0; n < 16; n++) {
        if (!((list >> n) & 1))
            continue;
        if (!follow && (mode & MANY_LOAD))
            forget(sim, BIT(n));
        else if (follow && (mode & MANY_LOAD))
            load(sim, n, at);
        else if (follow && store(sim, n, at))
            return STEP_DEAD;
        at += 4;
    }
    if (!(mode & MANY_LOAD) || !(list & 0x8000))
        return STEP_NEXT;
    sim->reg = SPOOR_PC;
    return STEP_RETURN;
}
#endif

#endif
