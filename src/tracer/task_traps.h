/* A task's trap, while its space holds traps (traps.h). */
#pragma once

#include <stdbool.h>

#include "base/types.h"

struct task_traps {
    taddr_t hit;      /* the trap that it has hit, not counted yet; else 0 */
    bool hit_in_step; /* the program was single-stepping */
};
