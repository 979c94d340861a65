/*
 * A child process with the functions of sites.S. The test makes its calls: the child waits, gets
 * registers and a function to call, and stops at hold_trap when the function has returned.
 */
#pragma once

#include "../target/child.h"
#include "patch/space.h"

struct guest {
    pid_t pid;
    struct regs idle; /* as it stands */
    int memory_fd;
    struct space *space; /* NULL: left as it is */
    struct lane_handle *handle;
    /* The session of which the space is. */
    struct record_options options;
    struct space_context context;
    char *trace;
};

enum { GUEST_RING_BYTES = 4096 };

/* A child whose functions are instrumented, with a lane; or as they are. */
struct guest *guest_new(enum overflow overflow);
struct guest *guest_new_bare(void);
/* The entries leave slices of the stack, too. */
struct guest *guest_new_sliced(enum overflow overflow);
/* From now on only those calls of its functions are events that come from FROM. */
void guest_filter(struct guest *g, struct span from);
void guest_free(struct guest *g);

struct call {
    const char *function;
    uint64_t rdi, rsi;
    bool carry;
};
/* Makes the guest stand at the first instruction of the function, with the area below its stack
 * pointer filled and its lane empty. */
void guest_enter(struct guest *g, const struct call *call);
/* Runs one instruction as if nobody stepped. Returns false when the call is over. */
bool guest_step(struct guest *g);
/* Lets it run until the call is over; a wait in the hook is ended. */
void guest_finish(struct guest *g);
/* The same when it stands before signal SIG, which is delivered. */
void guest_finish_with(struct guest *g, int sig);

/* All that a call has changed so far, to come back to. */
struct snapshot {
    struct regs regs;
    uint8_t stack[512];
    struct lane lane;
    uint32_t owner;
    uint8_t ring[GUEST_RING_BYTES];
};
void guest_save(const struct guest *g, struct snapshot *ret);
void guest_restore(struct guest *g, const struct snapshot *s);
/* The control word of its space. */
uint32_t *guest_owner(const struct guest *g);

/* Whether two states are the same to a program. Arithmetic flags may differ: where they live, the
 * functions' results depend on them. */
bool same_regs(const struct regs *a, const struct regs *b);
