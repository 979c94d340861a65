/* One step to the caller by the library in backtrace/, which also serves devices: by Arm's unwind
 * tables and by the code itself. Private to src/unwind. */
#pragma once

#include <spoor_backtrace.h>

#include "unwind/rows.h"

struct code_frame {
    uint64_t pc; /* with the Thumb bit */
    bool exact;
    uint8_t by; /* how it was found: SPOOR_BY_... */
    bool sure;  /* proven by code, a table or hardware */
};

/* Replaces M's registers, which are FRAME's, by the caller's, and FRAME by the caller. If FRAME is
 * the handler of an exception, the caller is the code that the exception interrupted. PSP:
 * Cortex-M's process stack pointer; 0: unknown. False: no caller was found, and both are unchanged.
 */
bool code_step(const struct spoor_image *image, struct machine *m, uint64_t psp,
               struct code_frame *frame);
