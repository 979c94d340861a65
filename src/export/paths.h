/*
 * Call paths, for formats that sum up: for each program a tree of functions (analyze/tree.h), whose
 * nodes have calls, self times, and calls that began untraced. Functions are places (places.h). If
 * callers were recorded (record --stack), they are the path of a call, traced or not.
 *
 * Memory grows with the number of different paths.
 */
#pragma once

#include "analyze/places.h"
#include "analyze/tree.h"
#include "base/mem.h"
#include "export/export.h"

/* All threads of processes that run the same program. */
struct export_program {
    const char *command;
    struct tree tree;
};

struct export_paths {
    const struct view *view;
    struct places *places;
    ARRAY(struct export_program) programs;
    uint64_t cut; /* calls that ended in a gap: their times are in the sums */
    /* Private: */
    struct tree *tree;     /* of the program of the present group */
    ARRAY(uint32_t) nodes; /* of a digest's sums */
    ARRAY(uint32_t) chain; /* functions, the innermost first */
};

/* Reads all that VIEW shows, until OUT has an error. The view must outlive P. */
void export_paths_read(struct export_paths *p, const struct view *view, const struct out *out);
void export_paths_done(struct export_paths *p);

/* What the reader must know of lost events, in one line; NULL: nothing. To be freed. */
char *export_paths_losses(const struct export_paths *p);

/* Numbers in place of functions, above all places: */
uint32_t export_unknown(const struct export_paths *p); /* for unknown callers */
uint32_t export_deeper(const struct export_paths *p);  /* for EXPORT_DEEPER; the last number */

/* A path that is written has at most so many functions. Deeper calls are one level below the frame
 * EXPORT_DEEPER, each function with all its time there. Otherwise the output of a recursion grows
 * with the square of its depth. */
enum { EXPORT_FRAMES = 512 };
#define EXPORT_UNKNOWN "[unknown]"
#define EXPORT_DEEPER "[deeper than 512 calls]"

/* Cuts the paths of PROGRAM to that length. SHOWN, by function, tells which function stands for
 * it; NULL: each for itself. */
void export_paths_cut(const struct export_paths *p, struct export_program *program,
                      const uint32_t *shown);
