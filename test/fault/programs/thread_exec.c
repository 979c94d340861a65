/* One thread execs while another loads libraries: thread_exec LIBRARY [ROUNDS-LEFT] */
#include <dlfcn.h>
#include <pthread.h>

#include "self_check.h"

static void *load(void *library) {
    for (;;)
        dlclose(dlopen(library, RTLD_NOW));
    return NULL;
}

static void *take_over(void *arg) {
    char **argv = arg;
    char left[16];
    int rounds = argv[2] ? atoi(argv[2]) : 20;
    usleep((useconds_t)rounds * 371 % 3000);
    snprintf(left, sizeof left, "%d", rounds - 1);
    execl("/proc/self/exe", argv[0], argv[1], left, NULL);
    check(0, "exec");
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t loader, taker;
    check_work();
    if (argc == 3 && atoi(argv[2]) == 0)
        return right();
    pthread_create(&loader, NULL, load, argv[1]);
    pthread_create(&taker, NULL, take_over, argv);
    pthread_join(taker, NULL);
}
