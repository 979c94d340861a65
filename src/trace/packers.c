/* The jobs, the threads that take them, and the end of both. */
#include "trace/packers.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/workers.h"
#include "trace/buffers.h"
#include "trace/pack.h"

enum {
    JOBS = 16,
    MOST = 16,   /* threads of each priority */
    END_MS = 200 /* how long packers_free() waits for threads */
};

/* FREE ─▶ QUEUED ─▶ PACKING ─▶ DONE ─▶ FREE, or QUEUED ─▶ CANCELLED ─▶ FREE. */
enum state { FREE, QUEUED, PACKING, DONE, CANCELLED };

struct pack_job {
    _Atomic int state;       /* enum state */
    _Atomic uint64_t number; /* the oldest is packed first */
    struct block *block;
    struct bytes out;          /* kept for the next job */
    bool withdrawn, discarded; /* of the block; only the sink uses these */
};

/* What a thread is given. */
struct worker {
    struct packers *packers;
    struct packer *packer;
    bool low;     /* its priority is the lowest, once it allocates nothing */
    bool lowered; /* only the thread uses this */
};

struct packers {
    struct packers *next_left;
    struct pack_job jobs[JOBS];
    uint64_t offered;
    struct worker workers[2 * MOST];
    int started, low, low_most; /* threads: all, and those of low priority */
    _Atomic bool missing;
    sem_t queued; /* counts jobs for the threads; one more for each thread to end */
    sem_t news;   /* for packers_wait() */
    sem_t ended;  /* counts threads */
    _Atomic bool stop;
    _Atomic int users; /* the sink and the threads */
};

/* What threads have left as the last users. They take no lock to free it: they may be preempted for
 * long while they hold one. */
static struct packers *_Atomic left;

static int least(int a, int b) { return a < b ? a : b; }

static void release(struct packers *p) {
    for (struct pack_job *job = p->jobs; job < p->jobs + JOBS; job++) {
        if (job->discarded)
            block_free(job->block);
        buffer_put(job->out.at, job->out.room);
    }
    for (int i = 0; i < p->started; i++)
        packer_free(p->workers[i].packer);
    sem_destroy(&p->queued);
    sem_destroy(&p->news);
    sem_destroy(&p->ended);
    free(p);
}

static void release_left(void) {
    for (struct packers *p = atomic_exchange(&left, NULL), *next; p; p = next) {
        next = p->next_left;
        release(p);
    }
}

static bool is_last_user(struct packers *p) { return atomic_fetch_sub(&p->users, 1) == 1; }

struct packers *packers_new(void) {
    struct packers *p = mem_alloc(sizeof *p);
    const int spare = (int)workers_processors() - 1;
    release_left();
    p->low_most = least(spare > 1 ? spare : 1, MOST);
    sem_init(&p->queued, 0, 0);
    sem_init(&p->news, 0, 0);
    sem_init(&p->ended, 0, 0);
    atomic_init(&p->users, 1);
    return p;
}

/* ---- the threads ---- */

static bool change(struct pack_job *job, enum state from, enum state to) {
    int expected = from;
    return atomic_compare_exchange_strong(&job->state, &expected, to);
}

/* JOB is in FROM, and only the caller changes it. */
static void advance(struct pack_job *job, enum state from, enum state to) {
    const bool done = change(job, from, to);
    assert(done);
}

/* The oldest job in STATE, or NULL. */
static struct pack_job *oldest(struct packers *p, enum state state) {
    struct pack_job *found = NULL;
    for (struct pack_job *job = p->jobs; job < p->jobs + JOBS; job++)
        if (atomic_load(&job->state) == (int)state && (!found || job->number < found->number))
            found = job;
    return found;
}

/* For each count of `queued` there is a job that is queued or cancelled. Takes one such job. NULL:
 * it was cancelled. */
static struct pack_job *take(struct packers *p) {
    for (;;) {
        struct pack_job *job = oldest(p, QUEUED);
        if (job && change(job, QUEUED, PACKING))
            return job;
        job = job ? NULL : oldest(p, CANCELLED);
        if (job && change(job, CANCELLED, FREE))
            return NULL;
    }
}

/* Rights do not matter: every thread may lower its priority. Where policies are forbidden, the
 * lowest nice value has to do. */
static void lower_priority(void) {
    struct sched_param none = {0};
    if (pthread_setschedparam(pthread_self(), SCHED_IDLE, &none))
        setpriority(PRIO_PROCESS, 0, 19);
}

/* The kernel has locks, too: while a thread of low priority maps or frees memory, the drainer may
 * wait for it, and all traced threads for the drainer. So the thread packs a block for which it
 * allocates memory with all the priority that it may have. */
static void raise_priority(void) {
    struct sched_param none = {0};
    pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
    setpriority(PRIO_PROCESS, 0, -20);
}

static void set_priority(struct worker *w, const struct block *block) {
    const bool low = w->low && packer_is_ready(w->packer, block);
    if (low && !w->lowered)
        lower_priority();
    else if (w->lowered && !low)
        raise_priority();
    w->lowered = low;
}

static void *worker_run(void *arg) {
    struct worker *w = arg;
    struct packers *p = w->packers;
    if (w->low)
        raise_priority();
    for (;;) {
        while (sem_wait(&p->queued))
            ;
        if (atomic_load(&p->stop))
            break;
        struct pack_job *job = take(p);
        if (!job) { /* the sink may offer another one */
            sem_post(&p->news);
            continue;
        }
        set_priority(w, job->block);
        job->out.count = packer_pack(w->packer, job->block, job->out.at);
        advance(job, PACKING, DONE);
        sem_post(&p->news);
    }
    sem_post(&p->ended);
    if (is_last_user(p)) {
        p->next_left = atomic_load(&left);
        while (!atomic_compare_exchange_weak(&left, &p->next_left, p))
            ;
    }
    return NULL;
}

/* A thread blocks all signals: the recorder handles them. */
static bool start(struct packers *p, bool low) {
    struct worker *w = &p->workers[p->started];
    sigset_t all, old;
    pthread_t thread;
    *w = (struct worker){p, packer_new(), low, false};
    atomic_fetch_add(&p->users, 1);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int code = pthread_create(&thread, NULL, worker_run, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (code) {
        atomic_fetch_sub(&p->users, 1);
        packer_free(w->packer);
        return false;
    }
    pthread_detach(thread);
    p->started++;
    p->low += low;
    return true;
}

/* ---- the sink's side ---- */

/* Finds a free job, and starts a thread if there are more jobs than threads. */
static struct pack_job *find_free(struct packers *p) {
    struct pack_job *found = NULL;
    int busy = 0;
    for (struct pack_job *job = p->jobs; job < p->jobs + JOBS; job++) {
        int state = atomic_load(&job->state);
        busy += state == QUEUED || state == PACKING;
        found = state == FREE ? job : found;
    }
    if (found && busy >= p->started && p->low < p->low_most && !p->missing)
        p->missing = !start(p, true) && !p->started;
    return p->missing ? NULL : found;
}

bool packers_offer(struct packers *p, struct block *block) {
    struct pack_job *job = find_free(p);
    if (!job)
        return false;
    job->out.count = 0;
    bytes_reserve(&job->out, packer_room(block_raw_bytes(block)));
    job->block = block;
    job->number = p->offered++;
    block->job = job;
    advance(job, FREE, QUEUED);
    sem_post(&p->queued);
    return true;
}

/* Gives BLOCK the result OUT, in memory that is not larger. */
static void keep_result(struct block *block, const struct bytes *out) {
    block->tried = true;
    if (!out->count)
        return;
    block->packed = (struct bytes){mem_resize(NULL, out->count, 1), out->count, out->count};
    memcpy(block->packed.at, out->at, out->count);
    block_drop_parts(block);
}

struct block *packers_collect(struct packers *p) {
    for (struct pack_job *job; (job = oldest(p, DONE));) {
        struct block *block = job->block;
        bool withdrawn = job->withdrawn;
        block->job = NULL;
        if (job->discarded)
            block_free(block);
        else if (!withdrawn)
            keep_result(block, &job->out);
        job->withdrawn = job->discarded = false;
        advance(job, DONE, FREE);
        if (!withdrawn)
            return block;
    }
    return NULL;
}

void packers_withdraw(struct block *block) {
    struct pack_job *job = block->job;
    if (job && change(job, QUEUED, CANCELLED))
        block->job = NULL;
    else if (job)
        job->withdrawn = true;
}

void packers_discard(struct block *block) {
    if (block->job)
        block->job->discarded = true;
    else
        block_free(block);
}

bool packers_missing(const struct packers *p) { return p->missing; }

void packers_hurry(struct packers *p, size_t count) {
    const int most = least((int)workers_processors(), MOST);
    for (int i = 0; i < most && (size_t)i < count && start(p, false); i++)
        ;
}

void packers_wait(struct packers *p, uint64_t deadline_ns) {
    struct timespec until = clock_timespec(deadline_ns);
    if (deadline_ns)
        sem_clockwait(&p->news, CLOCK_MONOTONIC, &until);
    else
        sem_wait(&p->news);
}

void packers_wake(struct packers *p) { sem_post(&p->news); }

void packers_free(struct packers *p) {
    struct timespec until = clock_timespec(clock_monotonic_ns() + END_MS * 1000000ull);
    int started = p->started;
    atomic_store(&p->stop, true);
    for (int i = 0; i < started; i++)
        sem_post(&p->queued);
    for (int i = 0; i < started && sem_clockwait(&p->ended, CLOCK_MONOTONIC, &until) == 0; i++)
        ;
    if (is_last_user(p))
        release(p);
    release_left();
}
