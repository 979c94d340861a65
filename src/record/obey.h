/* What 'spoor ctl' asks of a recording, done. Called from the tracer's thread, between reports. */
#ifndef SPOOR_RECORD_OBEY_H
#define SPOOR_RECORD_OBEY_H

#include "record/recording.h"

/* control_obey of a struct recording, CTX. */
void obey(void *ctx, const struct request *request, struct control_answer *ret);

#endif
