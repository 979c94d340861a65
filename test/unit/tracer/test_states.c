/* The states of tasks, spaces and lanes: which transitions there are. Each other one is a bug, at
 * which spoor aborts. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "patch/space.h"
#include "tracer/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TESTS                                                                                      \
    TEST(states_of_tasks)                                                                          \
    TEST(stages_of_tasks)                                                                          \
    TEST(how_tasks_leave)                                                                          \
    TEST(states_of_spaces)                                                                         \
    TEST(states_of_reads)                                                                          \
    TEST(states_of_lanes)

typedef int changer(int from, int to);

/* Whether CHANGE aborts; else it must have changed FROM to TO. A child tries. */
static bool aborts(changer *change, int from, int to) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        _exit(change(from, to) == to ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

/* TABLE has a row for each state before, with an x for each state after. */
static void expect(changer *change, const char *const *table, int states) {
    for (int from = 0; from < states; from++)
        for (int to = 0; to < states; to++)
            if (aborts(change, from, to) == (table[from][to] == 'x'))
                fail_msg("from %d to %d", from, to);
}

static int change_task(int from, int to) {
    struct task task = {.state = (enum task_state)from};
    task_set_state(&task, (enum task_state)to);
    return task.state;
}

static void states_of_tasks(void **state) {
    (void)state;
    /* running, group-stop, vfork, uninterruptible, stopped, held, exiting */
    static const char *const table[TASK_STATES] = {"..xxx.x", "...xx.x", "x...x.x", "....x.x",
                                                   "x.x.xxx", "xxx.x.x", "....x.x"};
    expect(change_task, table, TASK_STATES);
}

static int change_stage(int from, int to) {
    struct task task = {.stage = (enum task_stage)from};
    task_set_stage(&task, (enum task_stage)to);
    return task.stage;
}

static void stages_of_tasks(void **state) {
    (void)state;
    /* unknown, newborn, forked, ready, late */
    static const char *const table[TASK_STAGES] = {".xxxx", "..xx.", "..xx.", "...xx", "...xx"};
    expect(change_stage, table, TASK_STAGES);
}

static void how_tasks_leave(void **state) {
    (void)state;
    for (int from = TASK_STAYS; from <= TASK_LEAVES_RESTORED; from++)
        for (int to = TASK_STAYS; to <= TASK_LEAVES_RESTORED; to++) {
            struct task task = {.leaving = (enum task_leaving)from};
            task_leave(&task, (enum task_leaving)to);
            assert_int_equal(task.leaving, from > to ? from : to);
        }
}

static int change_space(int from, int to) {
    struct space space = {.state = (enum space_state)from};
    space_set_state(&space, (enum space_state)to);
    return space.state;
}

static void states_of_spaces(void **state) {
    (void)state;
    /* untraced, patched, coming, paused, given up, leaving */
    static const char *const table[] = {".x....", "..xx.x", ".x..x.", ".x..xx", ".....x", "......"};
    expect(change_space, table, SPACE_LEAVING + 1);
}

static int change_reads(int from, int to) {
    struct space space = {.reads = {.state = (enum reads_state)from}};
    space_set_reads(&space, (enum reads_state)to);
    return space.reads.state;
}

static void states_of_reads(void **state) {
    (void)state;
    static const char *const table[] = {".x..", ".xxx", ".xxx", ".x.."}; /* unknown … watched */
    expect(change_reads, table, READS_WATCHED + 1);
}

static int change_lane(int from, int to) {
    struct lane_handle handle = {.state = from};
    lane_handle_set_state(&handle, (enum lane_state)to);
    return handle.state;
}

static void states_of_lanes(void **state) {
    (void)state;
    static const char *const table[] = {".x.", "..x", "x.."}; /* free, active, closing */
    expect(change_lane, table, LANE_CLOSING + 1);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("tracer states", tests, NULL, NULL);
}
