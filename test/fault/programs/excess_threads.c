/*
 * Runs more threads at once than there are lanes, where no further file can be opened: some threads
 * stay untraced.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

#include "self_check.h"

enum { THREADS = 150 };

static pthread_barrier_t all_here;

static void *work_together(void *arg) {
    (void)arg;
    pthread_barrier_wait(&all_here);
    check_work();
    pthread_barrier_wait(&all_here);
    return NULL;
}

static void open_no_more(void) {
    int fd = open("/dev/null", O_RDONLY);
    struct rlimit limit = {(rlim_t)fd, (rlim_t)fd};
    close(fd);
    check(setrlimit(RLIMIT_NOFILE, &limit) == 0 && open("/dev/null", O_RDONLY) < 0, "the limit");
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 * 1024);
    pthread_barrier_init(&all_here, NULL, THREADS);
    open_no_more();
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], &attr, work_together, NULL) == 0, "pthread_create");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return right();
}
