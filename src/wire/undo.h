/*
 * The undo log: what spoor keeps in a target in case it is killed, so that another spoor can undo
 * its patches and mappings. Only tools read and write it; the target never does.
 *
 *     slab (map "/memfd:spoor")  struct undo_sign  ──▶ the agent's page, at UNDO_AT:
 *                                                      struct undo_head
 *                                                         │ first    ┌────── next ──────┐
 *                                                         ▼          │                  ▼
 *     trampoline areas                               struct undo_log ┘            struct undo_log
 *
 * Slabs are shared with forked children; all else is memory of one process. So a child has logs of
 * its own, of what its memory holds.
 *
 * The tool may die between any two of these steps. What is written up to then is enough to undo:
 *
 *     a module is patched                        and restored
 *       1 head.coming = the area to be mapped      1 its text is restored
 *       2 the area is mapped                       2 head.leaving = its log; out of the chain
 *       3 the log is written there                 3 islands are unmapped, then the area
 *       4 into the chain; head.coming = nothing    4 head.leaving = nothing
 *       5 islands are mapped, the area is filled
 *       6 its text is patched
 *
 * So memory that is listed may not be mapped yet, or not any more, or other memory may be in its
 * place. Therefore a log counts only where its `self` says that it is. Text is restored only where
 * it equals the patch. Islands are unmapped only if they lead to the area.
 *
 * Behind struct undo_log are its counters, and then `bytes` bytes of numbers of variable length
 * (trace/varint.h):
 *
 *     runs of islands   pages from the end of the one before (the first: from address 0), pages
 *     patches           distance from the end of the one before (the first: from link-time
 *                       address 0), UNDO_YIELDS | size, the bytes before, the bytes after; of a
 *                       patch of five bytes the last four of those as a signed number, the
 *                       difference to that of the last such patch
 *     ways              likewise the distance from the start of the one before, and, signed, from
 *                       there to the site
 *
 * Freestanding, like all of src/wire.
 */
#pragma once

#include <stdint.h>

#define UNDO_MAGIC UINT64_C(0x6f646e75726f7073) /* "sporundo" */

enum {
    UNDO_VERSION = 4,  /* of all structures below */
    UNDO_AT = 2304,    /* offset of the head in the agent's page */
    UNDO_SIGN_AT = 16, /* offset of the sign in a slab */
    UNDO_YIELDS = 16,  /* the program may have written there; its bytes stay */
};

/* In each slab, at UNDO_SIGN_AT. */
struct undo_sign {
    uint64_t magic;
    uint64_t self;  /* where the slab is mapped in the target: tools map it elsewhere */
    uint64_t agent; /* the agent's page */
};

struct undo_area {
    uint64_t at, bytes;
};

struct undo_head {
    uint64_t magic;
    uint32_t version;
    uint32_t reserved;
    char maker[24];     /* the version of spoor, as text */
    uint64_t call;      /* address of the system call instruction for remote calls */
    struct undo_chain { /* written by one write */
        uint64_t first, leaving;
        struct undo_area coming;
    } chain;
};

struct undo_log {
    uint64_t magic;
    uint64_t self; /* address of this log */
    uint64_t next; /* in the chain; 0: none */
    struct undo_area area;
    uint64_t bias;          /* run-time minus link-time addresses */
    uint64_t text;          /* start of the module's first executable map */
    uint64_t device, inode; /* of its file */
    uint32_t run_count, patch_count, way_count, bytes;
    uint32_t counter_count, counted; /* enum undo_counted */
};

/* A counter of 16 bits in the program's data (a semaphore of USDT probes), to be 1 higher while the
 * module is patched. The program does not change it; other tracers may, at other times. */
struct undo_counter {
    uint64_t at;
    uint16_t before; /* its value before the change that `counted` tells */
    uint16_t unused[3];
};
enum { UNDO_MOST_COUNTERS = 4096 };

/* How far that is. In the two middle steps each counter is changed or not; `before` tells. */
enum undo_counted { UNDO_COUNTED_DOWN, UNDO_COUNTING_UP, UNDO_COUNTED_UP, UNDO_COUNTING_DOWN };

_Static_assert(UNDO_AT + sizeof(struct undo_head) <= 4096, "stands in the agent's page");
