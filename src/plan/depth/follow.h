/* The steps of depths_find(). Private to src/plan/depth. */
#pragma once

#include "plan/depth/depth.h"

struct follower {
    const struct code *code;
    struct depths *d;
    uint8_t *targets;         /* code.targets and depths.labels */
    bool *inside;             /* by transfer: an indirect jump that stays in its function */
    address_list data_starts; /* result of data_starts_find(), made when labels_find() needs it */
    address_list pops_word;   /* functions that return with one word less on the stack; sorted */
};

struct follower follower_new(const struct code *code, struct depths *d);
void follower_done(struct follower *f);

/* ---- walk.c ---- */
/* Follows the code of FUNC, even if call-frame information describes it, and the parts that it
 * jumps to. False: some of its paths could not be followed. */
bool depth_follow(struct follower *f, uint32_t func);

/* ---- inner.c ---- */
/* Finds inner functions among those without call-frame information, and their callers. Sets
 * `unproven` of those that fail the proof. */
void inner_find(struct follower *f);

/* ---- anchors.c ---- */
/* Sets func_depth.movable. */
void anchors_find(struct depths *d);

/* ---- labels.c ---- */
/* Adds to RET the places in FUNC and in parts where FUNC's indirect jumps may lead. All are
 * targets. */
void labels_find(struct follower *f, uint32_t func, address_list *ret);

/* ---- proof.c ---- */
/* T is of a function without call-frame information. True if T's effect is known. */
bool transfer_is_proven(const struct follower *f, const struct transfer *t);
/* True for a direct jump into another function where the depths of both do not agree. */
bool transfer_is_stray(const struct depths *d, const struct transfer *t);
/* Call-frame information may describe calls only. Then the walk corrects the depth at exits. */
void correct_depths(struct follower *f);
