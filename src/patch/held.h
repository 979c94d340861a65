/*
 * Patches that stay out of the text, or leave it for a while, because of the text that they would
 * replace. Programs and other tools rewrite code: switches in code, hot patches, breakpoints. A
 * plan holds for the file's code only. So a function is *held*, all of its patches are out, while
 *
 *  - a byte that the plan has read, of the function or of a window, is not its file's, or
 *  - a page with a part of it is writable: the program may be about to change it, and finds its own
 *    bytes there.
 *
 * Functions that share code are held together. XRay's sleds may differ, and a module that has sleds
 * may be writable: its runtime writes there.
 * All functions need the threads of the process stopped, except held_look().
 */
#pragma once

#include "patch/space.h"

struct thread_positions;

/* P's patches are not written: finds those that must stay out, and forgets what was spared before.
 * Error: ESTALE "text-differs" if no patch is left, and pages are not writable. */
struct text_view;
int held_look(struct patched *p, const struct text_view *view, const struct writable_text *text,
              struct err *err);
struct held_change {
    int memory_fd;
    struct span pages;                /* run-time addresses */
    const struct writable_text *text; /* as it is then */
    const struct thread_positions *positions;
};
/* P is patched. Looks again at the functions with a part in CHANGE's pages, and at those that are
 * held: takes patches out, and writes those that are held no longer, for threads at the positions.
 * Sets *RET_WRITTEN if it has written some. Errors: "memory". */
int held_update(struct patched *p, const struct held_change *change, bool *ret_written,
                struct err *err);
/* Whether some of the text of P's module is writable. */
bool held_is_open(const struct patched *p, const struct writable_text *text);
/* Whether held_update() for PAGES may do something. */
bool held_concerns(const struct patched *p, struct span pages);
