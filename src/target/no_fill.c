/* Machines with no instruction that fills floating-point registers and is taken by the tool
 * (arch/regs.h). */
#include <errno.h>

#include "target/thread.h"

int thread_fill_vectors(pid_t tid, unsigned first, const regs_word_t *words, unsigned count) {
    (void)tid;
    (void)first;
    (void)words;
    (void)count;
    return -ENOTSUP;
}
