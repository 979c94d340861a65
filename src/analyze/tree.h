/*
 * The call graph: a tree whose nodes stand for paths of functions from the outermost call inwards.
 * Node 0 is the root, which is no function; callers have smaller numbers than callees. Its size is
 * that of the number of different paths, not that of the trace.
 */
#pragma once

#include "analyze/walk.h"

enum { TREE_NONE = UINT32_MAX };

struct tree_node {
    uint32_t function;
    uint32_t parent, first_child, next_sibling; /* TREE_NONE: none */
    uint64_t calls, total_ns, self_ns;
    uint64_t inferred; /* calls whose end is */
    uint64_t before;   /* calls that began untraced: not among `calls`, nor `inferred` */
    uint32_t recent_child;
};

struct tree {
    struct tree_node *nodes;
    uint32_t count, room;
    uint32_t *table; /* hash table of nodes by parent and function; 0: free */
    uint32_t table_size;
};

void tree_init(struct tree *t);
void tree_done(struct tree *t);
/* The callee FUNCTION of PARENT, made if there is none yet. */
uint32_t tree_child(struct tree *t, uint32_t parent, uint32_t function);

/* Adds the calls of all streams. The root then has the sum of its children, and no calls. */
void tree_read(struct tree *t, const struct source *source);
/* Drops paths without calls (too brief ones) and puts the longest first: children are ordered by
 * total time, then name. */
void tree_sort(struct tree *t, struct names *names);
/* The node after NODE, callers before callees, or TREE_NONE; *DEPTH (of the root: 0) goes along. */
uint32_t tree_next(const struct tree *t, uint32_t node, uint32_t *depth);

/*
 * What CHOSEN (by function, not 0: chosen) call, and who calls them. Both trees have the chosen
 * functions, added up, as root.
 *
 * In *CALLEES only the outermost chosen call of each path counts; chosen ones in it are ordinary
 * nodes. In *CALLERS a child is a caller: calls and self time are of all chosen calls, total time
 * of the outermost; a path ends at the next chosen function, if there is one. Both are initialized
 * here; TREE is one that was read.
 */
void tree_focus(const struct tree *tree, const uint8_t *chosen, struct tree *callees,
                struct tree *callers);
