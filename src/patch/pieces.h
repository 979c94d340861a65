/*
 * A module's text with patches, cut into pieces and shares. A piece is read, changed and written at
 * once. A share has some pieces, and no patch of it depends on one of another share: so several
 * threads may write shares at the same time, in any order.
 */
#pragma once

#include "base/page.h"
#include "patch/patched.h"

enum {
    PIECE_TEXT_BYTES = 64 * 1024, /* from the first patch of a piece to the end of its last one */
    PIECE_BYTES = PIECE_TEXT_BYTES + 2 * PAGE_MOST_BYTES, /* rounded to whole pages */
    PATCHES_APART = 256, /* patches this far apart do not depend on each other */
};

struct piece { /* patches FIRST..END-1 */
    size_t first, end;
};
typedef ARRAY(struct piece) piece_array;

/* The shares of P's patches, by address. No page has patches of two. */
void pieces_find_shares(const struct patched *p, piece_array *ret);
/* The pieces of SHARE, by address. Patches that depend on each other are rarely in two. */
void pieces_find(const struct plan_code *code, struct piece share, piece_array *ret);
