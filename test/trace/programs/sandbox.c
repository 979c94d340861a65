/* A seccomp filter that kills for any call but write and exit. Nothing that traces may make one,
 * full rings included. */
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"

enum { LAPS = 60000 };

/* linux/filter.h and linux/seccomp.h, which not every C library comes with. */
struct instruction {
    uint16_t code;
    uint8_t if_true, if_false;
    uint32_t k;
};
enum { LOAD = 0x20, JUMP_IF_EQUAL = 0x15, RETURN = 0x06, ALLOW = 0x7fff0000, FILTER_MODE = 2 };
static const uint32_t kill_process = 0x80000000;

static volatile int zero;

static NOINLINE unsigned leaf(unsigned n) { return n * 2654435761u + (unsigned)zero; }

static NOINLINE unsigned work(unsigned n) {
    unsigned sum = 0;
    for (unsigned i = 0; i < LAPS; i++)
        sum = sum * 31 + leaf(n + i);
    return sum;
}

static int close_sandbox(void) {
    struct instruction filter[] = {
        {LOAD, 0, 0, 0}, /* the number of the call */
        {JUMP_IF_EQUAL, 3, 0, SYS_write},
        {JUMP_IF_EQUAL, 2, 0, SYS_exit},
        {JUMP_IF_EQUAL, 1, 0, SYS_exit_group},
        {RETURN, 0, 0, kill_process},
        {RETURN, 0, 0, ALLOW},
    };
    struct {
        uint16_t length;
        struct instruction *filter;
    } program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, FILTER_MODE, &program);
}

int main(void) {
    char line[100];
    if (close_sandbox() != 0)
        return 77;
    unsigned sum = work(5);
    int length = snprintf(line, sizeof line, "%u\ncalls: leaf %d\ncalls: work 1\n", sum, LAPS);
    (void)!write(1, line, (size_t)length);
    syscall(SYS_exit, 11);
    return 0;
}
