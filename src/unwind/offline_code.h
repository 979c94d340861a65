/* Finds a caller by the code itself, and on Arm by its unwind tables, where call-frame information
 * is missing or cannot be trusted. Private to src/unwind. */
#pragma once

#include "unwind/offline.h"
#include "unwind/rows.h"

/*
 * Replaces M's registers, which are FRAME's, by the caller's, and fills in RET with the caller. If
 * FRAME is the handler of an exception, the caller is the code that the exception interrupted. PSP:
 * Cortex-M's process stack pointer; 0: unknown. Only proven callers count. False: there is none, or
 * the machine is not Arm, and M is unchanged.
 */
bool offline_step_by_code(const struct offline_program *program, const struct offline_frame *frame,
                          struct machine *m, uint64_t psp, struct offline_frame *ret);

/* True if the function CODE contains a call. (In Thumb code a call may begin at any halfword.) */
bool offline_has_call(const struct offline_program *program, const struct span *code);

/* Bit n: register n keeps its value from ADDR until the function returns or jumps to another
 * function. 0 if the way there is not a straight line, and on machines with two instruction sets.
 */
uint64_t offline_kept_to_return(const struct offline_program *program, vaddr_t addr);
