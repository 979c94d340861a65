/*
 * Signals' handlers that stand aside: they have switched stacks (a scheduler that preempts
 * coroutines so), and when somebody switches back they return to what they have interrupted. No
 * thread's stack pointer leads to the frames that the kernel has left there for that. So they are
 * looked for in all of a process's memory that is its own and written to, while it runs; and what
 * is delivered from the beginning of that on is noted. When all threads stand it is looked whether
 * the frames are still there.
 *
 * A frame that its handler has left stays in memory until that is used again, and looks the same.
 * So two kinds do not count, of which a program that takes signals has many: those that lie on a
 * thread's own stack where it stands farther up, and those on stacks for signals (sigaltstack) that
 * have interrupted what is run on now, since nobody is there while a handler stands parked. (Stacks
 * are told apart by maps. Of stacks that were disarmed for the handler, SS_AUTODISARM, all count.)
 */
#ifndef SPOOR_PATCH_PARKED_SIGFRAMES_H
#define SPOOR_PATCH_PARKED_SIGFRAMES_H

#include "arch/regs.h"
#include "base/mem.h"

struct parked_sigframe {
    taddr_t at; /* of the words that tell of it; 0: a signal was delivered there */
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
/* Searches the memory, MEMORY_FD, of TID's process, whose threads run. *ASIDE, which may be
 * anything that parked_sigframes_forget() takes, is made before: signals are noted there from now
 * on. */
void parked_sigframes_search(struct parked_sigframes **parked, int memory_fd, pid_t tid,
                             const struct parked_search_pace *pace);
/* Frees it; *ASIDE is NULL then, and may be NULL. */
void parked_sigframes_forget(struct parked_sigframes **parked);
/* TID is about to get a signal. ASIDE may be NULL. */
void parked_sigframes_note(struct parked_sigframes *parked, pid_t tid);

/* All threads stand: adds to RET the frames of KNOWN (may be NULL) that are still there. */
void parked_sigframes_collect(const struct parked_sigframes *known, int memory_fd,
                              struct parked_sigframes *ret);
/* Whether FRAME is none that its handler has left. TIDS: all threads. */
bool parked_sigframe_counts(const struct parked_sigframe *frame, int memory_fd, const pid_t *tids,
                            size_t count);

#endif
