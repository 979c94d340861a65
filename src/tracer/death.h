/* The end of a process by a signal, as the tracer sees it. Plain data. */
#pragma once

#include <sys/types.h>

#include "base/mem.h"
#include "base/types.h"

struct death_frame {
    taddr_t pc;
    uint64_t offset; /* of pc in the file */
    bool exact;      /* pc is the next instruction to run; false: a return address */
    char *path;      /* of the mapped file; "": none */
    uint64_t inode;  /* of that file */
    dev_t device;
};

struct death {
    pid_t pid, tid; /* tid 0: the signal was seen at no thread (SIGKILL) */
    int signal, code;
    pid_t sender;
    taddr_t address;
    bool fault, core;
    uint64_t ticks;
    char thread[32], process[256];
    ARRAY(struct death_frame) frames; /* the innermost first */
    size_t calls;                     /* on the stack; frames has at most DEATH_FRAMES of them */
};
typedef ARRAY(struct death) death_array;
