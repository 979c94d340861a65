/* Patches and trampolines, as bytes for one load address. */
#pragma once

#include "base/mem.h"
#include "base/types.h"
#include "plan/tier.h"
#include "wire/ring.h"

enum { PATCH_MAX_BYTES = 10 };
struct patch { /* bytes to be written over the module's text */
    vaddr_t at;
    uint8_t window; /* bytes from `at` on whose instructions run in the trampoline */
    uint8_t size;   /* PATCH_MAX_BYTES at most */
    uint8_t reads;  /* bytes that the processor decodes as the jump; a pun's exceed `size` */
    bool yields;    /* the program may overwrite the patch, and its bytes then stay */
    uint8_t before[PATCH_MAX_BYTES]; /* the file's bytes */
    uint8_t after[PATCH_MAX_BYTES];
};

/* A jump between a site and its trampoline, in a hole or on an island. A thread at `at` has only
 * left the site. */
struct way {
    vaddr_t at; /* also on islands */
    vaddr_t site;
};

/* The puns of all rounds of plan_emit(), in that order, and what the decision on them depends on.
 * Another process decides anew (puns.h). In files, so without padding. */
struct pun_site {
    vaddr_t at;
    vaddr_t trampoline;
    uint32_t function; /* the site's function */
    uint32_t exits;    /* exits in its window */
    bool entry;
    bool lost;       /* no pun could be written, or its function is left out */
    uint8_t if_lost; /* enum if_lost */
    bool lacks_more; /* its function lacks its entry, or an exit, whatever becomes of puns */
    uint8_t unused[4];
};
enum if_lost {                 /* what becomes of the function of a lost pun */
               LOST_ALONE,     /* it has its other patches */
               LOST_PATCHES,   /* its patches are left out, and no other code changes */
               LOST_WITH_CODE, /* code must be emitted without it */
};
enum { PUN_NEAR = UINT32_MAX, PUN_OWN = UINT32_MAX - 1 };
struct pun_patch { /* a patch as it was before puns were written */
    struct patch patch;
    uint32_t owner; /* the function with whose entry it is lost; PUN_OWN: a pun's; PUN_NEAR: it is
                       only near one */
    uint32_t unused;
};
struct pun_round {
    size_t puns, patches, ways; /* how many of the next three arrays are of this round */
};
struct pun_log {
    ARRAY(struct pun_round) rounds;
    ARRAY(struct pun_site) puns;
    ARRAY(struct pun_patch) patches;
    ARRAY(struct way) ways; /* to holes, of patches that have an owner */
    size_t missed_exits[TIER_COUNT], trapped_exits[TIER_COUNT]; /* as in struct plan_code: of puns
                                                                   in the last round */
    bool undecided; /* after all rounds, some function lacks its entry but not its exits */
};

/* Pages outside the module and its area that puns jump to. Each holds jumps into the area. */
enum { ISLAND_BYTES = 4096 };
struct island {
    taddr_t at;
    uint8_t *bytes; /* ISLAND_BYTES */
};

/* A breakpoint. The tool moves the stopped thread on to the trampoline. */
struct trap {
    vaddr_t at;
    uint32_t trampoline; /* offset in the area */
    uint32_t function;   /* index in the plan */
    uint8_t window;      /* bytes from `at` on whose instructions run in the trampoline */
};

/* What is in the trampoline area from `offset` up to the next mark's. */
enum mark_kind {
    MARK_NONE,    /* agent or filler */
    MARK_STUB,    /* an event stub; `orig` is the site; offset is the stub's first byte */
    MARK_INSN,    /* one relocated instruction, or the jump back; `orig` is its first address */
    MARK_THROUGH, /* a jump through the word at `orig` */
};
struct mark {
    uint32_t offset;
    uint8_t kind : 3;  /* enum mark_kind */
    bool at_start : 1; /* resuming at `orig` is always safe: it is no byte of this window, or the
                          first one and no stub of the window comes before this mark */
    bool other : 1; /* the code here and at `orig` is of the machine's other state (arch.other) */
    uint8_t behind : 3; /* MARK_STUB: stub_spec.behind, or MARK_ALL_BEHIND */
    uint8_t variant;    /* MARK_STUB: the template, for stub_state_at() */
    uint8_t it;         /* ITSTATE at `orig` inside an IT block (T32); else 0 */
    union {
        uint8_t pops;   /* MARK_STUB: stub_spec.pops, in words */
        uint8_t pushed; /* other kinds: as in struct relocated */
    };
    vaddr_t orig;
};
_Static_assert(sizeof(struct mark) == 16, "there are millions of them");
enum { MARK_ALL_BEHIND = 7 };

/* A return pops POPPED words, of which BEHIND lie above the return address. True if a mark can hold
 * these numbers. MARK_ALL_BEHIND stands for all words but one, as in Go's returns. */
static inline bool mark_can_hold(int32_t popped, int32_t behind) {
    return popped <= UINT8_MAX && (behind < MARK_ALL_BEHIND || behind == popped - 1);
}

/* For a thread at the stub of M: how many stack words lie below the return address. */
static inline unsigned mark_words_before(const struct mark *m) {
    return !m->pops || m->behind == MARK_ALL_BEHIND ? 0 : m->pops - 1U - m->behind;
}

/* Where bytes of code in flat form come from that were not needed so far. False: they are damaged.
 */
struct code_source {
    /* Fills memory of the area or the marks: [AT, AT + SIZE). */
    bool (*fill)(struct code_source *s, const void *at, size_t size);
    /* Copies what it would be filled with to RET. */
    bool (*copy)(struct code_source *s, const void *at, size_t size, void *ret);
    void (*close)(struct code_source *s);
};

struct plan_code {
    uint8_t *area; /* the trampoline area; the agent comes first */
    size_t area_used;
    struct patch *patches;
    size_t patch_count; /* sorted by address, disjoint */
    struct mark *marks;
    size_t mark_count; /* sorted by offset */
    struct island *islands;
    size_t island_count; /* sorted by address */
    struct way *ways;
    size_t way_count; /* sorted by address */
    uint8_t *missed;  /* bitmap by function: its entry cannot be patched at this load address */
    uint8_t *inexact; /* bitmap by function: one of its exits cannot be patched */
    uint8_t *beyond; /* bitmap by function: missed or inexact since the area is too small or too far
                        away; a second area may serve it */
    size_t missed_exits[TIER_COUNT];   /* by the tier that was planned */
    size_t regained_exits[TIER_COUNT]; /* of a second area: exits that it serves and the first one
                                          counted as missed */
    struct trap *traps;
    size_t trap_count; /* sorted by address */
    uint8_t *trapped;  /* bitmap by function: has a trap in place of a pun that cannot be emitted */
    size_t trapped_exits[TIER_COUNT]; /* as missed_exits */
    uint32_t *addresses;  /* offsets in the area of run-time addresses of the module … */
    size_t address_count; /* … in words of WORD_BYTES */
    uint8_t word_bytes;
    uint32_t *displaced; /* offsets in the area of 32-bit displacements to places outside it … */
    size_t displaced_count; /* … ascending; none if arch.displacement_at is 0 */
    bool far;               /* it has far jumps, which hold run-time addresses */
    bool lacks_sites;       /* some are out of the area's reach */
    struct pun_log pun_log;
    struct span *lost; /* where puns could be that have no place: link-time addresses. Some are
                              occupied in this process only */
    size_t lost_count;
    size_t sites;
    enum overflow overflow; /* as in the request: stubs depend on it */
    struct span caller;     /* as in the request */
    uint64_t farther;  /* to be added to the area's distance from the module: plan_code_copy() */
    void *pages;       /* memory that has all arrays but patches, ways, traps, islands, lost … */
    size_t pages_size; /* … for mem_unmap(); NULL: each is allocated */
    struct code_source *source; /* of the area and the marks, and owner of `pages`; or NULL */
};
