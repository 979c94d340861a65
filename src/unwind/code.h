/* A step to the caller by the library in backtrace/, which devices use, too: what Arm's unwind
 * tables and the code itself tell. Private to src/unwind. */
#pragma once

#include <spoor_backtrace.h>

#include "unwind/rows.h"

struct code_frame {
    uint64_t pc; /* with the Thumb bit */
    bool exact;
    uint8_t by; /* SPOOR_BY_...: how it was found */
    bool sure;  /* it follows from code, a table or hardware */
};

/*
 * Makes M's registers those of the caller of FRAME, whose registers they are, or those of what the
 * exception has interrupted that it serves, and FRAME becomes that one. PSP: 0 if it is not known.
 * False: there is nothing, and both are as they were.
 */
bool code_step(const struct spoor_image *image, struct machine *m, uint64_t psp,
               struct code_frame *frame);
