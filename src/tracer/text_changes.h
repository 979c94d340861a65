/*
 * A thread is about to make patched text writable, or to end that (patch/guard.h). Before the call
 * is made, patches there leave the text; behind it, those return whose functions are as in their
 * file (patch/held.h).
 */
#pragma once

#include "patch/guard.h"
#include "tracer/tracer_state.h"

/* SPACE is stopped. TASK waits at a guard for CALL: prepares for it, lets TASK pass, and resumes
 * SPACE. False: SPACE must be left instead, since a guard of the lanes' register is in that text.
 */
bool text_changes_serve(struct tracer *t, struct space *space, struct task *task,
                        const struct guard_call *call);
