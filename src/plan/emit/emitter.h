/* What plan_emit() is made of. Private to it: emit.c, requested.c, trampoline.c. */
#pragma once

#include "plan/emit/planned.h"
#include "plan/emit/puns.h"

struct losses {     /* what is out of reach (reach.c), of all that was emitted so far */
    uint8_t *sites; /* bitmap by number */
    bool more;      /* since that was last looked at */
    bool any;       /* ever */
};

struct emitter {
    const struct plan *plan;
    const struct arch *arch; /* of the site that is being written */
    const struct plan_request *request;
    vaddr_t area;
    bool *wanted;          /* by site */
    uint32_t *chosen;      /* by group: its first function that is traced, UINT32_MAX if none */
    bool *open;            /* by group: one of its functions is traced for all callers */
    uint8_t *carried;      /* bitmap by function: carried.c */
    vaddr_t *behind;       /* by function: what follows its entry stub, 0 if there is none (yet) */
    struct losses *losses; /* NULL: nothing is emitted, or lost */
    struct plan_code *code;
    size_t patch_room, mark_room, way_room, trap_room;
    pending_array pending;
};

static inline bool emitter_is_call(uint8_t kind) {
    return kind == INSN_CALL || kind == INSN_CALL_INDIRECT;
}

/* ---- requested.c ---- */
/* Fills in chosen, open, carried and behind. */
void request_resolve(struct emitter *e);
/* May FUNCTION have traps; is its entry recorded; does its entry leave a slice of the stack? */
bool request_has_traps(const struct plan_request *r, uint32_t function);
bool request_traces(const struct emitter *e, uint32_t function);
bool request_slices(const struct emitter *e, uint32_t function);
/* The function that an EVENT of FUNCTION's exit or control site is recorded for: FUNCTION, or a
 * function that shares its code. UINT32_MAX: nothing is recorded. */
uint32_t event_owner(const struct emitter *e, uint32_t function, uint8_t event);
/* The same for the exit S. */
uint32_t exit_owner(const struct emitter *e, const struct step *s);
/* The variant of the stub that records EVENT for OWNER, made from the site's VARIANT. */
uint8_t event_variant(const struct emitter *e, uint8_t variant, uint32_t owner, uint8_t event);

/* ---- reach.c ---- */
/* Whether S needs no trampoline that is near. */
bool reach_is_far(const struct site *s);
/* Whether site number SITE, or what it rests on, is lost; notes that it is. */
bool reach_has_lost(const struct emitter *e, size_t site);
void reach_lose(struct emitter *e, size_t site);
/* The code is without site number SITE, which is wanted. */
void reach_tell_lost(struct emitter *e, size_t site);
/* Moves functions from SELECTED to MISSED that the area cannot reach wherever in it their
 * trampolines are. Returns whether there are such. */
bool reach_deselect(const struct plan *plan, const struct plan_request *request, uint8_t *selected,
                    uint8_t *missed);

/* Of a second area: whether the first one serves S; whether S cannot be here because of what is
 * there; what is regained, when all is written. */
bool reach_is_served(const struct emitter *e, const struct site *s);
bool reach_is_blocked(const struct emitter *e, const struct site *s);
/* Has the first one counted the exits of FUNCTION that are missed, as it has its entry? */
bool reach_first_counts(const struct plan *plan, const struct plan_request *r, uint32_t function);
void reach_count_regained(const struct emitter *e);

/* ---- trampoline.c ---- */
/* M stands for what is written next. */
void trampoline_mark(struct emitter *e, struct mark m);
/* HOOK: with the loader's hook; EVENT: its entry is told. 0 or −ERANGE. */
int trampoline_write(struct emitter *e, const struct site *site, bool hook, bool event);
