/* Calls pthread_cancel() for a blocked thread and for a spinning one, with cleanup handlers. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "expect.h"

static int ends[2];
static volatile int spinning, cleaned;

/* The last function that runs in a cancelled thread. */
static NOINLINE void clean(void *argument) {
    ENTER;
    cleaned += *(int *)argument;
    LEAVE;
    expect('!', *(int *)argument == 10 ? "blocked" : "busy");
}

static NOINLINE void block(void) {
    char c;
    ENTER;
    UNWOUND;
    (void)!read(ends[0], &c, 1);
}

static NOINLINE void *blocked(void *argument) {
    expect_thread(1);
    ENTER;
    pthread_cleanup_push(clean, argument);
    block();
    pthread_cleanup_pop(0);
    return NULL;
}

static NOINLINE void spin(void) {
    ENTER;
    UNWOUND;
    spinning = 1;
    for (;;)
        pthread_testcancel();
}

static NOINLINE void *busy(void *argument) {
    expect_thread(2);
    ENTER;
    pthread_cleanup_push(clean, argument);
    spin();
    pthread_cleanup_pop(0);
    return NULL;
}

static NOINLINE int cancel(void *(*start)(void *), int amount) {
    pthread_t thread;
    void *result;
    ENTER;
    pthread_create(&thread, NULL, start, &amount);
    if (start == busy)
        while (!spinning)
            usleep(1000);
    else
        usleep(20000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    LEAVE;
    return result == PTHREAD_CANCELED;
}

int main(void) {
    ENTER;
    (void)!pipe(ends);
    printf("%d\n", cancel(blocked, 10));
    printf("%d\n", cancel(busy, 100));
    printf("%d\n", cleaned);
    LEAVE;
    expect_print();
    return 0;
}
