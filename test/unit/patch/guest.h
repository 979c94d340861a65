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
    struct space *space; /* NULL: functions are not patched */
    struct lane_handle *handle;
    /* the options of the space's session */
    struct record_options options;
    struct space_context context;
    char *trace;
};

enum { GUEST_RING_BYTES = 4096 };

/* A child with patched functions and a lane; guest_new_bare(): with neither. */
struct guest *guest_new(enum overflow overflow);
struct guest *guest_new_bare(void);
/* As guest_new(), but entries also record slices of the stack. */
struct guest *guest_new_sliced(enum overflow overflow);
/* As guest_new(), but events have values: those of ARGUMENTS (-A) and RESULTS (-R); NULL: none. */
struct guest *guest_new_capturing(enum overflow overflow, const char *arguments,
                                  const char *results);
/* As guest_new(), but only calls are recorded that meet WHERE (--where), which stubs judge. */
struct guest *guest_new_judging(enum overflow overflow, const char *where);
/* The same, but the dynamic linker's functions are traced, too. */
struct guest *guest_new_judging_linker(enum overflow overflow, const char *where);
/* From now on only calls from FROM are events. */
void guest_filter(struct guest *g, struct span from);
/* The patched module, which has the functions that guests call. */
struct patched *guest_sites(const struct guest *g);
void guest_free(struct guest *g);

struct call {
    const char *function;
    uint64_t rdi, rsi;
    bool carry;
};
/* Brings the guest to the first instruction of the function. The area below its stack pointer is
 * filled, its lane empty. */
void guest_enter(struct guest *g, const struct call *call);
/* Runs one instruction; the guest cannot see the step. Returns false when the call is over. */
bool guest_step(struct guest *g);
/* Runs the guest until the call is over, also out of the hook. */
void guest_finish(struct guest *g);
/* The same for a guest that is stopped before signal SIG, which is delivered. */
void guest_finish_with(struct guest *g, int sig);

/* All that a call has changed so far, to come back to. */
struct snapshot {
    struct regs regs;
    uint8_t stack[512];
    struct lane lane;
    uint32_t owner;
    uint8_t ring[GUEST_RING_BYTES + KEPT_BYTES];
};
void guest_save(const struct guest *g, struct snapshot *ret);
void guest_restore(struct guest *g, const struct snapshot *s);
/* The control word of its space. */
uint32_t *guest_owner(const struct guest *g);

/* Whether a program can see no difference between two states. Arithmetic flags are ignored: where
 * they are live, the functions' results depend on them. */
bool same_regs(const struct regs *a, const struct regs *b);
