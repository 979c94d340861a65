/* A caller on Arm by what the code itself does, or by its unwind tables: where call-frame
 * information is missing, or cannot be trusted. Private to src/unwind. */
#ifndef SPOOR_UNWIND_OFFLINE_CODE_H
#define SPOOR_UNWIND_OFFLINE_CODE_H

#include "unwind/offline.h"
#include "unwind/rows.h"

/*
 * Makes M's registers those of the caller of FRAME, whose registers they are, or those of what the
 * exception has interrupted that it serves, and fills in RET. PSP: 0 if it is not known. Only what
 * is proven counts. False: there is nothing, and M is as it was; also on other machines.
 */
bool offline_step_by_code(const struct offline_program *program, const struct offline_frame *frame,
                          struct machine *m, uint64_t psp, struct offline_frame *ret);

#endif
