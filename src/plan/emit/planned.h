/*
 * Stage 12: the plan. It has all that later questions and emissions need of a module, and refers
 * to no earlier stage.
 */
#pragma once

#include "arch/arch.h"
#include "base/mem.h"
#include "plan/plan.h"

enum { TRAMPOLINE_ALIGN = 16 };
enum {
    HOOK_VARIANT = STUB_HOOK | STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE,
    GUARD_VARIANT = HOOK_VARIANT | STUB_GUARD,
    PROBE_VARIANT = STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE
};

struct step { /* one instruction of a window */
    struct insn insn;
    bool exit : 1;
    bool loops : 1;         /* an exit that jumps to the function's own entry */
    bool before_sled : 1;   /* the exit's instruction is in a sled behind the window: it stays */
    bool falls : 1;         /* an exit that leaves also where it does not branch */
    bool probe : 1;         /* the nop of a USDT probe */
    uint8_t event, variant; /* of exits */
    uint8_t return_bytes; /* bytes of the return at insn.target that the trampoline runs; else 0 */
    uint16_t pops;        /* of returns; as in struct stub_spec */
    uint8_t behind;       /* of returns; as in struct stub_spec */
    uint32_t function;    /* the function that it leaves */
};

/* The machine's state in which code is: that of plan.arch, or plan.arch->other. */
enum code_kind { KIND_DATA, KIND_FIRST, KIND_OTHER };

struct windows;

struct site { /* a window and its events */
    vaddr_t start, end;
    vaddr_t hole; /* of a hop */
    uint32_t first_step;
    uint32_t function;
    uint32_t room;      /* upper bound of its trampoline, in bytes */
    uint32_t hole_site; /* number + 1 of the site whose window has the hole; 0: padding has it */
    uint16_t step_count;
    uint8_t tier;     /* enum tier */
    uint8_t owned;    /* bytes from `start` on that may be written */
    uint8_t variant;  /* of the stub at its start */
    uint8_t kind : 2; /* enum code_kind */
    bool entry : 1, control : 1;
    bool far : 1;     /* it has room for a far jump */
    bool in_sled : 1; /* it is the head of a sled: the program may overwrite it */
};
_Static_assert(sizeof(struct site) == 48 && sizeof(struct step) == 40, "there are millions");

struct function_exit {
    vaddr_t at;
    uint32_t function;
    uint8_t event, tier, refused; /* enum event_kind, enum tier, enum refusal */
    bool loops;
    bool trap;     /* it has no tier, but a trap is possible */
    bool open;     /* no exit, but an end of known code: see struct open_end */
    bool inferred; /* it has no tier, but its function's entry is patched */
};

/* Numbers of the functions of Go's runtime that make, free and move stacks; UINT32_MAX: none. */
struct go_stacks {
    uint32_t maker, freer, mover;
};

struct part { /* a piece of a function outside its range, such as .cold */
    vaddr_t start, end;
    uint32_t function;
};

struct block { /* a piece of text: the numbers of functions and parts that begin up to its start */
    uint32_t functions, parts;
};

struct span_of_code { /* code in one state; it ends at the next span */
    vaddr_t start;
    uint8_t kind; /* enum code_kind */
};

/* All arrays but `functions`, `aliases` and `named` lie in the module's memory if the plan was read
 * in flat form. */
struct plan {
    const struct module *module;
    const struct arch *arch; /* one of the machine's states, for facts that all states share */
    bool flat;
    ARRAY(struct span_of_code) spans; /* by address; empty if the machine has one state */
    struct arena *arena;              /* NULL: in flat form */
    ARRAY(struct plan_function) functions;
    const char **aliases;   /* the lists of all functions in flat form; or NULL */
    ARRAY(uint32_t) groups; /* by function: number of its group < group_count */
    uint32_t group_count;
    ARRAY(struct part) parts; /* by address */
    ARRAY(struct span) sleds; /* XRay's, by address */
    ARRAY(struct site) sites; /* by address */
    ARRAY(struct step) steps;
    ARRAY(struct function_exit) exits; /* by address */
    ARRAY(struct block) blocks;        /* from text_low on; see lookup.c */
    struct go_stacks go;
    size_t area_size;
    uint32_t hook_room;        /* bytes that a hook or guard adds to its site */
    uint32_t slice_room;       /* bytes that a slice adds to its site */
    vaddr_t lane_write;        /* see plan_lane_write() */
    vaddr_t lane_open;         /* see plan_lane_open() */
    bool *named, *named_group; /* by function, by group: traps are permitted; NULL: none are */
};

/* ---- planned.c ---- */
struct plan *planned_new(const struct windows *windows);
/* The number of the function that begins at ADDR; UINT32_MAX: none. */
uint32_t plan_index_at(const struct plan *plan, vaddr_t addr);
/* The address in WORD, without the bit that selects a state. */
static inline vaddr_t plan_code_address(const struct plan *plan, vaddr_t word) {
    return plan->arch->other ? word & ~(vaddr_t)1 : word;
}
static inline const struct arch *plan_arch_of(const struct plan *plan, uint8_t kind) {
    return kind == KIND_DATA ? NULL : kind == KIND_FIRST ? plan->arch : plan->arch->other;
}
static inline const struct arch *site_arch(const struct plan *plan, const struct site *site) {
    return plan_arch_of(plan, site->kind);
}
static inline uint8_t plan_kind_of(const struct plan *plan, const struct arch *arch) {
    return !arch ? KIND_DATA : arch == plan->arch ? KIND_FIRST : KIND_OTHER;
}
/* Decodes the instruction at ADDR, with what TRAIL knows (arch_complete()). CONSTANTS may be NULL.
 * False: no instruction; RET has a size all the same. */
bool plan_decode(const struct plan *plan, vaddr_t addr, struct trail *trail, struct insn *ret,
                 struct insn_constants *constants);

/* ---- lookup.c ---- */
/* Fills plan->blocks. */
void lookup_build(struct plan *plan);

/* ---- flat_plan.c: private to it ---- */
struct flat_plan { /* what follows: the numbers of elements of the arrays, in this order */
    uint64_t aliases, spans, functions, groups, parts, sleds, sites, steps, exits, blocks;
    struct go_stacks go;
    uint64_t area_size;
    vaddr_t lane_write, lane_open;
    uint32_t group_count, hook_room, slice_room;
};

/* ---- function_list.c: functions as users see them ---- */
/* Fills plan->functions, groups, parts and exits. Returns by func the number of the function that
 * owns its exits; UINT32_MAX: none. The caller frees the result. */
uint32_t *function_list_build(struct plan *plan, const struct windows *windows);
/* Fills plan_function.exits and .exact from the exits and the entries' tiers. */
void function_list_count_exits(struct plan *plan);

/* ---- traps.c ---- */
/* True if FUNCTION's entry may be a trap; if exits and other sites of its group may. */
bool trap_permits_entry(const struct plan *plan, uint32_t function);
bool trap_permits(const struct plan *plan, uint32_t function);
/* False: SITE is a trap for which the user did not ask. */
bool trap_permits_site(const struct plan *plan, const struct site *site);

/* ---- go_stacks.c ---- */
/* Fills plan->go. Must be called after sites_build(). */
void go_stacks_find(struct plan *plan);
/* True if the start of SITE, or the step S, has an event of a stack. */
bool go_stacks_entry(const struct plan *plan, const struct site *site);
bool go_stacks_step(const struct plan *plan, const struct step *s);

/* ---- lane_guards.c ---- */
/* True if SITE is the place of a guard. */
bool lane_guard_is_at(const struct plan *plan, const struct site *site);
/* The number of guards. */
size_t lane_guard_count(const struct plan *plan);

/* ---- veneer.c: what linkers put between branches and functions ---- */
/* The address that the veneer at ADDR leads to; 0: no veneer. */
vaddr_t veneer_target(const struct plan *plan, vaddr_t addr);

/* ---- flat_code.c ---- */
/* Corrects PATCH for an area that is FARTHER bytes (modulo 2^64) above the module. Only jumps to
 * the area have the size of a jump. False: it does not reach the area. */
bool kept_move_jump(const struct arch *arch, struct patch *patch, uint64_t farther);

/* ---- carried.c: functions whose exits end calls of others ---- */
/* Returns a bitmap by function; the caller frees it. */
uint8_t *carried_find(const struct plan *plan, const struct plan_request *request);
/* True if the exit S jumps to one of CARRIED, which continues the same call. */
bool carried_on(const struct plan *plan, const uint8_t *carried, const struct step *s);
/* GROUPS: a property of groups. If one of CARRIED has it, so have all groups whose calls may end at
 * its exits. */
void carried_join(const struct plan *plan, const uint8_t *carried, bool *groups);

/* ---- sites.c: windows → sites and steps ---- */
/* Upper bound of a stub of VARIANT, in bytes. */
uint32_t sites_stub_room(const struct plan *plan, uint8_t variant);
/* NUMBERS: the result of function_list_build(). */
void sites_build(struct plan *plan, const struct windows *windows, const uint32_t *numbers);
