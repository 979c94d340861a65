/* Patches and trampolines, as bytes for one load address. */
#pragma once

#include "base/types.h"
#include "plan/tier.h"
#include "wire/ring.h"

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
