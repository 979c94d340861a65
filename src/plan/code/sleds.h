/* Stage 3: XRay's sleds, which the program's own runtime overwrites. */
#pragma once

#include "plan/code/states.h"

struct sled_place {
    vaddr_t start, end;
    enum sled_kind kind;
};

struct sleds {
    struct sled_place *at; /* by address, disjoint */
    size_t count, room;
};

struct sleds sleds_find(const struct states *states);
void sleds_done(struct sleds *sleds);

/* The sled of KIND that starts at ADDR; NULL: there is none. */
const struct sled_place *sled_at(const struct sleds *sleds, vaddr_t addr, enum sled_kind kind);
/* The first sled that ends behind ADDR; NULL: there is none. */
const struct sled_place *sled_from(const struct sleds *sleds, vaddr_t addr);
/* The sled of an entry that ends at ADDR; NULL: there is none. */
const struct sled_place *sled_before(const struct sleds *sleds, vaddr_t addr);
bool sled_touches(const struct sleds *sleds, vaddr_t start, vaddr_t end);
