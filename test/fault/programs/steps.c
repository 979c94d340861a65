/* Calls step() every two milliseconds, COUNT times, in itself and in CHILDREN children. Ends with
 * status 7.
 *
 *     steps COUNT CHILDREN
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int sum;

__attribute__((noinline)) static void step(int i) { sum += i; }

static void steps(int count) {
    const struct timespec pause = {0, 2000000};
    for (int i = 0; i < count; i++) {
        step(i);
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv) {
    int children = argc > 2 ? atoi(argv[2]) : 0;
    for (int i = 0; i < children; i++)
        if (fork() == 0)
            children = 0;
    printf("ready\n");
    fflush(stdout);
    steps(argc > 1 ? atoi(argv[1]) : 1);
    while (wait(NULL) > 0)
        ;
    return 7;
}
