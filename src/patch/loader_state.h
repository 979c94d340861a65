/* What the target's dynamic linker says of its list of modules: struct r_debug (link.h). */
#pragma once

#include "patch/space.h"

/* Whether the dynamic linker of SPACE is at work on its list (RT_ADD, RT_DELETE): it calls its hook
 * once more when it is done. TID: a thread of SPACE, running or not. False: it is not, or nothing
 * is known. */
bool loader_state_is_changing(const struct space *space, pid_t tid);
