/*
 * Windows for the nops of USDT probes. They come after those of entries and exits, which so stay as
 * they are without probes. A probe that is inside such a window needs none of its own: the
 * trampoline records it between the moved instructions. Other probes get a window with their
 * neighbours. Those that get none become traps (traps.c).
 */
#include "base/search.h"
#include "plan/window/placing.h"

/* The windows are sorted. */
static bool has_window(const struct placing *p, vaddr_t addr) {
    const size_t i = SEARCH(k, p->ws->count, p->ws->at[k].start <= addr);
    return i && addr < p->ws->at[i - 1].end;
}

void probes_choose(struct placing *p) {
    for (size_t i = 0; i < p->controls->probes.count; i++) {
        const struct control_site *site = &p->controls->probes.at[i];
        if (!has_window(p, site->addr) && window_around(p, site->func, site->addr))
            windows_sort(p->ws);
    }
}
