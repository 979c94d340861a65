/*
 * One call of a function of sites.S, disturbed before one of its instructions, and the same call
 * undisturbed.
 */
#pragma once

#include "guest.h"

/* ---- how the program runs by itself ---- */

enum { MOST_STATES = 400 };

struct reference {
    struct regs states[MOST_STATES]; /* before each instruction, and at the end */
    size_t count;
    struct event events[16]; /* of an undisturbed call under spoor */
    size_t event_count;
};

/* BARE's functions are as they are, G's are instrumented. */
void reference_learn(struct guest *bare, struct guest *g, const struct call *call,
                     struct reference *ret);
/* As the program comes there by itself, REGS are; their pc is AT. */
bool is_natural(const struct reference *r, const struct regs *regs, taddr_t at);
bool is_at_end(const struct guest *g, const struct reference *r);
/* The guest's ring. */
const struct event *events_of(const struct guest *g);
/* What it holds of the call that has begun with HEAD at FIRST, slices left out: returns how many,
 * ROOM at most. */
size_t trial_events(const struct guest *g, uint64_t first, struct event *ret, size_t room);

/* ---- what may be in the way of an event ---- */

struct weather {
    enum overflow overflow;
    bool full;       /* the ring is, when the call begins */
    bool room_later; /* after TRIAL_LATER instructions there is room again */
    bool dies_later; /* after as many the tool seems to have died */
    bool sliced;     /* entries leave slices */
    enum { FROM_ANYWHERE, FROM_CALLER, FROM_ELSEWHERE } from; /* FROM_CALLER: whose calls count */
};
enum { TRIAL_LATER = 40 };

struct trial {
    struct guest *g;
    const struct call *call;
    const struct weather *weather;
    const struct reference *reference;
    unsigned k; /* it is disturbed before the K-th instruction, its own and ours counted */
};

void trial_begin(const struct trial *t);
void trial_change_weather(const struct trial *t);
void trial_fail(const struct trial *t, const char *what);

/* Calls that come to stubs of all kinds; and one that comes to the hook. */
enum { TRIAL_CALLS = 26 };
extern const struct call trial_calls[TRIAL_CALLS];
extern const struct call trial_hook_call;
/* That functions are patched in the ways that they are made for. */
void trial_expect_tiers(const struct guest *g);
