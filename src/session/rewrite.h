/* A module's text in memory: its patches written, and what they have changed written back. */
#ifndef SPOOR_SESSION_REWRITE_H
#define SPOOR_SESSION_REWRITE_H

#include "session/space.h"

/* Whether P's patches may be written, but for those that are spared. Errors: "text-differs",
 * "memory". */
int rewrite_check(const struct patched *p, int memory_fd, struct err *err);
/* Writes them, as far as they may be. Errors: "text-differs", "memory". */
int rewrite_patch(const struct patched *p, int memory_fd, struct err *err);
/* Writes back what P's patches have changed, where they stand. What others have written there since
 * stays. Errors: "text-changed" (there is such text; the rest is restored), "memory". */
int rewrite_restore(const struct patched *p, int memory_fd, struct err *err);

#endif
