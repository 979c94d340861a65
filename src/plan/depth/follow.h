/* What depths_find() is made of. Private to src/plan/depth. */
#pragma once

#include "plan/depth/depth.h"

struct follower {
    const struct code *code;
    struct depths *d;
    uint8_t *targets;         /* code.targets, and depths.labels */
    bool *inside;             /* by transfer: an indirect jump that was followed as a switch */
    address_list data_starts; /* as data_starts_find() tells, once labels_find() needs them */
    address_list pops_word;   /* functions that return with a word less on the stack; sorted */
};

struct follower follower_new(const struct code *code, struct depths *d);
void follower_done(struct follower *f);

/* ---- walk.c ---- */
/* Follows FUNC, whatever describes it, and the parts that it jumps to. False when not all that it
 * may do was followed. */
bool depth_follow(struct follower *f, uint32_t func);

/* ---- inner.c ---- */
/* Finds out which functions without call-frame information are inner, and what calls them; those
 * that are not proven to be. */
void inner_find(struct follower *f);

/* ---- anchors.c ---- */
/* Finds out which functions without call-frame information are loose. */
void anchors_find(struct depths *d);

/* ---- labels.c ---- */
/* Adds the places in FUNC and in parts that FUNC's indirect jumps may lead to; all are targets. */
void labels_find(struct follower *f, uint32_t func, address_list *ret);

/* ---- proof.c ---- */
/* Is what T does known, for a function without call-frame information? */
bool transfer_is_proven(const struct follower *f, const struct transfer *t);
/* A jump into the middle of another function that its code does not tell of. */
bool transfer_is_stray(const struct depths *d, const struct transfer *t);
/* Call-frame information may be that of calls only. Then the code tells. */
void correct_depths(struct follower *f);
