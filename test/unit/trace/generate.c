/* Generates calls of several shapes from a seed. */
#include "generate.h"

#include "base/mem.h"

enum { FUNCTIONS = 500, STACKS = 10, DEPTH = 256 };

#define MAIN_STACK 0x7ffdffffe000u
#define RESUME 0x7ffdffffd000u
#define OTHER_STACKS 0x7f3c10000000u

struct frame {
    uint32_t id;
    uint64_t sp;
};

struct maker {
    struct trace_event *events;
    size_t count, room;
    uint64_t clock, random;
    uint32_t first_id;
};

uint64_t random_next(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

uint32_t random_below(uint64_t *state, uint32_t limit) {
    return (uint32_t)((random_next(state) >> 32) * limit >> 32);
}

const char *shape_name(enum shape shape) {
    static const char *const names[] = {"fib", "tree", "coroutines", "noise"};
    return names[shape];
}

/* Adds an event; returns false if there are enough. */
static bool emit(struct maker *m, enum event_kind kind, struct frame f) {
    if (m->count == m->room)
        return false;
    m->clock += 20 + random_below(&m->random, 181);
    m->events[m->count++] = (struct trace_event){
        .ticks = m->clock, .site = (m->first_id + f.id) << 2 | kind, .sp = f.sp};
    return true;
}

static bool fib(struct maker *m, unsigned n, uint64_t sp) {
    struct frame f = {0, sp};
    return emit(m, EVENT_ENTRY, f) &&
           (n < 2 || (fib(m, n - 1, sp - 32) && fib(m, n - 2, sp - 32))) &&
           emit(m, EVENT_RETURN, f);
}

static struct frame callee(struct maker *m, struct frame caller) {
    uint32_t spread = random_below(&m->random, 12); /* each function calls twelve others */
    uint32_t id = (caller.id * 7 + spread * spread + 1) % FUNCTIONS;
    uint32_t pushed = random_below(&m->random, 50) ? 0 : 16; /* arguments on the stack */
    return (struct frame){id, caller.sp - 16 * (1 + caller.id % 23) - 8 - pushed};
}

/* One step of a call tree: STACK has *DEPTH frames. */
static bool tree_step(struct maker *m, struct frame *stack, unsigned *depth) {
    uint32_t dice = random_below(&m->random, 100);
    struct frame *top = &stack[*depth - 1];
    if (*depth > 1 && dice < 3) { /* a tail call */
        struct frame other = {(top->id + 3) % FUNCTIONS, top->sp};
        bool more = emit(m, EVENT_TAIL, *top) && emit(m, EVENT_ENTRY, other);
        *top = other;
        return more;
    }
    if (*depth > 8 && dice == 3) { /* an exception */
        *depth -= 5;
        return true;
    }
    if (*depth > 1 && (dice < 52 || *depth >= 60)) {
        --*depth;
        return emit(m, EVENT_RETURN, *top);
    }
    stack[*depth] = callee(m, *top);
    return emit(m, EVENT_ENTRY, stack[(*depth)++]);
}

static void tree(struct maker *m) {
    struct frame stack[DEPTH] = {{0, MAIN_STACK}};
    unsigned depth = 1;
    while (tree_step(m, stack, &depth))
        continue;
}

static void coroutines(struct maker *m) {
    static const struct frame resume = {FUNCTIONS, RESUME};
    struct frame stacks[STACKS][DEPTH];
    unsigned depth[STACKS];
    for (unsigned i = 0; i < STACKS; i++) {
        stacks[i][0] = (struct frame){i, OTHER_STACKS + i * 0x10000};
        depth[i] = 1;
    }
    for (unsigned i = 0;; i = random_below(&m->random, STACKS)) {
        if (!emit(m, EVENT_ENTRY, resume))
            return;
        for (unsigned step = random_below(&m->random, 20); step; step--)
            if (!tree_step(m, stacks[i], &depth[i]))
                return;
        if (!emit(m, EVENT_RETURN, resume))
            return;
    }
}

static void noise(struct maker *m) {
    for (; m->count < m->room; m->count++) {
        uint64_t a = random_next(&m->random), b = random_next(&m->random);
        uint32_t id = b & 1 ? (uint32_t)(a % 7) : (uint32_t)a & 0x3fffffff;
        m->clock += (b & 6) ? (b >> 8) % 1000 : (uint64_t)((int64_t)(b << 8) >> (16 + a % 40));
        m->events[m->count] =
            (struct trace_event){.ticks = m->clock, .site = id << 2 | (uint32_t)(b >> 60) % 3};
        m->events[m->count].sp = b & 8 ? 0x7000 + (a >> 40) % 64 : a >> (b & 16 ? 16 : 32);
    }
}

struct trace_event *generate(enum shape shape, size_t count, uint64_t seed, uint32_t first_id) {
    struct maker m = {.events = mem_resize(NULL, count, sizeof *m.events),
                      .room = count,
                      .clock = 1000000,
                      .random = seed * 2 + 1,
                      .first_id = first_id};
    switch (shape) {
    case SHAPE_FIB:
        while (fib(&m, 24, MAIN_STACK))
            continue;
        break;
    case SHAPE_TREE:
        tree(&m);
        break;
    case SHAPE_COROUTINES:
        coroutines(&m);
        break;
    default:
        noise(&m);
    }
    return m.events;
}
