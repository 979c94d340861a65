/* See life.h. */
#include "page/life.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "base/clock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned open_pages;
static uint64_t closed_ns; /* when the last one was closed; 0: there was none, or one is open */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

static sigset_t set_of_ends(void) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        sigaddset(&set, ends[i]);
    return set;
}

void life_init(void) {
    sigset_t set = set_of_ends();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
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
    static const struct timespec look = {.tv_nsec = 250 * 1000 * 1000};
    sigset_t set = set_of_ends();
    while (stay || time_alone_ns() <= linger_ns)
        if (sigtimedwait(&set, NULL, &look) > 0)
            return;
}
