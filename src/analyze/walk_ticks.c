/* See walk_ticks.h: what is rare. */
#include "analyze/walk_ticks.h"

void walk_ticks_pause(struct walk *w, uint64_t end, uint64_t length) {
    w->paused_ticks += length;
    for (size_t i = w->lengths.count; i-- > 0;) {
        uint64_t before = walk_ticks_before(w->lengths.at[i].start, end, length);
        if (!before)
            return;
        w->lengths.at[i].paused += before;
    }
}
