/*
 * Threads for the benchmark. Prints JSON.
 *
 *     threads busy COUNT MS     COUNT threads call a function that does nothing for MS
 * milliseconds. For each: calls; the longest time that a batch of calls took, on the wall and of
 * its processor time; and all processor time. A thread that waits for its ring spins, so its waits
 * are processor time. threads create COUNT      COUNT threads begin and end, one after the other.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 1000, MOST = 4096 };
#define MS_NS 1e6

struct worker {
    pthread_t thread;
    long calls;
    double longest_wall, longest_cpu, cpu;
};

static struct worker workers[MOST];
static pthread_barrier_t barrier;
static double busy_ns;

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

__attribute__((noinline)) static long leaf(long x) {
    __asm__ volatile("" : "+r"(x));
    return x * 3 + 1;
}

/* Not a loop of its own function: it would be one more traced call. */
static inline __attribute__((always_inline)) double larger(double a, double b) {
    return a > b ? a : b;
}

static void *work(void *arg) {
    struct worker *w = arg;
    long sum = 0;
    pthread_barrier_wait(&barrier);
    double begin = now(CLOCK_MONOTONIC), wall = begin, cpu = now(CLOCK_THREAD_CPUTIME_ID);
    w->cpu = -cpu;
    while (wall - begin < busy_ns) {
        for (int i = 0; i < BATCH; i++)
            sum += leaf(sum);
        double wall_now = now(CLOCK_MONOTONIC), cpu_now = now(CLOCK_THREAD_CPUTIME_ID);
        w->longest_wall = larger(w->longest_wall, wall_now - wall);
        w->longest_cpu = larger(w->longest_cpu, cpu_now - cpu);
        w->calls += BATCH;
        wall = wall_now;
        cpu = cpu_now;
    }
    w->cpu += cpu;
    return NULL;
}

static void *end_at_once(void *arg) { return arg; }

static void busy(int count) {
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (int i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    printf("[");
    for (int i = 0; i < count; i++)
        printf("%s{\"calls\": %ld, \"wall_ns\": %.0f, \"cpu_ns\": %.0f, \"all_cpu_ns\": %.0f}",
               i ? ",\n" : "", workers[i].calls, workers[i].longest_wall, workers[i].longest_cpu,
               workers[i].cpu);
    printf("]\n");
}

static void create(long count) {
    double begin = now(CLOCK_MONOTONIC);
    for (long i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, end_at_once, NULL))
            exit(1);
        pthread_join(thread, NULL);
    }
    printf("{\"ns\": %.1f}\n", (now(CLOCK_MONOTONIC) - begin) / (double)count);
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "busy") == 0 && atoi(argv[2]) <= MOST) {
        busy_ns = atof(argv[3]) * MS_NS;
        busy(atoi(argv[2]));
    } else if (argc == 3 && strcmp(argv[1], "create") == 0) {
        create(atol(argv[2]));
    } else {
        return 2;
    }
    return 0;
}
