/* The steps of depths_find(). Private to src/plan/depth. */
#pragma once

#include "plan/depth/depth.h"

struct follower {
    const struct code *code;
    struct depths *d;
    uint8_t *targets;         /* code.targets and depths.labels */
    bool *inside;             /* by transfer: an indirect jump that stays in its function */
    address_list data_starts; /* result of data_starts_find(), made before the first walk */
    bool prepared;            /* data_starts is made */
    address_list pops_word;   /* functions that return with one word less on the stack; sorted */
};

struct walked_piece { /* the function that was walked, or a part of it */
    uint32_t func;
    size_t first_row; /* in walked.rows; its rows end at the next piece's */
};

struct walked { /* what the walk through a function found */
    uint32_t func;
    bool all;                          /* all paths could be followed */
    bool falls;                        /* it runs into the next function at entry depth */
    ARRAY(struct walked_piece) pieces; /* the function first */
    ARRAY(struct cfa_row) rows;
    ARRAY(struct frame_return) frame_returns;
    address_list labels; /* see labels_find() */
};

struct follower follower_new(const struct code *code, struct depths *d);
void follower_done(struct follower *f);

/* ---- walk.c ---- */
/* Room for walks of one thread. */
struct walk *depth_walk_new(const struct follower *f);
void depth_walk_free(struct walk *w);
/* Follows the code of FUNC, and the parts that it jumps to. Several threads may walk if no function
 * is weak: besides RET, a walk sets only flags that no walk reads. */
void depth_walk(struct walk *w, uint32_t func, struct walked *ret);

/* ---- followed.c ---- */
/* Follows the code of FUNC, even if call-frame information describes it, and the parts that it
 * jumps to. Sets func_depth.falls. False: some of its paths could not be followed. */
bool depth_follow(struct follower *f, uint32_t func);
struct follow_list {
    ARRAY(uint32_t) funcs;
    void (*followed)(struct follower *f, uint32_t func, bool all);
};
/* Follows the functions of LIST on all processors, with the same result as one after the other.
 * None may be a part of another function, and if any function is weak, LIST has only one. Calls
 * FOLLOWED after each, in their order, with the result. Leaves func_depth.falls as it is. */
void depths_follow(struct follower *f, const struct follow_list *list);

/* ---- inner.c ---- */
/* Finds inner functions among those without call-frame information, and their callers. Sets
 * `unproven` of those that fail the proof. */
void inner_find(struct follower *f);

/* ---- anchors.c ---- */
/* Sets func_depth.movable. */
void anchors_find(struct depths *d);

/* ---- labels.c ---- */
/* Adds to RET the places in FUNC and in parts where FUNC's indirect jumps may lead. Sorted. */
void labels_find(const struct follower *f, uint32_t func, address_list *ret);
/* Adds F's landing pads to RET, if the walk gives the frames: without call-frame information, and
 * always on 32-bit Arm, where tables that only unwinders read may describe the frames, too. */
void pads_find(const struct code *code, const struct func *f, address_list *ret);

/* ---- proof.c ---- */
/* T is of a function without call-frame information. True if T's effect is known. */
bool transfer_is_proven(const struct follower *f, const struct transfer *t);
/* True for a direct jump into another function where the depths of both do not agree. */
bool transfer_is_stray(const struct depths *d, const struct transfer *t);
/* Call-frame information may describe calls only. Then the walk corrects the depth at exits. */
void correct_depths(struct follower *f);
