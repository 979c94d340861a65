/*
 * Stage 12: the plan, which is what all later questions and emissions need of a module. It keeps
 * nothing of the stages before.
 */
#pragma once

#include "arch/arch.h"
#include "base/mem.h"
#include "plan/plan.h"

enum { TRAMPOLINE_ALIGN = 16 };
enum { HOOK_VARIANT = STUB_HOOK | STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE };

struct step { /* one instruction of a window */
    struct insn insn;
    bool exit;
    bool loops;             /* an exit that leads to the function's own entry */
    bool beside;            /* an exit that another's code makes: the instruction is not run here */
    bool falls;             /* an exit that leaves in any case, also where it does not branch */
    uint8_t event, variant; /* of exits */
    uint8_t return_bytes;   /* of the return at insn.target, which a branch to it does itself */
    uint16_t pops;          /* of returns: as in struct stub_spec */
    uint8_t behind;         /* likewise */
    uint32_t function;      /* whose exit it is */
};

struct windows;

struct site { /* a window and what it does */
    vaddr_t start, end;
    const struct arch *arch; /* of its code */
    const uint8_t *bytes;    /* at start */
    uint32_t first_step, step_count;
    uint32_t function;
    uint32_t room;  /* bytes of trampoline that it takes at most */
    vaddr_t hole;   /* of a hop */
    uint32_t maker; /* number + 1 of the site whose window holds the hole; 0: padding does */
    uint8_t tier;   /* enum tier */
    uint8_t owned;  /* bytes at start that may be written */
    bool entry, control;
    bool far;        /* it has room for a far jump */
    bool in_sled;    /* the program may write over it */
    uint8_t variant; /* of the stub at its start */
};

struct function_exit {
    vaddr_t at;
    uint32_t function;
    uint8_t event, tier, refused; /* enum event_kind, enum tier, enum refusal */
    bool loops;
    bool trap;     /* it has no tier, but could be a trap */
    bool inferred; /* has no tier, and its function's entry is seen */
};

/* Functions of Go's runtime that tell what becomes of its stacks; UINT32_MAX: there are none. */
struct go_stacks {
    uint32_t maker, freer, mover;
};

struct part { /* of a function, away from it */
    vaddr_t start, end;
    uint32_t function;
};

struct span_of_code { /* up to the next one */
    vaddr_t start;
    const struct arch *arch; /* NULL: data */
};

struct plan {
    const struct module *module;
    const struct arch *arch; /* of one of the machine's states: for what is the same in all */
    ARRAY(struct span_of_code) spans; /* by address; none where the machine has one state */
    struct arena *arena;
    ARRAY(struct plan_function) functions;
    ARRAY(uint32_t) groups; /* by function: number of its group < group_count */
    uint32_t group_count;
    ARRAY(struct part) parts; /* by address */
    ARRAY(struct site) sites; /* by address */
    ARRAY(struct step) steps;
    ARRAY(struct function_exit) exits; /* by address */
    struct go_stacks go;
    size_t area_size;
    uint32_t hook_room;  /* what a hook adds to its site */
    uint32_t slice_room; /* likewise a slice */
    bool takes_lane;
    bool *named, *named_group; /* by function, by group: may have traps; NULL: none may */
};

/* ---- planned.c ---- */
struct plan *planned_new(const struct windows *windows);
/* Number of the function that begins at ADDR; UINT32_MAX: none does. */
uint32_t plan_index_at(const struct plan *plan, vaddr_t addr);
/* What leads to code, without the bit that tells a state. */
static inline vaddr_t plan_code_address(const struct plan *plan, vaddr_t word) {
    return plan->arch->other ? word & ~(vaddr_t)1 : word;
}
/* Decodes what stands at ADDR, on a line that TRAIL knows (arch_complete()). CONSTANTS may be NULL.
 * False: that is no instruction; RET has its size all the same. */
bool plan_decode(const struct plan *plan, vaddr_t addr, struct trail *trail, struct insn *ret,
                 struct insn_constants *constants);

/* ---- function_list.c: functions as users see them ---- */
/* Fills plan->functions, groups, parts and exits. Returns by func of the code the number of the
 * function that owns its exits (UINT32_MAX: none does); to be freed. */
uint32_t *function_list_build(struct plan *plan, const struct windows *windows);
/* Fills in what functions know of their exits, from those and the functions' tiers. */
void function_list_count_exits(struct plan *plan);

/* ---- traps.c ---- */
/* May FUNCTION's entry be a trap; may exits and other sites of its group? */
bool trap_permits_entry(const struct plan *plan, uint32_t function);
bool trap_permits(const struct plan *plan, uint32_t function);
/* False: SITE is a trap that was not asked for. */
bool trap_permits_site(const struct plan *plan, const struct site *site);

/* ---- go_stacks.c ---- */
/* Which functions tell of stacks; to be called when sites are built. */
void go_stacks_find(struct plan *plan);
/* Whether the start of SITE, or a step of it, does. */
bool go_stacks_entry(const struct plan *plan, const struct site *site);
bool go_stacks_step(const struct plan *plan, const struct step *s);

/* ---- veneer.c: what linkers put between branches and functions ---- */
/* Where the veneer at ADDR leads; 0: none stands there. */
vaddr_t veneer_target(const struct plan *plan, vaddr_t addr);

/* ---- carried.c: whose exits end calls of others ---- */
/* A bitmap by function, to be freed. */
uint8_t *carried_find(const struct plan *plan, const struct plan_request *request);
/* Whether the exit S is a jump to one of CARRIED that goes on with the same call. */
bool carried_on(const struct plan *plan, const uint8_t *carried, const struct step *s);

/* ---- sites.c: windows → sites and steps ---- */
/* How much code a stub takes at most. */
uint32_t sites_stub_room(const struct plan *plan, uint8_t variant);
/* NUMBERS: as function_list_build() gives them. */
void sites_build(struct plan *plan, const struct windows *windows, const uint32_t *numbers);
