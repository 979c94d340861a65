/*
 * Asks its parent to trace it, as some programs do to detect a debugger: the first request
 * succeeds, later ones fail.
 */
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "self_check.h"

int main(void) {
    check_work();
    check(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0, "PTRACE_TRACEME");
    check(ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 && errno == EPERM, "PTRACE_TRACEME again");
    check(syscall(SYS_ptrace, PTRACE_TRACEME, 1L, 2L, 3L) < 0 && errno == EPERM, "once more");
    check_work();
    return right();
}
