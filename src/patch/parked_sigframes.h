/*
 * Parked signal frames: a signal handler has switched stacks (a scheduler that preempts coroutines
 * does so) and returns to the interrupted code when something switches back. No thread's stack
 * pointer leads to the frame that the kernel has left there. So all private memory that the process
 * has written is searched for such frames while it runs, and signals that are delivered from then
 * on are noted. When all threads stand still, each frame found is read again.
 *
 * The frame of a handler that has returned stays in memory until that is used again, and looks the
 * same. So two kinds do not count, which are common in programs that take signals: frames on a
 * thread's own stack below its stack pointer, and frames on signal stacks (sigaltstack) whose
 * interrupted stack is in use now. (Stacks are told apart by maps. On stacks that are disarmed for
 * the handler, SS_AUTODISARM, all frames count.)
 */
#pragma once

#include "arch/regs.h"
#include "base/mem.h"

struct parked_sigframe {
    taddr_t at; /* of the saved registers; 0: a signal was delivered there */
    struct regs_context context;
};

struct parked_sigframes {
    ARRAY(struct parked_sigframe) frames;
};

/* Called after each chunk of memory: the search takes long, and threads wait for answers. */
struct parked_search_pace {
    void (*between)(void *ctx);
    void *ctx;
};
/* Searches the memory, MEMORY_FD, of TID's process, whose threads run. First replaces *PARKED by
 * an empty record, in which signals are noted from then on. */
void parked_sigframes_search(struct parked_sigframes **parked, int memory_fd, pid_t tid,
                             const struct parked_search_pace *pace);
/* Frees *PARKED, which may be NULL, and sets it to NULL. */
void parked_sigframes_forget(struct parked_sigframes **parked);
/* TID is about to get a signal. PARKED may be NULL. */
void parked_sigframes_note(struct parked_sigframes *parked, pid_t tid);

/* All threads stand still: adds to RET the frames of KNOWN (may be NULL) that are still there. */
void parked_sigframes_collect(const struct parked_sigframes *known, int memory_fd,
                              struct parked_sigframes *ret);
/* Whether a handler may still return through FRAME. TIDS: all threads. */
bool parked_sigframe_counts(const struct parked_sigframe *frame, int memory_fd, const pid_t *tids,
                            size_t count);
