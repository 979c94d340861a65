/* Writes a module's patches into its text in memory, and the original bytes back. */
#pragma once

#include "patch/pages.h"
#include "patch/text_view.h"

/* Makes private, ahead of time, the pages that the patches will change. The process may run, but
 * nobody else may write there. Errors: "text-differs", "memory". */
int rewrite_touch(const struct patched *p, const struct text_view *view, struct err *err);
/* Writes all patches that are not spared. VIEW: of P. Errors: "text-differs", "memory". */
int rewrite_patch(const struct patched *p, const struct text_view *view, struct err *err);
/* Writes the original bytes over P's patches. Patches that the program has overwritten stay as they
 * are. If PAGES is not NULL, pages are dropped where possible. Errors: "text-changed" (the program
 * has overwritten some; the rest is restored), "memory". */
int rewrite_restore(const struct patched *p, int memory_fd, struct pages *pages, struct err *err);
