/* The JSON of a call graph (analyze/tree.h), and the names of its nodes. */
#pragma once

#include <stdio.h>

#include "analyze/tree.h"

struct graph_json {
    FILE *out;
    const struct source *source;
    const char *title; /* the root's name */
};

/* The root's name of the whole graph: the program, or with --pid, --process or --tid the first
 * process that is shown. */
const char *graph_title(const struct source *s);
/* FUNCTION is that of a node that stands for a process. */
const struct trace_process *graph_process(const struct source *s, uint32_t function);
const char *graph_node_name(const struct source *s, const struct tree *t, uint32_t node,
                            const char *title);

/* A node's members, without its end. */
void graph_json_head(const struct graph_json *g, const struct tree *t, uint32_t node);
/* The member LABEL of the root: the nodes under it, each with its children. */
void graph_json_children(const struct graph_json *g, const struct tree *t, const char *label);
/* Ends the root, with the time during which the recording was paused. */
void graph_json_end(const struct graph_json *g);
/* All of it: what `spoor graph --json` prints. T is sorted. */
void graph_json_whole(const struct graph_json *g, const struct tree *t);
