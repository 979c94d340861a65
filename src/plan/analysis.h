/*
 * The planner's working state: what is known of each byte of code, of each
 * function, and of each place where control leaves a function. Built in this
 * order, each step in the file of its name:
 *
 *   text       instructions; direct branches, calls, addresses taken
 *   states     which of its states the machine runs code in, where it has several, and what is data
 *   sleds      what XRay's runtime writes over
 *   functions  unwind ranges and function symbols → functions, their names
 *   targets    symbols, data, landing pads that point into code
 *   depth      stack depths of functions without unwind information (depth.h)
 *   table      jump tables
 *   groups     which ranges are one function, which are entered from outside
 *   exits      returns and tail calls
 *   controls   landing pads and second returns
 *   windows    the bytes that a patch takes
 *   pads       nops that compilers left for patching
 *   fit        which tier there is room for
 *   returns    those without room: the ways to them return themselves
 *   holes      padding for hops
 *   traps      what is left, for those who ask for it by name
 *
 * Unwind information is the oracle for "how deep is the stack here": where the
 * frame is as at the function's first instruction (*entry depth*), a jump out
 * of the function is a tail call; elsewhere it is internal. Where there is none
 * the code itself is asked (depth.h).
 *
 * Private to src/plan.
 */
#ifndef SPOOR_PLAN_ANALYSIS_H
#define SPOOR_PLAN_ANALYSIS_H

#include "arch/arch.h"
#include "base/mem.h"
#include "elf/module.h"
#include "plan/plan.h"

/* Facts about one byte of code. */
enum {
    FACT_TARGET = 1,       /* control may arrive here other than from the instruction before */
    FACT_CALLED = 2,       /* by a direct call */
    FACT_TAKEN = 4,        /* its address is taken, or a function symbol names it */
    FACT_RETURN_POINT = 8, /* stands behind a call: return addresses point here */
    FACT_EXIT = 16,        /* an exit site's first byte */
    FACT_OWNED = 32,       /* a window's, or must never be patched */
    FACT_FLAGS_OUT = 64,   /* a function that hands results to its callers in flags */
    FACT_SPARE = 128, /* a jump's bytes, from here on, that a window has moved away and not used */
};

/* An executable segment. code[] holds (size << 4 | kind) at each instruction's first byte, 0
 * elsewhere; size counts 1 << size_shift bytes. Every instruction lies within the segment's bytes.
 */
struct text {
    vaddr_t start;
    size_t size;
    const uint8_t *bytes;
    uint8_t *code, *facts;
    uint8_t *refers; /* a bit for each byte: set where an instruction has an insn.target */
    uint8_t size_shift;
    uint8_t *states;       /* enum code_state, by STATE_BYTES; NULL: the machine has one state */
    uint32_t *first_funcs; /* by FUNCS_STEP bytes of code: the first function that does not end
                              before them; NULL until functions are found */
};
enum { FUNCS_STEP = 256, STATE_BYTES = 2 };
enum { CODE_UNKNOWN = CODE_DATA + 1 }; /* a state, while they are sought */

struct func { /* one unwind range, or the code of a function symbol outside of them */
    vaddr_t start, end;
    vaddr_t body;                     /* start, behind a landing instruction and a sled */
    const struct unwind_range *range; /* NULL: depths come from its code */
    struct text *text;
    uint32_t first_row, row_count; /* into analysis.rows, once its code was followed */
    const char *name;              /* NULL when no function symbol stands at start */
    uint32_t parent;  /* union-find: ranges that are one function; the root is the lowest */
    bool entry_depth; /* the frame at start is that of a function's entry */
    bool plt;
    bool thunk;         /* stands for an indirect jump through a register */
    bool cold;          /* named as a part of another function */
    bool bad;           /* something in it is no instruction */
    bool branched_to;   /* without unwind information: by described code, directly */
    bool loose;         /* without unwind information: nothing ties it to its place */
    bool sized;         /* without unwind information: a symbol's size tells where it ends */
    bool weak;          /* known by jumps from other functions only: may be a part of one */
    bool unproven;      /* its code does not tell how deep the stack is wherever that counts */
    uint16_t inner;     /* its callers' stack, when it may return for them; 0: it does not */
    bool called;        /* entered from outside its group */
    bool falls_through; /* its end runs into the next range; after exits_find(): unseen */
    bool entry;         /* what users see as a function */
    uint8_t tier;       /* enum tier, of its entry */
    bool trap;          /* its entry, which has no tier, could be a trap */
    bool loop_head;     /* its entry is a branch target of its own group */
    bool open_flow;     /* root: has an indirect jump whose targets are not known */
    bool pops;          /* root: leaves with what stood on the stack before it was entered */
    vaddr_t pad;        /* the first of the nops that a compiler left for patching; 0: none */
    bool in_table;      /* its start is an entry of another range's jump table */
    uint32_t tables;    /* jump tables that were decoded; root: the group's */
    uint32_t code_refs; /* places in its middle that data refers to; root: the group's */
    uint32_t number;    /* index of the plan_function that owns its exits */
    vaddr_t last;       /* its last instruction that is no padding */
};
enum { NO_FUNC = UINT32_MAX };

struct transfer { /* a return, an indirect jump, or a direct branch that leaves its range or leads
                     to its start */
    vaddr_t from, to; /* to: direct branches; indirect jumps: dispatch.table */
    uint32_t func;
    uint8_t kind;     /* enum insn_kind; a jump to a thunk counts as indirect */
    uint8_t dispatch; /* enum dispatch_kind of indirect jumps */
    bool entry_depth;
    bool inside; /* an indirect jump that was followed as a switch */
    bool tails;  /* an exit with a condition: a jump, no return */
};

/* Does T return, with a condition or without? What jumps through a register or memory on a
 * condition, to another function, is taken with it. */
static inline bool transfer_returns(const struct transfer *t) {
    return t->kind == INSN_RETURN || (t->kind == INSN_BRANCH && !t->to);
}

struct switch_table { /* of offsets, which a jump of FUNC reads as HOW tells */
    uint32_t func;
    struct dispatch how;
};

struct literal { /* a constant between instructions */
    vaddr_t addr;
    uint8_t size;
};

struct address_load { /* a pc-relative address computed in a function */
    vaddr_t address;
    uint32_t func;
};

struct exit_site {
    vaddr_t addr, target; /* target: of direct tail jumps, else 0 */
    uint32_t func;
    uint8_t size, kind;     /* of the instruction */
    uint8_t event, variant; /* enum event_kind, STUB_* */
    uint8_t tier, refused;  /* enum tier, enum refusal */
    int16_t pops;           /* arch.return_pops(); negative: its event cannot be told */
    uint8_t behind;         /* likewise */
    bool loops;             /* a jump to the function's own entry: no end, and no event */
    bool delegated;         /* a return that the ways to it do in its stead */
    bool falls; /* the last instruction of a function that runs into the next: leaves in any case */
    bool trap;  /* it has no tier, but could be a trap */
};

/* A return that loads the stack pointer (arch.return_loads_sp()), as the walk through its function
 * tells it; one in a part of several functions as each of them does. */
struct frame_return {
    vaddr_t addr;
    int16_t pops; /* as in struct exit_site */
    uint8_t behind;
};

struct return_branch { /* a direct branch of described code to a return, in such code, too */
    vaddr_t to, from;
    bool all; /* nothing else leads to it but such branches */
};

struct inner_way { /* a call of an inner function, or a jump to one that nobody calls */
    uint32_t from, to;
};

struct control_site { /* where a function goes on other than after a call or branch */
    vaddr_t addr;
    uint32_t func;
};

struct sled_place {
    vaddr_t start, end;
    enum sled_kind kind;
};

struct window {
    vaddr_t start, end; /* end: behind the last instruction that is moved */
    uint32_t func;
    vaddr_t hole; /* of a hop */
    uint8_t tier; /* enum tier */
    uint8_t room; /* bytes from start on that may be written: those of the window, and padding */
    bool entry, control; /* what happens at its first instruction */
    bool beside;         /* behind its last one stands the sled of an exit, which is told there */
    bool in_sled;        /* it is the head of one */
    bool far;            /* a far jump is to have room */
    uint8_t variant;     /* of the stub for that */
};

typedef ARRAY(vaddr_t) address_list;

struct table_reader { /* a stub for an import that reads the table behind its call: how */
    vaddr_t addr;
    struct dispatch how;
};

struct code_line { /* what runs one after the other, up to a jump */
    struct code_bytes jump;
    struct code_bytes past[DISPATCH_PAST]; /* nearest first */
    size_t count;
};

struct code_jump { /* a direct one, conditional or not */
    vaddr_t from, to;
};

struct code_start { /* where a function begins that neither ranges nor symbols tell of */
    vaddr_t addr;
    bool called; /* else jumped to from another function, and perhaps a part of that */
    bool direct; /* by a call instruction */
    bool guess;  /* only a word or a number tells of it, which may be a label, or no address */
    vaddr_t jumps_low, jumps_high; /* where the jumps that lead there stand; 0: none do */
};

struct analysis {
    const struct module *module;
    const struct arch *arch; /* of one of the machine's states: for what is the same in all */
    enum tier only;          /* the one tier that is wanted (for tests); TIER_NONE: any */
    bool large;              /* trampolines may be out of reach of its code's ordinary jumps */
    ARRAY(struct sled_place) sleds;           /* by address, disjoint */
    ARRAY(struct code_start) starts;          /* by address, each once; for machines with states */
    ARRAY(struct code_jump) jumps;            /* likewise, where all code was sought; by `from` */
    address_list labels;                      /* what switches lead to; likewise, in no order */
    ARRAY(struct table_reader) table_readers; /* by address */
    ARRAY(struct text) texts; /* by address, disjoint; complete before anything points at one */
    struct func *funcs;       /* by address, disjoint */
    size_t func_count;
    vaddr_t bare_low,
        bare_high;              /* where functions without unwind information stand; both 0: none */
    ARRAY(struct cfa_row) rows; /* of functions that depth_follow() went through */
    ARRAY(struct frame_return) frame_returns; /* in these; sorted by exits_find() */
    ARRAY(struct inner_way) inner_ways;
    ARRAY(struct literal) literals;       /* by address, from literals_settle() on */
    ARRAY(struct address_load) odd_words; /* of functions: those that are no instructions */
    ARRAY(struct transfer) transfers;     /* by address */
    ARRAY(struct address_load) loads;     /* of other addresses than bases; by function */
    ARRAY(vaddr_t) answers;               /* what calls go to that hand results on in flags */
    ARRAY(struct address_load) bases;     /* of the function's own code; by function */
    ARRAY(struct switch_table) switches;  /* whose form the jump's instructions tell; by function */
    ARRAY(vaddr_t) data_starts;           /* addresses of loads; sorted; for data_room() */
    ARRAY(vaddr_t) switch_words;   /* words that lead to starts of parts of a switch; sorted */
    ARRAY(struct exit_site) exits; /* by address */
    ARRAY(struct return_branch) to_returns; /* by `to`, from returns_note() on */
    address_list twice;                     /* functions that return twice, their stubs and slots */
    address_list poppers; /* see special_pops_word(), and their stubs; from depths_find() on */
    ARRAY(struct control_site) controls; /* by address */
    ARRAY(struct window) windows;        /* by address */
};

/* ---- plan.c ---- */
/* Frees what is in A, which stays the caller's. */
void analysis_done(struct analysis *a);

/* ---- text.c ---- */
int text_open(struct analysis *a, struct err *err);
void text_close(struct analysis *a);
/* Decodes all code; needs funcs. */
void text_decode(struct analysis *a);
struct text *text_at(const struct analysis *a, vaddr_t addr);
/* What lies in literal pools (32-bit Arm): the word that IN accesses, if it is a constant; else
 * NULL. For trails. */
const uint8_t *text_literal(const struct analysis *a, const struct insn *in);
/* The executable section at ADDR, NULL if none. */
const struct section *text_section_at(const struct analysis *a, vaddr_t addr);
/* The instruction before ADDR, if one ends there; 0 if not. */
vaddr_t text_previous(const struct text *text, vaddr_t addr);
/* Whether an instruction of a function writes the register that lanes hang off. */
bool text_takes_lane(const struct analysis *a);

static inline uint8_t *text_fact(const struct text *text, vaddr_t addr) {
    return &text->facts[addr - text->start];
}
static inline uint8_t text_kind(const struct text *text, vaddr_t addr) {
    return text->code[addr - text->start] & 15;
}
static inline uint8_t text_size(const struct text *text, vaddr_t addr) {
    return (uint8_t)(text->code[addr - text->start] >> 4 << text->size_shift);
}
static inline uint8_t text_code(const struct text *text, uint8_t size, uint8_t kind) {
    return (uint8_t)(size >> text->size_shift << 4 | kind);
}
/* Has the instruction at ADDR, which is in TEXT, an insn.target? */
static inline bool text_refers(const struct text *text, vaddr_t addr) {
    size_t i = addr - text->start;
    return text->refers[i / 8] >> i % 8 & 1;
}
/* Does an instruction begin at ADDR, which is in TEXT? */
static inline bool text_begins(const struct text *text, vaddr_t addr) {
    return text->code[addr - text->start];
}
static inline const uint8_t *text_bytes(const struct text *text, vaddr_t addr) {
    return text->bytes + (addr - text->start);
}
static inline bool text_holds(const struct text *text, vaddr_t addr) {
    return addr - text->start < text->size;
}
static inline uint8_t *text_state(const struct text *text, vaddr_t addr) {
    return &text->states[(addr - text->start) / STATE_BYTES];
}
/* Of the code at ADDR. */
static inline const struct arch *text_arch(const struct analysis *a, const struct text *text,
                                           vaddr_t addr) {
    return text->states && *text_state(text, addr) == CODE_T32 ? a->arch->other : a->arch;
}
/* Can an exit at ADDR be told on its taken side only? A branch that counts cannot. */
static inline bool text_can_part(const struct analysis *a, const struct text *text, vaddr_t addr) {
    return text_kind(text, addr) != INSN_LOOP || text_arch(a, text, addr)->part_exit;
}
/* Is there data in the midst of code? */
static inline bool text_is_data(const struct text *text, vaddr_t addr) {
    return text->states && *text_state(text, addr) == CODE_DATA;
}
/* What leads to code, without the bit that tells a state. */
static inline vaddr_t code_address(const struct analysis *a, vaddr_t word) {
    return a->arch->other ? word & ~(vaddr_t)1 : word;
}
/* Behind the bytes from ADDR on, up to LIMIT, that are of the same state. */
vaddr_t text_state_end(const struct text *text, vaddr_t addr, vaddr_t limit);
/* Sets FACTS at ADDR if there is code. */
void text_note(const struct analysis *a, vaddr_t addr, uint8_t facts);
bool text_is_insn(const struct analysis *a, vaddr_t addr);

/* ---- states.c ---- */
/* Finds out about the states of all code, and analysis.starts. */
void states_find(struct analysis *a);

/* ---- inline_tables.c; for machines with states ---- */
/* Finds analysis.table_readers, once the states of the linker's stubs are known. */
void inline_tables_find(struct analysis *a);
/* Is CALL, of ARCH's code, one of a function that goes on where a table right behind the call
 * tells? That table's form. */
bool call_is_switch(const struct analysis *a, const struct arch *arch, const struct insn *call,
                    struct dispatch *ret);
/* arch.dispatch() of JUMP, which is an indirect one, or such a call. */
struct dispatch dispatch_of(const struct analysis *a, const struct arch *arch,
                            const struct insn *jump, const struct code_line *line);

/* ---- guess.c; while states are sought ---- */
/* The state of the code that stands before ADDR in its section, or else behind it; A32 where there
 * is none. Other sections may be of the other state, as .init mostly is. */
uint8_t state_near(const struct analysis *a, const struct text *t, vaddr_t addr);
/* That of a function in [START, END): what is known of START, or else what its words look like;
 * where these do not tell, that near it. */
uint8_t state_likely(const struct analysis *a, const struct text *t, vaddr_t start, vaddr_t end);
/* The same of what stands at ADDR, unknown, where a word or a number leads to, with the BIT of T32
 * or without, that may as well be the address of data: CODE_DATA if it does not read as a function.
 * NUMBER: it may be no address at all, so what stands before ADDR must be known, or a function
 * begin as most do. */
uint8_t state_guessed(const struct analysis *a, const struct text *t, vaddr_t addr, bool bit,
                      bool number);

/* ---- endless.c ---- */
/* The instruction at the start of PLACE, in T, which is to end in it, while states are sought. What
 * ways have come to is known, so only of what may lead elsewhere more is told than kind and size.
 * False: there is no code (RET's size is 0), or no instruction. */
bool code_insn(const struct analysis *a, const struct text *t, struct span place, struct insn *ret);
/* The number of the first of LIST, which is sorted, that is not below ADDR. */
size_t list_place(const address_list *list, vaddr_t addr);
bool list_holds(const address_list *list, vaddr_t addr);
/* Adds to RET, which is sorted then, what never returns as its name says, and stubs of the linker's
 * for such. */
void endless_by_name(const struct analysis *a, address_list *ret);
/* Adds to RET_ENDS what stands right behind calls that never return, by address, and to RET_BEGINS
 * where functions may begin behind them to which nothing leads. Starts are sorted. */
void endless_find(struct analysis *a, address_list *ret_ends, address_list *ret_begins);

/* ---- starts.c ---- */
/* Completes analysis.starts by what analysis.jumps lead to, and sorts both. */
void starts_settle(struct analysis *a);

/* ---- functions.c ---- */
void functions_find(struct analysis *a);
uint32_t func_at(const struct analysis *a, vaddr_t addr); /* NO_FUNC if none */
/* CFA minus stack pointer at ADDR in F; DEPTH_UNKNOWN when the CFA is told otherwise, too. */
enum { DEPTH_UNKNOWN = INT32_MIN };
int32_t func_depth(const struct analysis *a, const struct func *f, vaddr_t addr);
/* Is it known that all of F is code, and entered as is told? By unwind information, or where all
 * code was found by its states. */
static inline bool func_is_described(const struct analysis *a, const struct func *f) {
    return f->range || a->arch->other;
}
/* Is the frame at ADDR in F as at F's entry? */
bool func_entry_depth(const struct analysis *a, const struct func *f, vaddr_t addr);
bool func_is_start(const struct func *f, vaddr_t addr);
/* Code of no known function branches to ADDR. */
void func_note_stray(const struct analysis *a, vaddr_t addr);
/* Described code branches to ADDR. */
void func_note_branch(const struct analysis *a, vaddr_t addr);

/* ---- targets.c ---- */
/* Symbols, data and landing pads; all as FACT_TARGET, function symbols as FACT_TAKEN. Of what data
 * may lead into the middle of a function by chance only, nothing yet. */
void targets_note(struct analysis *a);
/* Notes that, where it may be labels: groups and exits are known. */
void targets_note_labels(struct analysis *a);
/* Data that refers to code, except switch_words, takes its address. */
void targets_take(struct analysis *a);

/* ---- pads.c ---- */
/* Finds func.pad, and keeps the nops before entries from being taken for padding. Returns whether
 * ADDR, an entry of the table of patchable functions, is what it says. */
bool pad_note(struct analysis *a, vaddr_t addr);
/* The window of nops at the entry of W's function, and its hole; false if it has no such. */
bool pad_window(const struct analysis *a, struct window *w);

/* ---- literals.c ---- */
/* IN loads a constant by its place. */
void literals_note(struct analysis *a, const struct insn *in);
/* After text_decode(): what is a constant is no instruction. */
void literals_settle(struct analysis *a);

/* ---- sleds.c ---- */
void sleds_find(struct analysis *a);
/* Keeps them from being patched; after text_decode(). */
void sleds_lock(struct analysis *a);
/* The sled of KIND that starts at ADDR; NULL if there is none. */
const struct sled_place *sled_at(const struct analysis *a, vaddr_t addr, enum sled_kind kind);
/* Where the sled at a function's ADDR ends; ADDR if there is none. */
vaddr_t sled_of_entry(const struct analysis *a, const struct text *text, vaddr_t addr);
/* The sled of an entry that ends at ADDR; NULL if there is none. */
const struct sled_place *sled_before(const struct analysis *a, vaddr_t addr);
bool sled_touches(const struct analysis *a, vaddr_t start, vaddr_t end);

/* ---- dispatch.c ---- */
/* Fills in depth and dispatch of all transfers. */
void transfers_resolve(struct analysis *a);

/* ---- table.c; after groups_join() ---- */
void tables_decode(struct analysis *a);
/* Where ENTRY of a table leads to that is read as HOW tells. */
vaddr_t table_target(const struct dispatch *how, const uint8_t *entry);
/* Does a jump of FUNC, whose instructions tell how, read the table of offsets at TABLE? */
bool table_is_switch(const struct analysis *a, uint32_t func, vaddr_t table);
/* How it does; NULL: it does not. */
const struct dispatch *table_switch(const struct analysis *a, uint32_t func, vaddr_t table);
/* Index of the first of analysis.switches that is of FUNC or of a later function. */
size_t table_first(const struct analysis *a, uint32_t func);
/* What a table of addresses leads to. */
enum table_use { TABLE_UNKNOWN, TABLE_SWITCH, TABLE_FUNCTIONS };
enum table_use table_use(const struct analysis *a, uint32_t func, vaddr_t table);

/* ---- groups.c ---- */
uint32_t group_of(const struct analysis *a, uint32_t func); /* its root */
static inline struct func *group_root(const struct analysis *a, uint32_t func) {
    return &a->funcs[group_of(a, func)];
}
/* A branch to the first byte behind its own function, with a frame still up: the compiler knew that
 * it is never taken (the default of a switch that has none). */
bool transfer_is_idle(const struct analysis *a, const struct transfer *t);
/* An indirect jump to somewhere in its own function, so many bytes from a place there. */
bool transfer_is_computed(const struct analysis *a, const struct transfer *t);
void groups_unite(struct analysis *a, uint32_t x, uint32_t y);
/* Ranges that jump into each other other than by tail calls are one function. */
void groups_join(struct analysis *a);
/* Which functions are entered from outside; after tables_decode(). */
void groups_find_entries(struct analysis *a);

/* ---- exits.c ---- */
void exits_find(struct analysis *a);
struct exit_site *exit_at(const struct analysis *a, vaddr_t addr); /* NULL if there is none */
/* Is the stack behind the instruction at BYTES as it is before it? */
bool stack_is_kept(const struct arch *arch, const uint8_t *bytes, size_t size);

/* ---- controls.c ---- */
/* Before text_decode(), which calls controls_note_call() for each call in FUNC (or NO_FUNC). SLOT:
 * the word of memory that was last accessed at a known place before a call through a register; 0:
 * none. (If another one was called, the control site behind that tells nothing wrong.) */
void controls_find_twice(struct analysis *a);
/* Shows the linker's stubs for imports, with their names (NULL: not known). */
void stubs_of_imports(const struct analysis *a,
                      void (*see)(void *ctx, vaddr_t stub, const char *name), void *ctx);
/* Adds to RET, which is sorted then, functions that are wanted by their names (NULL: not known),
 * and the linker's stubs for such. */
void functions_by_name(const struct analysis *a, bool (*is_wanted)(const char *),
                       address_list *ret);
void controls_note_call(struct analysis *a, const struct insn *call, vaddr_t slot, uint32_t func);
void controls_find(struct analysis *a);

/* ---- windows.c ---- */
/* Chooses windows and tiers of entries (refusals into REFUSED, by func), exits and controls. */
void windows_choose(struct analysis *a, uint8_t *refused);

/* How many bytes at the start of W, as it is, a jump takes. */
uint8_t window_jump_bytes(const struct analysis *a, const struct window *w);

/* W's bytes are its own from now on, and what it holds is served by it. */
void window_take(struct analysis *a, const struct window *w);
/* The window that starts at ADDR, of the first COUNT, which are sorted; NULL: none. */
struct window *window_at(const struct analysis *a, size_t count, vaddr_t addr);
void windows_sort(struct analysis *a);
/* Of the stub at F's entry. */
uint8_t window_entry_variant(const struct analysis *a, const struct func *f);
/* Of that at a control site. */
enum { CONTROL_VARIANT = STUB_SKIP_RED_ZONE | STUB_SAVE_FLAGS };

/* Takes a window that holds the instruction at ADDR of FUNC; false if there is none. */
bool window_around(struct analysis *a, uint32_t func, vaddr_t addr);

/* Can the instruction at ADDR of F be moved away? FIRST: as the first of its window. */
enum refusal window_blocker(const struct func *f, vaddr_t addr, bool first);

/* ---- returns.c ---- */
/* Makes targets of what branches to returns lead to: text_decode() has not. */
void returns_note(struct analysis *a);
/* Makes room on the ways to returns that have none. WANTED_GROUP: by root. */
void returns_delegate(struct analysis *a, const bool *wanted_group);
/* Does W end right before ADDR, and what it holds run into that? */
bool window_runs_into(const struct analysis *a, const struct window *w, vaddr_t addr);

/* ---- fit.c ---- */
/* Is there room for TIER in W? Finds the hole that a hop needs. */
bool window_fits(const struct analysis *a, const struct text *text, struct window *w,
                 enum tier tier);

/* ---- holes.c ---- */
/* How many bytes of code of ARCH's a hole has; whether hops are of use there, as they are where
 * windows may be too short for a jump. */
uint8_t hole_bytes(const struct analysis *a, const struct arch *arch);
bool hole_may_serve(const struct analysis *a, const struct arch *arch);
/* Room for a jump, outside W and within reach of a hop at its start: padding, or what another
 * window has to spare; 0 if there is none. */
vaddr_t hole_near(const struct analysis *a, const struct text *text, const struct window *w);
/* The window of instructions that can be moved away to make such room; false if there is none. */
bool hole_make(const struct analysis *a, const struct text *text, const struct window *w,
               struct window *ret);

/* ---- traps.c ---- */
/* Windows of one instruction for the sites of WANTED functions (by func; WANTED_GROUP: by the root
 * of the group) that have no other. They are offered only: see plan_permit_traps(). */
void traps_offer(struct analysis *a, const bool *wanted, const bool *wanted_group);

/* ---- flags.c ---- */
/* May the flags at ADDR, the start of a function, be read before they are written? */
bool flags_live_at(const struct analysis *a, vaddr_t addr);

/* ---- special.c ---- */
/* Functions that are not called like others. REFUSED_NOT for ordinary ones. */
enum refusal special_refusal(const char *name);
bool special_returns_twice(const char *name);
bool special_is_thunk(const char *name);
/* Does it return with a word less on the stack than there was when it was called? */
bool special_pops_word(const char *name);
/* Does the symbol name a part that was split off a function? */
bool special_is_part(const char *name);

#endif
