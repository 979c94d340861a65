/* The data of a walk through a stack: where files and memory come from, and a frame that it finds.
 */
#pragma once

#include "target/maps.h"

/* Where files come from. */
struct unwind_files {
    void *ctx;
    /* A descriptor of what MAP, which is executable, maps, to be closed by the unwinder; −1: there
     * is none to be had. The vDSO is asked for, too: see unwind_image(). */
    int (*open)(void *ctx, const struct map *map);
};

/* MAP's bytes, read from the memory behind MEMORY_FD, as a file; −1 on failure. */
int unwind_image(int memory_fd, const struct map *map);

struct unwind_piece { /* [at, at + size) of the stopped process's memory */
    taddr_t at;
    const uint8_t *bytes;
    size_t size;
};

/* How a frame's CFA was found. */
enum unwind_how {
    UNWIND_NOT,
    UNWIND_CFI,
    UNWIND_SIGNAL, /* the frame is the kernel's, which has interrupted its caller */
    UNWIND_FRAME_POINTER,
    UNWIND_RETURN_ADDRESS, /* without either: it has nothing on the stack but where it returns to */
    UNWIND_CODE            /* by Arm's unwind tables, or by following the code */
};

struct unwind_frame {
    taddr_t pc;  /* where it goes on */
    taddr_t cfa; /* 0: not known */
    enum unwind_how how;
    bool exact; /* pc is an instruction that is about to run; else it follows a call */
};

enum unwind_end {
    UNWIND_BOTTOM, /* of the stack: nobody has called the last frame */
    UNWIND_CUT,    /* memory would have been needed that is not in the pieces */
    UNWIND_DEEP,   /* there are more frames than were asked for */
    UNWIND_LOST    /* the last frame's caller cannot be told, or makes no sense */
};
