/* Finds the caller of code that has no call-frame information, on 32-bit Arm: by Arm's unwind
 * tables and by the code itself. Private to src/unwind. */
#pragma once

#include "unwind/images.h"
#include "unwind/rows.h"

/* Replaces M's registers, which are FRAME's, by those of FRAME's caller, and fills in FRAME. FRAME
 * is in CODE; M's pc has the Thumb bit. False: *RET_END says why there is no caller, and M is
 * unchanged. */
bool step_by_code(struct images *images, struct code *code, struct machine *m,
                  struct unwind_frame *frame, enum unwind_end *ret_end);
