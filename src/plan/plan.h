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
#ifndef SPOOR_PLAN_PLAN_H
#define SPOOR_PLAN_PLAN_H

#include "base/err.h"
#include "base/types.h"
#include "elf/module.h"
#include "wire/ring.h"

/* Order is preference, names are CONTRACT.md's. */
enum tier { TIER_NONE, TIER_PAD, TIER_JUMP, TIER_HOP, TIER_PUN, TIER_TRAP, TIER_COUNT };
const char *tier_name(enum tier tier); /* "none" "pad" "jump" "hop" "pun" "trap" */

/* Why a site or function has no patch. Tags are stable; `spoor explain` prints them. */
enum refusal {
    REFUSED_NOT,           /* not refused */
    REFUSED_SHORT,         /* "short-window": fewer than 5 bytes, and no tier for that yet */
    REFUSED_CALL,          /* "call-in-window" */
    REFUSED_TARGET,        /* "branch-into-window" */
    REFUSED_OVERLAP,       /* "window-taken": another site's window owns these bytes */
    REFUSED_UNDECODABLE,   /* "undecodable" */
    REFUSED_UNRELOCATABLE, /* "unrelocatable": an instruction that cannot run elsewhere */
    REFUSED_SYSCALL,       /* "syscall-in-window" */
    REFUSED_NO_CFI,        /* "no-unwind-info" */
    REFUSED_FALL_THROUGH,  /* "falls-through": into the next, by an instruction that is no exit */
    REFUSED_OWN_ABI,       /* "own-convention": _start, lazy binding, … */
    REFUSED_SIGNAL_FRAME,  /* "signal-frame" */
    REFUSED_OPEN_FLOW,     /* "open-control-flow": unresolved indirect jump forbids this window */
    REFUSED_TEXT_RELOCATIONS, /* "text-relocations" */
    REFUSED_NO_ADDRESS, /* "no-address": found at load time: its pun leads where nothing can be */
    REFUSED_LOOSE, /* "movable-code": no unwind information, and nothing ties it to its place */
    REFUSED_DEPTH, /* "unknown-depth": no unwind information, and its code does not tell */
    REFUSED_COUNT
};
const char *refusal_tag(enum refusal refusal);
const char *refusal_meaning(enum refusal refusal); /* one sentence, for the man page and explain */

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

enum { PATCH_MAX_BYTES = 10 };
struct patch { /* bytes to be written over the module's text */
    vaddr_t at;
    uint8_t window; /* bytes from `at` on whose instructions run elsewhere */
    uint8_t size;   /* PATCH_MAX_BYTES at most */
    uint8_t reads;  /* bytes that the processor takes for the jump; more than size if some are
                       borrowed     from what stands behind */
    bool yields;    /* the program may write there as well, and what it has written stays */
    uint8_t before[PATCH_MAX_BYTES]; /* what stands there in the file */
    uint8_t after[PATCH_MAX_BYTES];
};

/* Pages outside the module and its area, where puns lead to; each holds jumps into the area. */
enum { ISLAND_BYTES = 4096 };
struct island {
    taddr_t at;
    uint8_t *bytes; /* ISLAND_BYTES */
};

/* A jump on the way from a site to its trampoline: in a hole or on an island. A thread that stands
 * there has done nothing yet but leave the site. */
struct way {
    vaddr_t at; /* of islands, too */
    vaddr_t site;
};

/* A patch that stops its thread, which the tool sends on to the trampoline. */
struct trap {
    vaddr_t at;
    uint32_t trampoline; /* offset in the area */
    uint32_t function;   /* whose it is; index in the plan */
    uint8_t window;      /* bytes from `at` on whose instructions run elsewhere */
};

/* What stands at an offset of the trampoline area, from `offset` up to the next mark's. */
enum mark_kind {
    MARK_NONE,    /* agent or filler */
    MARK_STUB,    /* an event stub; `orig` is the site; offset is the stub's first byte */
    MARK_INSN,    /* one relocated instruction (or the jump back); `orig` is where it stood */
    MARK_THROUGH, /* a jump to what the word at `orig` leads to */
};
struct mark {
    uint32_t offset;
    uint8_t kind : 3;   /* enum mark_kind */
    bool at_start : 1;  /* orig is the first byte of its window: resuming there is always safe */
    bool other : 1;     /* code of the machine's other state (arch.other), here and there */
    uint8_t behind : 3; /* MARK_STUB: as in struct stub_spec; MARK_ALL_BEHIND: all but one */
    uint8_t variant;    /* MARK_STUB: which template, for stub_state_at() */
    uint8_t it;         /* at orig, in the midst of a block of T32: ITSTATE; else 0 */
    union {
        uint8_t pops;   /* MARK_STUB: stub_spec.pops, in words */
        uint8_t pushed; /* else as in struct relocated */
    };
    vaddr_t orig;
};
_Static_assert(sizeof(struct mark) == 16, "there are millions of them");
enum { MARK_ALL_BEHIND = 7 };

/* Can a mark say that BEHIND of the POPPED words that a return takes stand behind its address? */
static inline bool mark_can_tell(int32_t popped, int32_t behind) {
    return popped <= UINT8_MAX &&
           (behind < MARK_ALL_BEHIND || behind == popped - 1); /* as Go's returns do */
}

/* How many words of the stack stand before that address, for a thread that comes to M, a stub. */
static inline unsigned mark_words_before(const struct mark *m) {
    return !m->pops || m->behind == MARK_ALL_BEHIND ? 0 : m->pops - 1U - m->behind;
}

struct plan_code {
    uint8_t *area; /* bytes of the trampoline area, agent code first */
    size_t area_used;
    struct patch *patches;
    size_t patch_count; /* sorted by address, disjoint */
    struct mark *marks;
    size_t mark_count; /* sorted by offset */
    struct island *islands;
    size_t island_count; /* sorted by address */
    struct way *ways;
    size_t way_count; /* sorted by address */
    uint8_t *missed;  /* bitmap by function: not traced, as its entry cannot be patched at this load
                         address */
    uint8_t *inexact; /* likewise: one of its exits cannot be */
    uint8_t *beyond;  /* of those of both: the area is too small or too far away; another may do */
    size_t missed_exits[TIER_COUNT];   /* by the tier that was planned */
    size_t regained_exits[TIER_COUNT]; /* of a second area: of what the first one has missed so */
    struct trap *traps;
    size_t trap_count; /* sorted by address */
    uint8_t *trapped;  /* bitmap by function: what was planned leads nowhere; a trap instead */
    size_t trapped_exits[TIER_COUNT]; /* as missed_exits */
    size_t sites;
    enum overflow overflow; /* as requested: stubs differ by it */
    struct span caller;     /* likewise */
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

#endif
