/* How callers of code without call-frame information are found where processors have unwind tables
 * of their own, or code tells enough: on 32-bit Arm. Private to src/unwind. */
#pragma once

#include "unwind/images.h"
#include "unwind/rows.h"

/*
 * Makes M's registers those of the caller of FRAME, which is in CODE and whose pc M has as the
 * machine names it, and fills in FRAME. False: *RET_END says what FRAME is the end of, and M is as
 * it was.
 */
bool step_by_code(struct images *images, struct code *code, struct machine *m,
                  struct unwind_frame *frame, enum unwind_end *ret_end);
