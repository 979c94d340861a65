/* What the code itself tells of a caller, and on Arm its unwind tables: where call-frame
 * information is missing, or cannot be trusted. Private to src/unwind. */
#pragma once

#include "unwind/offline.h"
#include "unwind/rows.h"

/*
 * Makes M's registers those of the caller of FRAME, whose registers they are, or those of what the
 * exception has interrupted that it serves, and fills in RET. PSP: 0 if it is not known. Only what
 * is proven counts. False: there is nothing, and M is as it was; also on other machines.
 */
bool offline_step_by_code(const struct offline_program *program, const struct offline_frame *frame,
                          struct machine *m, uint64_t psp, struct offline_frame *ret);

/* Does a call stand in CODE, a function? (Any halfword of Thumb code is looked at.) */
bool offline_has_call(const struct offline_program *program, const struct span *code);

/* Bit n: register n has at ADDR what it has when the function returns, or jumps to another one;
 * none where the way there is not one straight line, and on machines with two states. */
uint64_t offline_kept_to_return(const struct offline_program *program, vaddr_t addr);
