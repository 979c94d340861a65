/* A module's text in memory: its patches written, and what they have changed written back. */
#pragma once

#include "patch/pages.h"

/* Whether P's patches may be written, but for those that are spared. Errors: "text-differs",
 * "memory". */
int rewrite_check(const struct patched *p, int memory_fd, struct err *err);
/* Makes the pages that they will stand in the process's own, ahead of that; it may run, but nobody
 * else may write there. Errors: as rewrite_check(). */
int rewrite_touch(const struct patched *p, int memory_fd, struct err *err);
/* Writes them, as far as they may be. Errors: "text-differs", "memory". */
int rewrite_patch(const struct patched *p, int memory_fd, struct err *err);
/* Writes back what P's patches have changed, where they stand. What others have written there since
 * stays. Pages become their file's again, if PAGES is not NULL. Errors: "text-changed" (there is
 * such text; the rest is restored), "memory". */
int rewrite_restore(const struct patched *p, int memory_fd, struct pages *pages, struct err *err);

/* Restores patch number I, and first what rests on it: puns below it that borrow bytes of it, and
 * hops whose holes lie in its window. Errors: "memory". */
int rewrite_withdraw(const struct patched *p, int memory_fd, size_t i, struct err *err);
