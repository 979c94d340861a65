/* The call graph: a tree whose nodes stand for paths of functions from the outermost call inwards.
 * Node 0 is the root, which is no function. Callers have smaller numbers than callees. Its size
 * depends on the number of different paths, not on the trace's length. */
#pragma once

#include "analyze/walk.h"

enum {
    TREE_NONE = UINT32_MAX,
    TREE_PROCESS = (uint32_t)1 << 31, /* with the number of a process (processes.h): a node below
                                        the root that stands for it, and is no function */
    TREE_REST = (uint32_t)1 << 30 /* a node for further paths of a limited tree; no function. Its
                                     total time is that of the outermost calls in it. */
};

struct tree_node {
    uint32_t function;
    uint32_t parent, first_child, next_sibling; /* TREE_NONE: none */
    uint32_t recent_child, recent_child_is_of;  /* the child that was found last (0: none), and its
                                                   function: a look at it costs a cache miss */
    uint64_t calls, total_ns, self_ns;
    uint64_t paused_ns; /* of pauses in calls: in neither total nor self time */
    uint64_t inferred;  /* calls whose end is inferred */
    uint64_t cut;       /* calls that ended in a gap */
    uint64_t clipped;   /* calls that began before the span, or ended behind it */
    uint64_t before;    /* calls that began untraced: in neither `calls` nor `inferred` */
};

struct tree {
    struct tree_node *nodes;
    uint32_t count, room;
    uint32_t *table; /* hash table of nodes by parent and function; 0: a free entry */
    uint32_t table_size;
    uint32_t most; /* then paths that are new are joined in nodes TREE_REST; 0: no limit */
};

void tree_init(struct tree *t);
void tree_done(struct tree *t);
/* Removes all nodes but the root, in time that depends on their number. */
void tree_clear(struct tree *t);
/* The callee FUNCTION of PARENT. Adds it if it is new. That of a TREE_REST is that node itself:
 * then the callee's total time is in that of its caller. */
uint32_t tree_child_by_table(struct tree *t, uint32_t parent, uint32_t function); /* private */
static inline uint32_t tree_child(struct tree *t, uint32_t parent, uint32_t function) {
    const struct tree_node *p = &t->nodes[parent];
    return p->recent_child && p->recent_child_is_of == function
               ? p->recent_child
               : tree_child_by_table(t, parent, function);
}

static inline bool tree_is_process(uint32_t function) {
    return function != WALK_NONE && function & TREE_PROCESS;
}

/* Adds the calls of all streams. The root gets the sum of its children's times, and no calls. If
 * calls of several processes are shown, each has a node below the root, which is like the root. */
void tree_read(struct tree *t, const struct source *source);
/* The same in parts: the calls of one stream group, … */
void tree_add_group(struct tree *t, const struct source *source, size_t index);
/* … the node in which calls of STREAM begin; SEVERAL: tree_has_processes() … */
uint32_t tree_root(struct tree *t, const struct source *source, bool several, uint32_t stream);
bool tree_has_processes(const struct source *source);
/* … and at the end the times of the roots. */
void tree_sum_roots(struct tree *t);
/* Removes paths without calls (too brief ones), and such processes. Sorts children by falling total
 * time, then name; TREE_REST is the last. */
void tree_sort(struct tree *t, struct names *names);
/* The node after NODE, callers before callees; TREE_NONE: the end. Updates *DEPTH (root: 0). */
uint32_t tree_next(const struct tree *t, uint32_t node, uint32_t *depth);

/*
 * Finds the callees and the callers of the functions with CHOSEN[function] != 0. Both trees have
 * the sum of the chosen functions as root.
 *
 * In *CALLEES only the outermost chosen call of each path counts; chosen calls below it are
 * ordinary nodes. In *CALLERS a child is a caller. Its calls and self time are of all chosen calls,
 * its total time of the outermost ones. A path ends at the next chosen function. Both trees are
 * initialized here. TREE is one that was read.
 */
void tree_focus(const struct tree *tree, const uint8_t *chosen, struct tree *callees,
                struct tree *callers);
