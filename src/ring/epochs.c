/* Notes when a ring has grown, at most one note for EPOCH_TICKS. */
#include "ring/epochs.h"

void epochs_begin(struct epochs *e, uint64_t ticks) {
    e->notes.count = 0;
    e->newest = (struct epoch){0, ticks};
    e->since = ticks;
}

void epochs_note(struct epochs *e, uint64_t head, uint64_t ticks) {
    if (head == e->newest.head)
        return;
    if (ticks - e->since > EPOCH_TICKS) {
        ARRAY_PUSH(&e->notes, e->newest);
        e->since = ticks;
    }
    e->newest = (struct epoch){head, ticks};
}

struct epoch epochs_of(const struct epochs *e, uint64_t tail) {
    for (size_t i = 0; i < e->notes.count; i++)
        if (tail < e->notes.at[i].head)
            return e->notes.at[i];
    return e->newest;
}
