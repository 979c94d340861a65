/*
 * Parked signal frames. A signal handler has switched stacks (a scheduler that preempts coroutines
 * does so), and returns to the interrupted code when the program switches back. No thread's stack
 * pointer leads to the frame that the kernel has written there. So spoor searches all private
 * memory that the process has written for such frames, while the process runs, and notes later
 * signals. When all threads are stopped, each found frame is read again.
 *
 * The frame of a handler that has returned stays in memory until the memory is used again, and
 * looks the same. So two kinds of frames do not count, which are common in programs that take
 * signals: frames on a thread's own stack below its stack pointer, and frames on signal stacks
 * (sigaltstack) whose interrupted stack is in use now. (Stacks are told apart by maps. Frames on
 * stacks that are disarmed for the handler, SS_AUTODISARM, all count.)
 */
#pragma once

#include "arch/regs.h"
#include "base/mem.h"

struct parked_sigframe {
    taddr_t at; /* address of the saved registers; 0: noted at a signal's delivery */
    struct regs_context context;
};

struct parked_sigframes {
    ARRAY(struct parked_sigframe) frames;
};

/* `between` is called after each chunk of memory: the search takes long, and tracees wait. */
struct parked_search_pace {
    void (*between)(void *ctx);
    void *ctx;
};
/* Searches MEMORY_FD, the memory of TID's process, whose threads run. First replaces *PARKED by an
 * empty record, in which signals are noted from then on. */
void parked_sigframes_search(struct parked_sigframes **parked, int memory_fd, pid_t tid,
                             const struct parked_search_pace *pace);
/* Frees *PARKED, which may be NULL, and sets it to NULL. */
void parked_sigframes_forget(struct parked_sigframes **parked);
/* TID is about to get a signal. PARKED may be NULL. */
void parked_sigframes_note(struct parked_sigframes *parked, pid_t tid);

/* All threads are stopped: adds to RET the frames of KNOWN (may be NULL) that are still in
 * memory. */
void parked_sigframes_collect(const struct parked_sigframes *known, int memory_fd,
                              struct parked_sigframes *ret);
/* Whether a handler may still return through FRAME. TIDS: all threads. */
bool parked_sigframe_counts(const struct parked_sigframe *frame, int memory_fd, const pid_t *tids,
                            size_t count);
