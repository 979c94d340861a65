/* The main thread ends first; another loads libraries and ends the process. late LIBRARY */
#include <dlfcn.h>
#include <pthread.h>

#include "story.h"

static void *load(void *library) {
    for (int i = 0; i < 10; i++) {
        void *handle = dlopen(library, RTLD_NOW);
        check(handle != NULL, "dlopen");
        check_work();
        check(dlclose(handle) == 0, "dlclose");
    }
    exit(right());
}

int main(int argc, char **argv) {
    pthread_t thread;
    check(argc == 2, "usage");
    pthread_create(&thread, NULL, load, argv[1]);
    pthread_exit(NULL);
}
