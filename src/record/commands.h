/* The commands of 'spoor ctl'. Called from the tracer's thread, between reports. */
#pragma once

#include "record/recording.h"

/* control_handler of a struct recording, CTX. */
void command_run(void *ctx, const struct request *request, struct control_answer *ret);
