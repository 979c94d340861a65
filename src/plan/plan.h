/*
 * From a module's bytes to finished machine code, without touching a process.
 *
 *   plan_new()    whole-module analysis: functions, their exits, and for each site the window of
 *                 instructions and tier that is provably safe. Independent of load address and of
 *                 what the user selected: the same module gives the same plan.
 *   plan_emit()   for one load address and one selection: trampolines and patches as bytes.
 *
 * A plan is immutable after plan_new() and plan_permit_traps(), and may be shared by processes and
 * threads.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "base/types.h"
#include "elf/module.h"
#include "plan/patch.h"
#include "plan/tier.h"
#include "wire/ring.h"

struct plan_function {
    vaddr_t addr;
    uint64_t size;
    const char *name;           /* mangled; NULL when unknown; points into the module */
    const char **aliases;       /* other names of the same body; NULL-terminated or NULL */
    enum tier entry;            /* TIER_NONE when refused */
    enum refusal refused;       /* why entry is TIER_NONE */
    uint32_t exits[TIER_COUNT]; /* exit sites by tier; exits[TIER_NONE]: inferred ones */
    bool exact;                 /* all exits patched, or none exist */
    bool trap;                  /* a trap could serve its entry, which no other tier does */
};

struct plan;

/* Analyses MODULE (which must outlive the plan). Errors: ENOTSUP "foreign-machine", EFBIG
 * "text-too-large"; a module without any usable function gives an empty plan, not an error. */
int plan_new(const struct module *module, struct plan **ret, struct err *err);
/* The same with one tier only, whatever others would serve (for tests); TIER_NONE: with all. */
int plan_new_by(const struct module *module, enum tier only, struct plan **ret, struct err *err);
void plan_free(struct plan *plan);
/* The functions in NAMED (a bitmap by index) get traps where nothing else serves them: at their
 * entries, at their exits, and instead of puns that lead nowhere. To be called before the plan is
 * used in another way. */
void plan_permit_traps(struct plan *plan, const uint8_t *named);
size_t plan_function_count(const struct plan *plan);
/* INDEX < count; sorted by address. The index is the function's number within its module. */
const struct plan_function *plan_function(const struct plan *plan, size_t index);
/* What a function of MODULE (a file name) is shown as: demangled, or MODULE+0xADDRESS. To be freed.
 */
char *plan_function_shown(const struct plan_function *f, const char *module);

/* Sets in RET, a bitmap by index, the functions that the resolver of an indirect function (IFUNC)
 * at RESOLVER may choose: those whose address its code takes, or that of functions it calls. */
void plan_implementations(const struct plan *plan, vaddr_t resolver, uint8_t *ret);
/* Whether it has control sites, which tell what calls have been left (plan_request.controls). */
bool plan_has_controls(const struct plan *plan);
/* Where the functions are whose events tell what becomes of goroutines' stacks (enum stack_event).
 * False: there are none, or some of them cannot be patched: then none is. */
enum { PLAN_STACK_TELLERS = 3 };
bool plan_stack_tellers(const struct plan *plan, struct span ret[PLAN_STACK_TELLERS]);
/* Whether code of a function writes the register that lanes hang off. */
bool plan_takes_lane(const struct plan *plan);

struct arch;
/* What decodes the code at ADDR; NULL: data stands there. */
const struct arch *plan_arch_at(const struct plan *plan, vaddr_t addr);

/* Number of the function whose code, parts that lie elsewhere (.cold) included, holds ADDR;
 * UINT32_MAX: none does. */
uint32_t plan_function_at(const struct plan *plan, vaddr_t addr);
/* The parts of functions that lie elsewhere, by address. False: there is none of that number. */
bool plan_part(const struct plan *plan, size_t number, struct span *ret);
/* A thread is about to run the instruction at ADDR, of FUNCTION, when patches are written: whether
 * its entry is yet to be seen, and whether it leaves without being seen. */
bool plan_is_before_entry(const struct plan *plan, uint32_t function, vaddr_t addr);
bool plan_is_past_exit(const struct plan *plan, vaddr_t addr);

/* ---- emission ---- */

struct plan_request {
    taddr_t bias;            /* taddr = vaddr + bias */
    taddr_t area;            /* where the trampoline area will be mapped (page aligned) */
    size_t area_size;        /* room there */
    size_t site_bytes;       /* of it that each site takes besides, for the caller */
    const uint8_t *selected; /* bitmap by function index, NULL: all */
    const uint8_t *filtered; /* likewise, of those: only calls from `caller` count; NULL: none */
    const uint8_t *sliced;   /* likewise, of those: their entries leave slices of the stack */
    struct span caller;      /* run-time addresses, less than 2 GiB of them */
    bool controls;           /* control sites of all functions, selected or not */
    uint32_t first_id;       /* event id of function 0; function i has first_id + i (< 2^30) */
    uint32_t ring_bytes;     /* power of two */
    enum overflow overflow;
    const struct span *taken; /* ascending: where no island can be mapped; the module, the area, */
    size_t taken_count;       /* the lowest and the highest addresses are besides */
    size_t most_islands;
    bool keep_calls; /* return addresses are guarded (shadow stacks): no call may be moved */
    vaddr_t hook;    /* a function whose entry waits for the tool (dynamic linker), or 0 */
    const uint8_t *without_traps;  /* bitmap by function index: no trap any more; NULL: none */
    const struct plan_code *first; /* of another area, whose sites are left alone; NULL: none */
};

/* Upper bound of the area that any selection needs, in bytes. */
size_t plan_area_size(const struct plan *plan);
/* How much more it is with slices. */
size_t plan_slices_size(const struct plan *plan);
/* What REQUEST needs at most: bytes of its area, sites that are patched, and how many of those can
 * be anywhere; and what of the text has the others, which the area should reach (start and end are
 * 0 where there are none). Its area is not looked at. */
struct plan_need {
    size_t bytes, sites, far;
    struct span near;
};
struct plan_need plan_need(const struct plan *plan, const struct plan_request *request);
/* How far from the text the area may be. */
uint64_t plan_reach(const struct plan *plan);
/* Sites have at most two patches, one way and one island each. Functions for which the area is too
 * small, or too far away, are among those that are missed.
 * Errors: ERANGE "out-of-reach" when AREA is too far away from all of them, or from the hook;
 * ENOSPC "no-room" when not even the agent and the hook fit; ENOENT "no-hook" when the hook's entry
 * cannot be patched. */
int plan_emit(const struct plan *plan, const struct plan_request *request, struct plan_code *ret,
              struct err *err);
void plan_code_done(struct plan_code *code);

/* ---- what a plan does, place by place: to show or check it ---- */

enum place_kind { PLACE_ENTRY, PLACE_RETURN, PLACE_TAIL, PLACE_CONTROL, PLACE_LOOP };
const char *place_name(enum place_kind kind); /* "entry" "return" "tail" "control" "loop" */

enum { NO_FUNCTION = UINT32_MAX };

/* Whole instructions that run elsewhere, and the bytes that a jump is written over. */
struct plan_window {
    vaddr_t start, end;
    vaddr_t hole;    /* of a hop, else 0 */
    uint8_t written; /* bytes from start on; padding behind end may be among them */
    uint8_t hole_bytes;
    enum tier tier;
    uint32_t function; /* whose code it is; NO_FUNCTION: of none that users see */
};

/* Where something is observed, or would be. */
struct plan_place {
    vaddr_t at;
    enum place_kind kind;
    enum tier tier;       /* TIER_NONE: it is not patched */
    enum refusal refused; /* why */
    uint32_t function;
    uint32_t window; /* index of its window, when it has one */
};

struct plan_view {
    ARRAY(struct plan_window) windows; /* by address, disjoint */
    ARRAY(struct plan_place) places;   /* by address */
};

void plan_view_init(struct plan_view *view, const struct plan *plan);
void plan_view_done(struct plan_view *view);
