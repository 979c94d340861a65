/* Jobs in a stack; helpers take indices of the newest job that has some left. */
#include "base/workers.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>

struct job {
    struct job *below; /* an older job */
    void (*body)(void *arg, size_t index);
    void *arg;
    size_t count, next, running; /* indices: all; the next to take; taken and not done */
};

static struct {
    pthread_mutex_t lock; /* for all members, and for members of jobs */
    pthread_cond_t done;  /* some job has no call running any more */
    struct job *newest;
    size_t helpers, limit;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

void workers_limit(size_t threads) {
    pthread_mutex_lock(&pool.lock);
    pool.limit = threads;
    pthread_mutex_unlock(&pool.lock);
}

size_t workers_processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

/* The pool is locked, and unlocked while the body runs. JOB has an index left. */
static void run_next(struct job *job) {
    size_t index = job->next++;
    job->running++;
    pthread_mutex_unlock(&pool.lock);
    job->body(job->arg, index);
    pthread_mutex_lock(&pool.lock);
    if (!--job->running && job->next == job->count)
        pthread_cond_broadcast(&pool.done);
}

static struct job *find_job(void) {
    struct job *job = pool.newest;
    while (job && job->next == job->count)
        job = job->below;
    return job;
}

static void *help(void *unused) {
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    for (struct job *job; (job = find_job());)
        run_next(job);
    pool.helpers--;
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/* The pool is locked. False: no thread could be started. */
static bool start_helper(void) {
    pthread_t thread;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool started = pthread_create(&thread, NULL, help, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!started)
        return false;
    pthread_detach(thread);
    pool.helpers++;
    return true;
}

/* The pool is locked. Removes JOB, which is not the newest if other threads have added jobs. */
static void remove_job(const struct job *job) {
    struct job **at = &pool.newest;
    while (*at != job)
        at = &(*at)->below;
    *at = job->below;
}

void workers_run(size_t count, void (*body)(void *arg, size_t index), void *arg) {
    const size_t most = workers_processors();
    struct job job = {.body = body, .arg = arg, .count = count};
    pthread_mutex_lock(&pool.lock);
    const size_t threads = pool.limit ? pool.limit : most;
    job.below = pool.newest;
    pool.newest = &job;
    for (size_t i = 1; i < count && pool.helpers + 1 < threads && start_helper(); i++)
        ;
    while (job.next < job.count)
        run_next(&job);
    while (job.running)
        pthread_cond_wait(&pool.done, &pool.lock);
    remove_job(&job);
    pthread_mutex_unlock(&pool.lock);
}
