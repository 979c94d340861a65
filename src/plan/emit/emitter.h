/* The steps of plan_emit(). Private to it: emit.c, reach.c, requested.c, trampoline.c. */
#pragma once

#include "plan/emit/planned.h"
#include "plan/emit/puns.h"

struct losses {     /* sites out of reach so far, over all attempts to emit (reach.c) */
    uint8_t *sites; /* bitmap by number */
    bool more;      /* some were added in this attempt */
    bool any;       /* some were added in any attempt */
};

struct emitter {
    const struct plan *plan;
    const struct arch *arch; /* of the site that is being written … */
    vaddr_t start;           /* … its start … */
    const uint8_t *bytes;    /* … and its code */
    bool recorded;           /* one of its stubs is written */
    const struct plan_request *request;
    vaddr_t area;
    bool *wanted;           /* by site */
    uint32_t *first_traced; /* by group: its first traced function; UINT32_MAX: none */
    bool *judged;           /* by group: stubs judge the calls of its functions */
    bool *unfiltered;       /* by group: one of its functions is traced for all callers */
    uint8_t *carried;       /* bitmap by function: carried.c */
    vaddr_t *behind_entry;  /* by function: address behind its entry stub; 0: no stub (yet) */
    struct losses *losses;  /* NULL: nothing is emitted */
    struct plan_code *code;
    size_t patch_room, mark_room, way_room, trap_room, address_room, displaced_room;
    ARRAY(struct pun_site) puns; /* that are not written yet */
};

static inline bool emitter_is_call(uint8_t kind) {
    return kind == INSN_CALL || kind == INSN_CALL_INDIRECT;
}

/* ---- requested.c ---- */
/* Fills emitter.first_traced, judged, unfiltered, carried and behind_entry. */
void request_resolve(struct emitter *e);
/* True if FUNCTION may have traps; if its entry is recorded; if its entry stores a slice. */
bool request_has_traps(const struct plan_request *r, uint32_t function);
bool request_traces(const struct emitter *e, uint32_t function);
bool request_slices(const struct emitter *e, uint32_t function);
/* The capture of the EVENT that is recorded for OWNER; NULL: none. */
const struct plan_capture *request_capture(const struct emitter *e, uint32_t owner, uint8_t event);
/* STUB_* bits of a stub with the capture C. */
uint8_t capture_variant(const struct emitter *e, const struct plan_capture *c);
/* The predicate that decides which calls of FUNCTION are recorded; NULL: all are. It always holds
 * if FUNCTION has none, but its calls may end at exits that other functions end at, too. */
const struct predicate *request_judge(const struct emitter *e, uint32_t function);
/* Whether exits of FUNCTION end only calls that stubs judge. */
bool request_judges_exit(const struct emitter *e, uint32_t function);
/* The probe to be recorded before the step S; NULL: none. */
const struct plan_probe *request_probe(const struct emitter *e, const struct step *s);
/* The function for which an EVENT of FUNCTION's exit or control site is recorded: FUNCTION, or a
 * function that shares its code. UINT32_MAX: the event is not recorded. */
uint32_t event_owner(const struct emitter *e, uint32_t function, uint8_t event);
/* The same for the exit S. */
uint32_t exit_owner(const struct emitter *e, const struct step *s);
/* The variant of the stub that records EVENT for OWNER, made from the site's VARIANT. */
uint8_t event_variant(const struct emitter *e, uint8_t variant, uint32_t owner, uint8_t event);

/* ---- reach.c ---- */
/* True if S does not need a trampoline within arch.reach. */
bool reach_is_far(const struct plan *plan, const struct site *s);
/* The first is true if site number SITE, or its hole's maker, is lost. The second marks it lost. */
bool reach_has_lost(const struct emitter *e, size_t site);
void reach_lose(struct emitter *e, size_t site);
/* Counts exits and functions that the code lacks since the wanted site number SITE is lost. */
void reach_count_lost(struct emitter *e, size_t site);
/* Moves functions from SELECTED to MISSED if their entries are out of reach of every place in the
 * area. Returns true if there are any. */
bool reach_deselect(const struct plan *plan, const struct plan_request *request, uint8_t *selected,
                    uint8_t *missed);

/* For a second area: true if the first one serves S; true if the first one's patches prevent S
 * here; counts regained exits after all is written. */
bool reach_is_served(const struct emitter *e, const struct site *s);
bool reach_is_blocked(const struct emitter *e, const struct site *s);
/* True if the first area has counted FUNCTION's missed exits, since it serves the entry. */
bool reach_first_counts(const struct plan *plan, const struct plan_request *r, uint32_t function);
void reach_count_regained(const struct plan *plan, const struct plan_request *r,
                          struct plan_code *code);

/* ---- trampoline.c ---- */
/* Adds M as the mark of what is written next. */
void trampoline_mark(struct emitter *e, struct mark m);
/* Writes SITE's trampoline. WAITS: the variant of a stub that waits for the tool, or 0. EVENT: its
 * entry is recorded. Returns 0 or −ERANGE. */
int trampoline_write(struct emitter *e, const struct site *site, uint8_t waits, bool event);
