/*
 * The main thread ends first. Another thread loads libraries, calls them, runs WORKERS threads at
 * once, and ends the process: ended_main LIBRARY [WORKERS]
 */
#include <dlfcn.h>
#include <pthread.h>

#include "self_check.h"

enum { MOST_WORKERS = 1000 };
static unsigned workers = 1;
static pthread_barrier_t all;

static void *work_once(void *arg) {
    check_work();
    pthread_barrier_wait(&all);
    return arg;
}

static void *load(void *library) {
    pthread_t threads[MOST_WORKERS];
    char state[256] = "";
    while (!strstr(state, ") Z")) { /* waits until the main thread has ended */
        FILE *f = fopen("/proc/self/stat", "r");
        check(f && fgets(state, sizeof state, f), "stat");
        fclose(f);
    }
    for (int i = 0; i < 10; i++) {
        void *handle = dlopen(library, RTLD_NOW);
        check(handle != NULL, "dlopen");
        int (*add)(int, int) = (int (*)(int, int))dlsym(handle, "library_add");
        check(add && add(2, 3) == 9, "library_add");
        check(dlclose(handle) == 0, "dlclose");
    }
    pthread_barrier_init(&all, NULL, workers);
    for (unsigned i = 0; i < workers; i++)
        check(pthread_create(&threads[i], NULL, work_once, NULL) == 0, "thread");
    for (unsigned i = 0; i < workers; i++)
        pthread_join(threads[i], NULL);
    exit(right());
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc > 2)
        workers = (unsigned)atoi(argv[2]);
    check(argc > 1 && workers <= MOST_WORKERS, "usage");
    pthread_create(&thread, NULL, load, argv[1]);
    pthread_exit(NULL);
}
