/* Islands: pages with a jump to a trampoline, where a pun leads (plan/emit/puns.c). */
#pragma once

#include "patch/patched.h"

/* How many more islands the process may have. */
size_t islands_room(const struct space *space);
/* Maps and fills the islands of P's code; P's `islands` tells how many there are on error. */
int islands_map(struct patched *p, const struct patch_request *request, struct err *err);
/* Adds them to MAPS, as if they were mapped. */
void islands_note(const struct patched *p, struct maps *maps);
