/* See digest_tree.h: hooks of the loop in digest_loop.h. A part is the call graph of one
 * STEP_CALLS; its root stands for the call around. */
#include "analyze/digest_tree.h"

#include "analyze/tree.h"

static inline uint32_t on_open(void *ctx, uint32_t function, const struct digest_frame *caller) {
    struct tree *t = ctx;
    return tree_child(t, caller->value, function);
}

static inline void on_close(void *ctx, uint32_t function, const struct digest_frame *frame,
                            uint64_t duration) {
    struct tree_node *node = &((struct tree *)ctx)->nodes[frame->value];
    (void)function;
    node->calls++;
    node->total_ns += duration;
    node->self_ns += duration - frame->callees_ns;
}

/* Whether the unwound calls are inferred, only the visitor tells. */
static inline void on_unwind(void *ctx, uint32_t function, const struct digest_frame *frame) {
    (void)function;
    ((struct tree *)ctx)->nodes[frame->value].inferred++;
}

static inline void on_leave(void *ctx, uint32_t function, const struct digest_frame *frame) {
    (void)ctx;
    (void)function;
    (void)frame;
}

static inline void sum_up(void *ctx, struct digest *to) {
    struct tree *t = ctx;
    for (uint32_t i = 1; i < t->count; i++) {
        const struct tree_node *n = &t->nodes[i];
        ARRAY_PUSH(&to->sums, ((struct digest_sum){.function = n->function,
                                                   .parent = n->parent,
                                                   .total_ns = n->total_ns,
                                                   .calls = n->calls,
                                                   .self_ns = n->self_ns,
                                                   .unwound = n->inferred}));
    }
    tree_clear(t);
}

static void read_whole(void *part, struct digest_reader *r, struct digest *to) {
    static const struct digest_hooks hooks = {NULL,     on_open, on_close, on_unwind,
                                              on_leave, sum_up,  false,    false};
    digest_read(r, &hooks, part, to);
}

static void read_block(void *part, struct digest_reader *r, struct digest *to) {
    static const struct digest_hooks hooks = {NULL,     on_open, on_close, on_unwind,
                                              on_leave, sum_up,  true,     false};
    if (r->in_whole)
        read_whole(part, r, to);
    else
        digest_read(r, &hooks, part, to);
}

static void *new_part(void *ctx) {
    (void)ctx;
    struct tree *t = mem_alloc(sizeof *t);
    tree_init(t);
    return t;
}

static void free_part(void *part) {
    tree_done(part);
    free(part);
}

const struct digest_ops digest_tree_ops = {new_part, free_part, read_block, NULL};
