/*
 * Where the first and last remote calls of a process are made, while nothing of spoor's is mapped
 * in it. A few bytes of executable memory that no program runs hold the system call. What a thread
 * needs to recover alone, if spoor is killed, is written to the far end of the first thread's
 * stack. Both are put back as they were, and no thread runs meanwhile.
 */
#pragma once

#include "arch/agent.h"
#include "target/maps.h"
#include "target/thread.h"

struct foothold {
    int memory_fd;
    taddr_t code, frame; /* frame 0: there is no such stack, the callers' own serve */
    uint8_t code_before[AGENT_CALL_MOST];
    uint8_t frame_before[REMOTE_FRAME_BYTES];
};

/* All threads of TID's process stand still. Errors: "remote-call" (no executable memory), "memory".
 */
int foothold_take(int memory_fd, const struct maps *maps, pid_t tid, struct foothold *f,
                  struct err *err);
int foothold_leave(const struct foothold *f, struct err *err);
/* From there. */
struct remote_site foothold_site(const struct foothold *f);
