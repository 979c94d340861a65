/* For machines without an instruction that fills floating-point registers and that the tool uses
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
