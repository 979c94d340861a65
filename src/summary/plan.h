/*
 * Which streams are *regular*: their threads keep to their own stacks. So digests can be made of
 * their blocks, and callers of calls are known. Views of such streams are alike wherever they begin
 * to read. Their blocks are read in order of time, whatever the stream. Leaves are runs of these
 * blocks. All other streams are read group by group.
 */
#pragma once

#include "analyze/digest_plan.h"
#include "analyze/walk.h"
#include "base/mem.h"

enum { PLAN_LEAVES = 48, PLAN_LEAST_BLOCKS = 16 /* of a leaf, but the last one */ };

struct plan_leaf {
    size_t first, end;          /* in plan.blocks */
    uint64_t first_ns, last_ns; /* of all its blocks */
};

struct plan_block {
    uint32_t block, stream;
    uint32_t leaf;
    bool has_digest; /* it can have one */
};

struct plan {
    uint8_t *regular; /* by stream */
    ARRAY(struct plan_block) blocks;
    ARRAY(struct plan_leaf) leaves;
    ARRAY(uint32_t) groups; /* stream groups that are not regular */
    size_t regular_count;
};

/* LEAST_BLOCKS of a leaf; 0: PLAN_LEAST_BLOCKS. TORN: by stream, 1 if it is not regular for that
 * reason (visitor.torn). */
void plan_make(struct plan *p, const struct source *source, const uint8_t *torn,
               size_t least_blocks);
void plan_done(struct plan *p);
/* Jobs for the blocks with digests, in order; the groups are leaves. */
digest_job_list plan_jobs(const struct plan *p);
