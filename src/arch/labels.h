/* Labels of the code in stubs: places to which jumps lead that are written before them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LABELS_MOST_JUMPS = 256 };

struct label_jump {
    size_t at;    /* an offset in the code */
    uint32_t how; /* what a machine needs besides */
    int to;       /* a label: any number */
};

/* The jumps to labels that are not set yet. */
struct labels {
    struct label_jump jumps[LABELS_MOST_JUMPS];
    size_t count;
};

static inline void labels_add(struct labels *l, struct label_jump jump) {
    l->jumps[l->count++] = jump;
}

/* Takes a jump to LABEL out. False: there is none. */
static inline bool labels_take(struct labels *l, int label, struct label_jump *ret) {
    for (size_t i = 0; i < l->count; i++) {
        if (l->jumps[i].to != label)
            continue;
        *ret = l->jumps[i];
        l->jumps[i] = l->jumps[--l->count];
        return true;
    }
    return false;
}
