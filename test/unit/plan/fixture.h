/*
 * A module in two copies, with symbols and without, and their plans. Tests name functions and
 * places. By default they judge the plan of the copy without symbols, where the planner has the
 * least help.
 */
#pragma once

#include "arch/arch.h"
#include "plan/plan.h"

struct fixture {
    struct module *named, *bare;
    struct plan *named_plan, *plan;
    struct plan_code code; /* code of the bare copy, at link-time addresses (bias 0) */
    taddr_t area;
};

struct fixture *fixture_open(const char *named, const char *bare);
void fixture_close(struct fixture *f);

vaddr_t fixture_place(const struct fixture *f, const char *name);
/* NULL if the plan has no such function. */
const struct plan_function *fixture_bare(const struct fixture *f, const char *name);
const struct plan_function *fixture_named(const struct fixture *f, const char *name);

/* The patch that covers ADDR, but does not begin there; NULL if none. */
const struct patch *fixture_patch_over(const struct fixture *f, vaddr_t addr);
const struct patch *fixture_patch_at(const struct fixture *f, vaddr_t addr);
/* Whether control that arrives at ADDR runs the original instruction: ADDR is not inside a window.
 */
bool fixture_is_free(const struct fixture *f, vaddr_t addr);
/* The stub of the site at ADDR with event KIND; NULL if none. */
const struct mark *fixture_stub(const struct fixture *f, vaddr_t addr, enum event_kind kind);
uint32_t fixture_stub_site(const struct fixture *f, const struct mark *stub);
/* Checks that a thread is put back to ADDR, where an entry's site is, from no piece of the first
 * instruction: its event is recorded then. Returns how many pieces there are. */
size_t fixture_check_pieces(const struct fixture *f, vaddr_t addr);
