/* Runs the commands of 'spoor ctl'. Called from the tracer's thread, between reports. */
#pragma once

#include "record/recording.h"

/* A control_handler; CTX is a struct recording. */
void command_run(void *ctx, const struct request *request, struct control_answer *ret);
