/*
 * The foothold: where a process makes its first and last remote calls, while nothing of spoor's is
 * mapped. A few bytes of executable memory that no program runs hold the system call. The far end
 * of the first thread's stack holds what a thread needs to recover alone if spoor is killed. Both
 * are restored afterwards, and no thread runs meanwhile.
 */
#pragma once

#include "arch/agent.h"
#include "target/maps.h"
#include "target/thread.h"

struct foothold {
    int memory_fd;
    taddr_t code, frame; /* frame 0: no such stack; each caller uses its own */
    uint8_t code_before[AGENT_CALL_MOST];
    uint8_t frame_before[REMOTE_FRAME_BYTES];
};

/* All threads of TID's process are stopped. Errors: "remote-call" (no executable memory),
 * "memory". */
int foothold_take(int memory_fd, const struct maps *maps, pid_t tid, struct foothold *f,
                  struct err *err);
int foothold_leave(const struct foothold *f, struct err *err);
/* The place for remote calls in the foothold. */
struct remote_site foothold_site(const struct foothold *f);
