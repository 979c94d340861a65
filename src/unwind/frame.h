/* The data of a walk through a stack: its inputs (files, memory) and a frame that it finds. */
#pragma once

#include "target/maps.h"

/* How the unwinder opens files. */
struct unwind_files {
    void *ctx;
    /* Returns a descriptor of the file that the executable MAP maps, or −1 if it cannot be opened.
     * The unwinder closes it. Called for the vDSO, too: see unwind_image(). */
    int (*open)(void *ctx, const struct map *map);
};

/* Copies MAP's bytes from MEMORY_FD into a file of its own. Its descriptor, or −1. */
int unwind_image(int memory_fd, const struct map *map);

struct unwind_piece { /* [at, at + size) of the stopped process's memory */
    taddr_t at;
    const uint8_t *bytes;
    size_t size;
};

/* How a frame's CFA was found. */
enum unwind_how {
    UNWIND_UNKNOWN,
    UNWIND_CFI,
    UNWIND_SIGNAL, /* the kernel's signal frame: its caller was interrupted */
    UNWIND_FRAME_POINTER,
    UNWIND_RETURN_ADDRESS, /* without either: only the return address is on the stack */
    UNWIND_CODE            /* by Arm's unwind tables, or by following the code */
};

struct unwind_frame {
    taddr_t pc;  /* the instruction at which it continues */
    taddr_t cfa; /* 0: not known */
    enum unwind_how how;
    bool exact; /* pc is the next instruction to run; false: pc is a return address */
};

enum unwind_end {
    UNWIND_BOTTOM, /* the last frame has no caller */
    UNWIND_CUT,    /* the next frame needs memory that is not in the pieces */
    UNWIND_DEEP,   /* there are more frames than the caller asked for */
    UNWIND_LOST    /* the last frame's caller cannot be found, or makes no sense */
};
