/* Stops as wait() reports them, states of tasks, and looks at programs that begin. */
#include "tracer/program_start.h"

#include <sys/ptrace.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TESTS                                                                                      \
    TEST(stops_decoded)                                                                            \
    TEST(vfork_parent_waits_for_its_child)                                                         \
    TEST(vfork_child_ends_before_its_parent_is_resumed)                                            \
    TEST(task_in_group_stop_may_run)                                                               \
    TEST(tasks_of_one_space)                                                                       \
    TEST(waits_of_a_beginning_program_are_looked_for)

static void stops_decoded(void **state) {
    (void)state;
    enum { STOPPED = 0x7f, SYSCALL = SIGTRAP | 0x80 };
    static const struct {
        int status;
        enum stop_kind kind;
        int signal;
    } cases[] = {
        {3 << 8, STOP_EXITED, 0},
        {SIGKILL, STOP_KILLED, 0},
        {SIGTRAP << 8 | STOPPED, STOP_SIGNAL, SIGTRAP},
        {SIGSTOP << 8 | STOPPED, STOP_SIGNAL, SIGSTOP},
        {SYSCALL << 8 | STOPPED, STOP_SYSCALL, SYSCALL},
        {PTRACE_EVENT_STOP << 16 | SIGTRAP << 8 | STOPPED, STOP_INTERRUPT, SIGTRAP},
        {PTRACE_EVENT_STOP << 16 | SIGTTIN << 8 | STOPPED, STOP_GROUP, SIGTTIN},
        {PTRACE_EVENT_EXEC << 16 | SIGTRAP << 8 | STOPPED, STOP_EXEC, SIGTRAP},
        {PTRACE_EVENT_FORK << 16 | SIGTRAP << 8 | STOPPED, STOP_FORK, SIGTRAP},
        {PTRACE_EVENT_VFORK << 16 | SIGTRAP << 8 | STOPPED, STOP_VFORK, SIGTRAP},
        {PTRACE_EVENT_CLONE << 16 | SIGTRAP << 8 | STOPPED, STOP_CLONE, SIGTRAP},
        {PTRACE_EVENT_EXIT << 16 | SIGTRAP << 8 | STOPPED, STOP_EXIT, SIGTRAP},
        {PTRACE_EVENT_SECCOMP << 16 | SIGTRAP << 8 | STOPPED, STOP_OTHER, SIGTRAP},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stop stop = stop_of_status(cases[i].status);
        assert_int_equal(stop.kind, cases[i].kind);
        assert_int_equal(stop.signal, cases[i].signal);
        assert_int_equal(stop_is_end(stop.kind), i < 2);
    }
}

static void vfork_parent_waits_for_its_child(void **state) {
    (void)state;
    struct task parent = {.tid = 1};
    task_set_state(&parent, TASK_STOPPED);
    task_set_vfork_child(&parent, 2);
    assert_int_equal(parent.state, TASK_STOPPED);
    task_set_state(&parent, TASK_HELD);
    task_set_running(&parent);
    assert_int_equal(parent.state, TASK_IN_VFORK);
    assert_true(task_stands_still(&parent));
    task_set_vfork_child(&parent, 0);
    assert_int_equal(parent.state, TASK_RUNNING);
}

static void vfork_child_ends_before_its_parent_is_resumed(void **state) {
    (void)state;
    struct task parent = {.tid = 1};
    task_set_state(&parent, TASK_STOPPED);
    task_set_vfork_child(&parent, 2);
    task_set_vfork_child(&parent, 0);
    task_set_running(&parent);
    assert_int_equal(parent.state, TASK_RUNNING);
}

static void task_in_group_stop_may_run(void **state) {
    (void)state;
    struct task task = {.tid = 1};
    task_set_state(&task, TASK_STOPPED);
    task_set_state(&task, TASK_HELD);
    task_set_state(&task, TASK_IN_GROUP_STOP);
    assert_false(task_stands_still(&task)); /* interrupted before spoor looks at it */
}

static void tasks_of_one_space(void **state) {
    (void)state;
    enum { TASKS = 5 };
    struct tasks tasks = {.count = 0};
    struct space space = {.pid = 1};
    for (pid_t tid = 1; tid <= TASKS; tid++)
        tasks_add(&tasks, tid)->space = tid % 2 ? &space : NULL;
    task_set_state(tasks_find(&tasks, 1), TASK_STOPPED);
    task_set_state(tasks_find(&tasks, 3), TASK_STOPPED);
    tasks_find(&tasks, 3)->stop.kind = STOP_EXEC; /* it has another memory now */
    size_t all = 0, stopped = 0;
    for (struct task *k = NULL; (k = tasks_next_in(&tasks, k, &space));)
        all++;
    for (struct task *k = NULL; (k = tasks_next_stopped(&tasks, k, &space));)
        stopped++;
    assert_int_equal(all, 3);
    assert_int_equal(stopped, 1);
    for (struct task *k; (k = tasks_next(&tasks, NULL));)
        tasks_remove(&tasks, k);
}

/* Each rest is an eighth of the time that has passed, so few looks suffice. */
static void waits_of_a_beginning_program_are_looked_for(void **state) {
    const uint64_t since = 5000, ms = 1000000;
    uint64_t looks = 0;
    (void)state;
    assert_int_equal(program_start_rest_ns(since, since), 20000);
    assert_int_equal(program_start_rest_ns(since, since + 4 * ms), ms / 2);
    assert_int_equal(program_start_rest_ns(since, since + 11 * ms), 0);
    for (uint64_t now = since, rest; (rest = program_start_rest_ns(since, now)); now += rest)
        looks++;
    assert_in_range(looks, 20, 60);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("tracer task", tests, NULL, NULL);
}
