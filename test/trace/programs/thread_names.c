/* Threads that get names in every way: by prctl(), by pthread_setname_np() from themselves and from
 * others, early and late, also several names. With an argument it waits for a line on standard
 * input when all threads have their first names. */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { SHORT_US = 1000, LONG_US = 400000 };

static pthread_barrier_t named, released;

__attribute__((noinline)) static void work(int us) {
    usleep((unsigned)us);
    __asm__ volatile("");
}

static void *by_itself(void *name) {
    prctl(PR_SET_NAME, name);
    pthread_barrier_wait(&named);
    pthread_barrier_wait(&released);
    work(LONG_US);
    prctl(PR_SET_NAME, "at-its-end");
    return NULL;
}

static void *by_others(void *unused) {
    pthread_barrier_wait(&named);
    pthread_barrier_wait(&released);
    work(LONG_US);
    return unused;
}

static void *short_one(void *name) {
    pthread_setname_np(pthread_self(), name);
    work(SHORT_US);
    return NULL;
}

static void start(pthread_t *ret, void *(*body)(void *), const char *name) {
    pthread_create(ret, NULL, body, (void *)name);
}

int main(int argc, char **argv) {
    pthread_t itself, other, brief;
    (void)argv;
    pthread_barrier_init(&named, NULL, 3);
    pthread_barrier_init(&released, NULL, 3);
    start(&itself, by_itself, "by-itself");
    start(&other, by_others, NULL);
    pthread_setname_np(other, "by-its-parent");
    pthread_barrier_wait(&named);
    if (argc > 1) {
        puts("named");
        fflush(stdout);
        getchar();
    }
    pthread_barrier_wait(&released);
    pthread_setname_np(other, "once-more");
    prctl(PR_SET_NAME, "main-thread");
    start(&brief, short_one, "short");
    pthread_join(brief, NULL);
    work(SHORT_US);
    pthread_join(itself, NULL);
    pthread_join(other, NULL);
    puts("right");
    return 0;
}
