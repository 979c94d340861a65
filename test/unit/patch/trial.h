/*
 * One call of a function of sites.S, disturbed before one of its instructions, and the same call
 * undisturbed.
 */
#pragma once

#include "guest.h"

/* ---- the program without disturbance ---- */

enum { MOST_STATES = 400 };

struct reference {
    struct regs states[MOST_STATES]; /* before each instruction, and at the end */
    size_t count;
    struct event events[128]; /* of an undisturbed call under spoor, with slots of values */
    size_t event_count;
    size_t lost; /* how many are counted if they are lost */
};

/* BARE's functions are unpatched, G's are patched. */
void reference_record(struct guest *bare, struct guest *g, const struct call *call,
                      struct reference *ret);
/* Whether the program alone reaches REGS; their pc is AT. */
bool is_natural(const struct reference *r, const struct regs *regs, taddr_t at);
bool is_at_end(const struct guest *g, const struct reference *r);
/* The guest's ring. */
const struct event *events_of(const struct guest *g);
/* Copies the events of the call that began with HEAD at FIRST, without slices; returns how many
 * there are, at most ROOM. */
size_t trial_events(const struct guest *g, uint64_t first, struct event *ret, size_t room);

/* ---- conditions of a call ---- */

struct conditions {
    enum overflow overflow;
    bool full;         /* the ring is full when the call begins */
    bool room_later;   /* after TRIAL_LATER instructions the ring has room again */
    bool dies_later;   /* after as many instructions the tool seems to have died */
    bool sliced;       /* entries leave slices */
    bool captures;     /* events have values … */
    bool plain;        /* … that no stub can leave out */
    const char *where; /* calls that count by their values; NULL: all */
    enum { FROM_ANYWHERE, FROM_CALLER, FROM_ELSEWHERE } from; /* the calls that count */
};
enum { TRIAL_LATER = 40 };

struct trial {
    struct guest *g;
    const struct call *call;
    const struct conditions *conditions;
    const struct reference *reference;
    unsigned k; /* the disturbance comes before instruction K; instructions of stubs count, too */
};

void trial_begin(const struct trial *t);
void trial_change_conditions(const struct trial *t);
void trial_fail(const struct trial *t, const char *what);

/* Calls that reach stubs of all kinds, and one that reaches the hook. */
enum { TRIAL_CALLS = 32 };
extern const struct call trial_calls[TRIAL_CALLS];
extern const struct call trial_hook_call;
/* Checks that the functions are patched by the tiers that they are made for. */
void trial_expect_tiers(const struct guest *g);
