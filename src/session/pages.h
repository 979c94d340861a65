/*
 * Pages of text that were written are private to their process from then on, whatever they hold:
 * memory that it shares with nobody any more, and that each of its forks makes dearer.
 */
#ifndef SPOOR_SESSION_PAGES_H
#define SPOOR_SESSION_PAGES_H

#include "session/space.h"

/* Makes the pages that SPACE's patches stood in their file's again, if they hold what that does;
 * its threads stand still, and CALLER may make calls. Where this is not possible they stay private.
 */
void pages_give_back(const struct space *space, pid_t caller);

#endif
