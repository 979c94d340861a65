/*
 * Part of spoor_backtrace.c: memory of the program, and the state in which its code is followed.
 *
 * Code is followed instruction by instruction. It matters what code does to the stack pointer, to
 * the registers that functions keep for their callers, and to what is saved of them. All other
 * results become "not known". Two uses:
 *
 *   forward   from where a frame stands to a return, with the registers as they are and the stack
 *             as it is; on return the caller's registers are those of the state
 *   virtual   from a function's start, where each register holds a tag of its own and the stack is
 *             a range of addresses that does not exist; behind the prologue the slots tell what
 *             was saved where, and how deep the stack is
 *
 * Whatever instructions of any kind do, and opcodes of tables, is one of a few effects: a register
 * becomes a number, a sum, a word of memory, or unknown; a register is stored. What followed code
 * stores to the stack is kept in slots: memory is never written.
 */
#ifndef SPOOR_SIM_H
#define SPOOR_SIM_H

#include "spoor_backtrace.h"

/* What there is to follow on the processor that this is compiled for. Elsewhere: all of it. */
#if defined(__arm__) && !defined(SPOOR_ALL)
#define HAVE_ARM 1
#define HAVE_A64 0
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define HAVE_A32 0
#define HAVE_M 1
#define HAVE_SECURE (__ARM_ARCH >= 8)
#else
#define HAVE_A32 1
#define HAVE_M 0
#define HAVE_SECURE 0
#endif
#define HAVE_T32 (HAVE_A32 || __ARM_ARCH_ISA_THUMB >= 2)
#define HAVE_WIDE (HAVE_T32 || __ARM_ARCH >= 8) /* of T32 in Armv8-M Baseline: movw, b.w */
#if HAVE_A32 || defined(__ARM_FP)
#define HAVE_FP 1
#else
#define HAVE_FP 0
#endif
#elif defined(__aarch64__) && !defined(SPOOR_ALL)
#define HAVE_ARM 0
#define HAVE_A32 0
#define HAVE_M 0
#define HAVE_SECURE 0
#define HAVE_T32 0
#define HAVE_WIDE 0
#define HAVE_FP 0
#define HAVE_A64 1
#else
#define HAVE_ARM 1
#define HAVE_A32 1
#define HAVE_M 1
#define HAVE_SECURE 1
#define HAVE_T32 1
#define HAVE_WIDE 1
#define HAVE_FP 1
#define HAVE_A64 1
#endif

/* Which walkers there are: the sum of their SPOOR_BY_..., with 2 and 4 in any case. */
#ifndef SPOOR_WALKERS
#define SPOOR_WALKERS (HAVE_M && !HAVE_A32 ? 6 : 15)
#endif
#define HAVE_TABLE (HAVE_ARM && (SPOOR_WALKERS & 1))
#define HAVE_CHAIN (SPOOR_WALKERS >> 3 & 1)

/* More than a Cortex-M: with stacks anywhere, and large ones. */
#define IS_LARGE (HAVE_A32 || HAVE_A64)

/* Whether starts of functions are told, by symbols or by the table. */
#define HAVE_TOLD (IS_LARGE || HAVE_TABLE)

#define IS_A64(image) (HAVE_A64 && (!HAVE_ARM || (image)->isa == SPOOR_ISA_A64))
#define IS_M(image) (HAVE_M && (!HAVE_A32 || (image)->isa == SPOOR_ISA_M))
#define SP_OF(image) (IS_A64(image) ? (unsigned)SPOOR_A64_SP : (unsigned)SPOOR_SP)
#define PC_OF(image) (IS_A64(image) ? (unsigned)SPOOR_A64_PC : (unsigned)SPOOR_PC)
#define LR_OF(image) (IS_A64(image) ? 30u : (unsigned)SPOOR_LR)
#define WORD_OF(image) (IS_A64(image) ? 8u : 4u)
#define APART __attribute__((noinline))
#define BIT(n) ((spoor_word)1 << (n))

/* Of a virtual state: no program has these addresses and values. */
#define VIRTUAL_SP ((spoor_word)0xd1000000u)
#define VIRTUAL_DEPTH 0x8000u
#define VIRTUAL_TAG ((spoor_word)0xd0000000u)

/* What is not known, or cannot be read. As code of T32 it is undefined, as an address nothing is
   there, nor near it. */
#define UNKNOWN ((spoor_word)0xffffffffffffdeffu)

/* Registers that there are not: never known, and always 0. */
enum { SLOTS = 24, NONE = SPOOR_REGS, ZERO = SPOOR_REGS + 1 };

struct slot {
    spoor_word at, value;
};

/* In the order in which it takes the least code to get at what is in it. */
struct sim {
    spoor_word r[SPOOR_REGS + 2]; /* UNKNOWN, or what they hold */
    struct spoor_walk *walk;
    unsigned slots;
    unsigned size;     /* of the instruction */
    unsigned reg;      /* of STEP_RETURN: the register with the address */
    spoor_word target; /* of a branch */
    unsigned it;       /* IT block of T32: whether each instruction of it is a "then", as ITSTATE */
    unsigned then;     /* the "then" ones are executed, or the others (0); or none of them (2) */
#if IS_LARGE
    unsigned is_virtual; /* on M nothing can be read at such addresses */
#endif
    struct slot slot[SLOTS];
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

/* Memory within the bounds: text, tables, and the stack of the frame. Little-endian, as all of
   these processors run today. */
static spoor_word peek(const struct spoor_walk *walk, spoor_word at, size_t size) {
    const struct spoor_image *image = walk->image;
    spoor_word value = 0;
    if (!is_in(at, size, image->text_low, image->text_high) &&
        !(HAVE_TABLE && is_in(at, size, image->exidx_low, image->exidx_high)) &&
        !is_in(at, size, walk->stack.low, walk->stack.high))
        return UNKNOWN;
    if (image->read)
        return image->read(image->arg, at, &value, size) ? UNKNOWN : value;
    for (size_t i = size; i--;)
        value = value << 8 | ((const volatile uint8_t *)(uintptr_t)at)[i];
    return value;
}

#if HAVE_ARM
/* Two halfwords of code, the first one above. */
static uint32_t peek_code(const struct spoor_walk *walk, spoor_word at) {
    return (uint32_t)peek(walk, at, 2) << 16 | (uint16_t)peek(walk, at + 2, 2);
}
#endif

static spoor_word peek_word(const struct spoor_walk *walk, spoor_word at) {
    return peek(walk, at, WORD_OF(walk->image));
}

static int is_known(const struct sim *sim, unsigned n) { return sim->r[n] != UNKNOWN; }

static void forget(struct sim *sim, unsigned n) { sim->r[n] = UNKNOWN; }

static void set(struct sim *sim, unsigned n, spoor_word value) {
    sim->r[n] = HAVE_ARM && !IS_A64(sim->walk->image) ? (uint32_t)value : value;
}

/* to = from + add, of unknown values unknown. */
static void set_sum(struct sim *sim, unsigned to, unsigned from, spoor_word add) {
    if (!is_known(sim, from))
        forget(sim, to);
    else
        set(sim, to, sim->r[from] + add);
}

/* May the program's stack be there, or become that? On M only what is pushed is followed. */
static int is_stack(const struct sim *sim, spoor_word at) {
#if IS_LARGE
    const struct spoor_stack *stack = &sim->walk->stack;
    if (sim->is_virtual)
        return at - (VIRTUAL_SP - VIRTUAL_DEPTH) <= 2 * VIRTUAL_DEPTH;
    return at <= stack->high && (at >= stack->low || stack->low - at < VIRTUAL_DEPTH);
#else
    (void)sim, (void)at;
    return 1;
#endif
}

enum { MOVE_LOAD = 1, MOVE_FOLLOW = 2 };

/*
 * A word between register n and memory. Stores count on the stack only; what is loaded is unknown
 * if it cannot be read. What need not be followed is no save of a prologue, nor its opposite: it
 * would take slots for nothing.
 */
static void move_word(struct sim *sim, unsigned n, spoor_word at, unsigned how) {
    struct slot *slot = sim->slot, *end = slot + sim->slots;
    while (slot < end && slot->at != at)
        slot++;
    if (how == MOVE_LOAD) {
        forget(sim, n);
    } else if (how & MOVE_LOAD) {
#if IS_LARGE
        const struct spoor_image *image = sim->walk->image;
        if (sim->is_virtual && !is_in(at, 4, image->text_low, image->text_high))
            at = UNKNOWN;
#endif
        sim->r[n] = slot < end ? slot->value : peek_word(sim->walk, at);
    } else if (how && is_stack(sim, at)) {
        if (slot == sim->slot + SLOTS) { /* what is there cannot be known any more */
            forget(sim, SP_OF(sim->walk->image));
            return;
        }
        slot->at = at;
        slot->value = sim->r[n];
        sim->slots += slot == end;
    }
}

/* What calls need not keep. (Inline it would take a vector all over the caller.) */
#ifdef __ARM_FEATURE_MVE
APART
#endif
static void forget_call(struct sim *sim) {
    for (unsigned n = 0; n < (IS_A64(sim->walk->image) ? 19 : 4); n++)
        forget(sim, n);
    if (!IS_A64(sim->walk->image))
        forget(sim, 12);
    forget(sim, LR_OF(sim->walk->image));
}

#if HAVE_ARM
/* Registers of LIST, from where the base points to upwards if they are loaded, else downwards; the
   base moves along. */
static enum step move_many(struct sim *sim, unsigned base, uint32_t list, unsigned is_load) {
    spoor_word at = sim->r[base], up = 4 * is_load;
    for (unsigned i = 16; i--;) {
        unsigned n = is_load ? 15 - i : i;
        if (!(list >> n & 1))
            continue;
        at += up - 4;
        move_word(sim, n, at, is_load | MOVE_FOLLOW);
        at += up;
    }
    if (!(list >> base & 1) && is_known(sim, base))
        set(sim, base, at);
    return list >> SPOOR_PC & 1 ? STEP_RETURN : STEP_NEXT; /* of stores it is not in LIST */
}
#endif

#endif
