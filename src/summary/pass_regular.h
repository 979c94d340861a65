/* The pass over regular streams (plan.h): blocks of all of them in order of time. */
#pragma once

#include "summary/pass.h"

/* SOURCE's progress goes to P. */
void pass_read_regular(struct pass *p, const struct source *source);
/* Adds a call that a walk has closed. With the lock. */
void pass_take_call(struct pass *p, const struct walk_call *call);
