/* Threads that pack have the lowest priority, but not while they allocate memory. */
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"
#include "trace/packers.h"

#ifndef SCHED_IDLE
#define SCHED_IDLE 5
#endif

#define TESTS                                                                                      \
    TEST(first_blocks_packed_at_normal_priority)                                                   \
    TEST(larger_blocks_packed_at_normal_priority)

enum { SIZE = 64 * 1024, LEAST_NICE = -20 };

/* Another thread of this process; *RET_COUNT: how many there are. */
static pid_t other_thread(int *ret_count) {
    DIR *threads = opendir("/proc/self/task");
    pid_t found = 0;
    assert_non_null(threads);
    *ret_count = 0;
    for (struct dirent *entry; (entry = readdir(threads));) {
        const pid_t tid = atoi(entry->d_name);
        if (!tid || tid == getpid())
            continue;
        found = tid;
        ++*ret_count;
    }
    closedir(threads);
    return found;
}

/* The only other thread: those of the test before end by themselves. */
static pid_t packing_thread(void) {
    int count;
    pid_t tid = other_thread(&count);
    while (count != 1) {
        sched_yield();
        tid = other_thread(&count);
    }
    return tid;
}

/* Packs a block of SIZE bytes. Returns the policy of the thread that has done so. */
static int policy_for(struct packers *p, size_t size) {
    struct block *packed = NULL;
    assert_true(packers_offer(p, block_of(DISK_EVENTS, size)));
    while (!(packed = packers_collect(p)))
        packers_wait(p, 0);
    assert_true(packed->packed.count > 0);
    block_free(packed);
    return sched_getscheduler(packing_thread());
}

/* Without rights a thread that has lowered its priority may not raise it again. */
static bool can_raise_priority(void) {
    const pid_t child = fork();
    int status;
    if (!child) {
        const struct sched_param none = {0};
        _exit(sched_setscheduler(0, SCHED_IDLE, &none) ||
              sched_setscheduler(0, SCHED_OTHER, &none) ||
              setpriority(PRIO_PROCESS, 0, LEAST_NICE));
    }
    return waitpid(child, &status, 0) == child && status == 0;
}

static void first_blocks_packed_at_normal_priority(void **state) {
    (void)state;
    struct packers *p = packers_new();
    assert_int_equal(policy_for(p, SIZE), SCHED_OTHER);
    if (can_raise_priority())
        assert_int_equal(getpriority(PRIO_PROCESS, (id_t)packing_thread()), LEAST_NICE);
    assert_int_equal(policy_for(p, SIZE), SCHED_IDLE);
    assert_int_equal(policy_for(p, SIZE / 2), SCHED_IDLE);
    packers_free(p);
}

static void larger_blocks_packed_at_normal_priority(void **state) {
    (void)state;
    if (!can_raise_priority())
        skip();
    struct packers *p = packers_new();
    assert_int_equal(policy_for(p, SIZE), SCHED_OTHER);
    assert_int_equal(policy_for(p, SIZE), SCHED_IDLE);
    assert_int_equal(policy_for(p, 2 * SIZE), SCHED_OTHER);
    assert_int_equal(getpriority(PRIO_PROCESS, (id_t)packing_thread()), LEAST_NICE);
    assert_int_equal(policy_for(p, 2 * SIZE), SCHED_IDLE);
    packers_free(p);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("trace packers", tests, NULL, NULL);
}
