/*
 * From a module's bytes to finished machine code, without touching a process.
 *
 *   plan_new()    analyses the whole module: functions, their exits, and for each site the window
 *                 of instructions and the tier that are proven safe. The result depends on the
 *                 file only, not on the load address or the selection.
 *   plan_emit()   makes trampolines and patches, as bytes, for one load address and selection.
 *
 * A plan does not change after plan_new() and plan_permit_traps(). Processes and threads may share
 * it.
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
    enum refusal refused;       /* why `entry` is TIER_NONE */
    uint32_t exits[TIER_COUNT]; /* exit sites by tier; exits[TIER_NONE]: inferred ones */
    bool exact;                 /* all exits patched, or none exist */
    bool trap;                  /* its entry has no tier, but a trap is possible there */
};

struct plan;

/* Analyses MODULE, which must outlive the plan. Errors: ENOTSUP "foreign-machine", EFBIG
 * "text-too-large". A module without usable functions gives an empty plan, no error. */
int plan_new(const struct module *module, struct plan **ret, struct err *err);
/* For tests: plans with the tier ONLY and no other. TIER_NONE: with all tiers. */
int plan_new_with_tier(const struct module *module, enum tier only, struct plan **ret,
                       struct err *err);
void plan_free(struct plan *plan);
struct flat_writer;
struct flat_reader;
/* Writes PLAN in flat form. PLACES: the result of flat_symbols_write() for its module. Must be
 * called before plan_permit_traps(). */
void plan_write_flat(const struct plan *plan, struct flat_writer *w, const uint32_t *places);
/* Reads such a plan of MODULE, whose flat symbols come from the same memory; the plan uses this in
 * place. False: R has no plan. */
bool plan_read_flat(const struct module *module, struct flat_reader *r, struct plan **ret);
/* Permits traps in the functions of NAMED, a bitmap by index: at entries and exits without another
 * tier, and for puns that cannot be emitted. Must be called before any other use. */
void plan_permit_traps(struct plan *plan, const uint8_t *named);
size_t plan_function_count(const struct plan *plan);
/* INDEX < count. Sorted by address. The index is the function's number in its module. */
const struct plan_function *plan_function(const struct plan *plan, size_t index);
/* F's name as users see it: demangled, or MODULE+0xADDRESS (MODULE: a file name). To be freed. */
char *plan_function_shown(const struct plan_function *f, const char *module);

/* Sets in RET, a bitmap by index, the functions that the IFUNC resolver at RESOLVER may choose.
 * Their addresses are taken by the resolver's code, or by functions that it calls. */
void plan_implementations(const struct plan *plan, vaddr_t resolver, uint8_t *ret);
/* True if the plan has control sites (see plan_request.controls). */
bool plan_has_controls(const struct plan *plan);
/* The tier of the window with the USDT probe at ADDR; TIER_NONE: it cannot be recorded. */
enum tier plan_probe_tier(const struct plan *plan, vaddr_t addr);
/* Ranges of the functions of Go's runtime whose events report what becomes of goroutines' stacks
 * (enum stack_event). False: some are missing or cannot be patched; then none is patched. */
enum { PLAN_STACK_FUNCTIONS = 3 };
bool plan_stack_functions(const struct plan *plan, struct span ret[PLAN_STACK_FUNCTIONS]);
/*
 * Functions that write the register by which stubs find lanes (REFUSED_LANE) are not traced. The
 * code for the whole module has a guard at each of their entries, whatever is chosen: it waits for
 * the tool, as the hook does.
 *
 * The first function returns an instruction that writes the register, the second one that no guard
 * can precede: a program that has one cannot be traced. 0: there is none.
 */
vaddr_t plan_lane_write(const struct plan *plan);
vaddr_t plan_lane_open(const struct plan *plan);
/* The first guard at ADDR or above; 0: none. */
vaddr_t plan_lane_guard(const struct plan *plan, vaddr_t addr);
/* Whether a thread at ADDR is in such a function behind the place of its guard. */
bool plan_is_past_lane_guard(const struct plan *plan, vaddr_t addr);

struct arch;
/* The backend that decodes the code at ADDR; NULL: ADDR holds data. */
const struct arch *plan_arch_at(const struct plan *plan, vaddr_t addr);

/* The number of the function that holds ADDR in its code or in a part of it elsewhere (.cold).
 * UINT32_MAX: no function does. */
uint32_t plan_function_at(const struct plan *plan, vaddr_t addr);
/* A number that the functions that share code with FUNCTION have in common. */
uint32_t plan_group(const struct plan *plan, uint32_t function);
/* XRay's sleds, where the program's own runtime writes: whether there are any; whether ADDR is in
 * one. */
bool plan_has_sleds(const struct plan *plan);
bool plan_is_in_sled(const struct plan *plan, vaddr_t addr);
/* Part NUMBER, by address, of those outside their functions. False: there is no such part. */
bool plan_part(const struct plan *plan, size_t number, struct span *ret);
/* A thread is about to run the instruction at ADDR, in FUNCTION, while patches are written. The
 * first is true if the thread will still pass the entry's patch. The second is true if the thread
 * leaves the function without passing an exit's patch. */
bool plan_is_before_entry(const struct plan *plan, uint32_t function, vaddr_t addr);
bool plan_is_past_exit(const struct plan *plan, vaddr_t addr);

/* ---- emission ---- */

enum { PLAN_GUARDS = 2 };

/* What is recorded beside events of KIND of a function. */
struct capture;
struct predicate;
struct plan_capture {
    uint32_t function; /* by index */
    enum event_kind kind;
    uint32_t number; /* of the capture, in events */
    uint32_t bytes;  /* of its code: arch.stub_capture_bytes() */
    const struct capture *capture;
    const struct predicate *predicate; /* of entries: calls for which it is false are not recorded;
                                          NULL: all are */
};

/* A USDT probe that is recorded: a control event with an id of its own. */
struct plan_probe {
    vaddr_t at; /* of its nop */
    uint32_t id;
    struct plan_capture capture; /* `bytes` 0: none */
};

struct plan_request {
    taddr_t bias;            /* taddr = vaddr + bias */
    taddr_t area;            /* where the trampoline area will be mapped (page aligned) */
    size_t area_size;        /* room there */
    size_t site_bytes;       /* bytes of the area per site that the caller uses itself */
    const uint8_t *selected; /* bitmap by function index, NULL: all */
    const uint8_t *filtered; /* a subset: only calls from `caller` are recorded; NULL: none */
    const uint8_t *sliced;   /* a subset: their entries record slices of the stack */
    const struct plan_capture *captures; /* ascending by function and kind; borrowed until the code
                                            is emitted */
    size_t capture_count;
    const struct plan_probe *probes; /* by address; borrowed likewise */
    size_t probe_count;
    struct span caller;  /* run-time addresses, a range below 2 GiB */
    bool controls;       /* emit control sites of all functions, selected or not */
    uint32_t first_id;   /* event id of function 0; function i has first_id + i (< 2^30) */
    uint32_t ring_bytes; /* power of two */
    enum overflow overflow;
    const struct span *taken; /* ascending: no island can be mapped here, nor over the module, */
    size_t taken_count;       /* the area, and the lowest and highest addresses */
    size_t most_islands;
    bool keep_calls; /* shadow stacks guard return addresses: no call may be moved */
    vaddr_t hook;    /* a function whose entry waits for the tool (dynamic linker), or 0 */
    vaddr_t guards[PLAN_GUARDS]; /* functions whose entries wait for the tool if STUB_GUARD says so;
                                    0: none. They may be out of reach */
    const uint8_t *without_traps;  /* bitmap by function index: emit no traps; NULL: none */
    const struct plan_code *first; /* code of the first area: skip its sites; NULL: none */
};

/* Upper bound of the area for any selection, in bytes. */
size_t plan_area_size(const struct plan *plan);
/* The bytes that slices add to it. */
size_t plan_slices_size(const struct plan *plan);
/*
 * The most that REQUEST needs, whatever its area is: bytes of the area; sites that are patched;
 * how many of these may be far from the area; the range of text that has the others (0, 0: no
 * others).
 */
struct plan_need {
    size_t bytes, sites, far;
    struct span near;
};
struct plan_need plan_need(const struct plan *plan, const struct plan_request *request);
/* The largest distance between the text and the area. */
uint64_t plan_reach(const struct plan *plan);
/*
 * A site has at most two patches, one way and one island. plan_code.missed has functions that the
 * area cannot hold or reach. Errors: ERANGE "out-of-reach" if AREA reaches no function, or not the
 * hook; ENOSPC "no-room" if the agent and the hook do not fit; ENOENT "no-hook" if the hook's
 * entry cannot be patched.
 */
int plan_emit(const struct plan *plan, const struct plan_request *request, struct plan_code *ret,
              struct err *err);
void plan_code_done(struct plan_code *code);
/*
 * CODE was emitted for a load address. REQUEST is for one that is MOVED bytes (modulo 2^64) above,
 * with an area that is as far above. Whether CODE serves there, too, with all islands moved
 * likewise, and new code would have no more functions. plan_code_copy() then corrects the area: it
 * copies its bytes from FROM on, MOST at most (16 or more), to RET, and returns their number.
 */
bool plan_code_serves(const struct plan *plan, const struct plan_code *code,
                      const struct plan_request *request, uint64_t moved);
size_t plan_code_copy(const struct plan_code *code, uint64_t moved, size_t from, size_t most,
                      uint8_t *ret);

/* Code that is kept for later processes, and what it was emitted for. */
struct kept_code {
    struct plan_code code;
    struct plan_need need;
    taddr_t bias, area; /* of the request, like the next two */
    size_t area_size;
    uint32_t first_id;
    struct span targets;     /* link-time addresses within reach of the area: set by reading */
    const struct span *text; /* the caller's: link-time addresses, ascending */
    size_t text_count;
};
struct digest;
/* Whether code for R, and this CODE, can be kept. A second area depends on the first one. */
bool plan_request_may_be_kept(const struct plan *plan, const struct plan_request *r);
bool plan_code_may_be_kept(const struct plan *plan, const struct plan_code *code);
/* Adds to D all of R on which code depends, but addresses of the process and the first id. */
void plan_request_digest(const struct plan *plan, const struct plan_request *r, struct digest *d);
void plan_code_write_flat(const struct plan *plan, const struct kept_code *kept,
                          struct flat_writer *w);
/* Writes only what plan_code_fits() needs. It is read in the same way. */
void plan_code_write_outline(const struct plan *plan, const struct kept_code *kept,
                             struct flat_writer *w);
/* Reads such code of the same plan; it uses R's memory in place, and leaves `pages` to the caller.
 * False: R has none. */
bool plan_code_read_flat(const struct plan *plan, struct flat_reader *r, struct kept_code *ret);
/* The parts of R, the same bytes, that are not read then, as offsets: its area and its marks. The
 * caller may set ret->code.source for them. R's first FLAT_BUFFER bytes must be there. */
enum { PLAN_CODE_LATER = 2 };
void plan_code_later(const struct flat_reader *r, struct span ret[PLAN_CODE_LATER]);
/* CODE's mark NUMBER. */
const struct mark *plan_code_mark(const struct plan_code *code, size_t number);
/* Whether KEPT's code can become that of R, which may differ in addresses and the first id: the
 * result is, byte for byte, what plan_emit() makes. */
bool plan_code_fits(const struct plan *plan, const struct plan_request *r,
                    const struct kept_code *kept);
/* Makes KEPT's code that of R. It is then for kept->bias, as after plan_code_serves(). False: it
 * cannot be; the code is of no use any more. */
bool plan_code_adapt(const struct plan *plan, const struct plan_request *r, struct kept_code *kept);

/* ---- the plan place by place, for display and checks ---- */

enum plan_place_kind { PLACE_ENTRY, PLACE_RETURN, PLACE_TAIL, PLACE_CONTROL, PLACE_LOOP };
const char *place_name(enum plan_place_kind kind); /* "entry" "return" "tail" "control" "loop" */

enum { NO_FUNCTION = UINT32_MAX };

/* Whole instructions that run in a trampoline, and the bytes that a jump is written over. */
struct plan_window {
    vaddr_t start, end;
    vaddr_t hole;    /* of a hop; else 0 */
    uint8_t written; /* bytes from `start` on; may include padding behind `end` */
    uint8_t hole_bytes;
    enum tier tier;
    uint32_t function; /* the function that holds it; NO_FUNCTION: none that users see */
};

/* A site, patched or not. */
struct plan_place {
    vaddr_t at;
    enum plan_place_kind kind;
    enum tier tier;       /* TIER_NONE: not patched */
    enum refusal refused; /* why */
    uint32_t function;
    uint32_t window; /* index of its window; UINT32_MAX: none */
};

struct plan_view {
    ARRAY(struct plan_window) windows; /* by address, disjoint */
    ARRAY(struct plan_place) places;   /* by address */
};

void plan_view_init(struct plan_view *view, const struct plan *plan);
void plan_view_done(struct plan_view *view);
