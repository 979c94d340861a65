/* For machines where the tool fills no floating-point registers by an instruction (arch/regs.h). */
#include <errno.h>

#include "target/thread.h"

int thread_fill_vectors(pid_t tid, unsigned first, const regs_word_t *words, unsigned count) {
    (void)tid;
    (void)first;
    (void)words;
    (void)count;
    return -ENOTSUP;
}
