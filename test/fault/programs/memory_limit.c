/*
 * Takes all memory that its limit allows, and prints how much that was: memory_limit [waits
 * MEGABYTES]
 *
 * With "waits" it sets its limit to MEGABYTES, and takes the memory when its input ends.
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "self_check.h"

enum { PIECE = 64 * 1024 };

static __attribute__((noinline)) int take(void) {
    void *piece = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return piece != MAP_FAILED;
}

int main(int argc, char **argv) {
    unsigned taken = 0;
    char byte;
    if (argc > 2) {
        struct rlimit limit;
        getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur = strtoul(argv[2], NULL, 10) << 20;
        check(setrlimit(RLIMIT_AS, &limit) == 0, "limit");
        check(write(1, "there\n", 6) == 6, "output");
        check(read(0, &byte, 1) == 0, "input");
    }
    check_work();
    while (take())
        taken++;
    check_work();
    printf("%u\n", taken);
    fflush(stdout);
    return right();
}
