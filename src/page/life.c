/* See life.h. */
#include "page/life.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "base/clock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned open_pages;
static uint64_t closed_ns; /* when the last one was closed; 0: there was none, or one is open */

/* Answers may be under way in threads, which need not end well: all that is written is the
 * summary's file, under another name until it is whole. */
static void on_end(int number) {
    (void)number;
    _exit(0);
}

void life_init(void) {
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        sigaction(ends[i], &(struct sigaction){.sa_handler = on_end}, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void life_page_opened(void) {
    pthread_mutex_lock(&lock);
    open_pages++;
    closed_ns = 0;
    pthread_mutex_unlock(&lock);
}

void life_page_closed(void) {
    pthread_mutex_lock(&lock);
    if (!--open_pages)
        closed_ns = clock_monotonic_ns();
    pthread_mutex_unlock(&lock);
}

/* How long no page has been open; 0: one is, or none was. */
static uint64_t time_alone_ns(void) {
    pthread_mutex_lock(&lock);
    uint64_t since = closed_ns;
    pthread_mutex_unlock(&lock);
    return since ? clock_monotonic_ns() - since : 0;
}

void life_wait(uint64_t linger_ns, bool stay) {
    enum { LOOK_NS = 250 * 1000 * 1000 };
    while (stay || time_alone_ns() <= linger_ns)
        clock_sleep_ns(LOOK_NS);
}
