/* Reads of values that fault often are withdrawn, and only then they are said to be. */
#include "patch/value_faults.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../target/hold.h"
#include "base/mem.h"
#include "guest.h"
#include "select/module_table.h"

#define TESTS                                                                                      \
    TEST(reads_withdrawn_where_they_often_fault)                                                   \
    TEST(reads_that_cannot_be_withdrawn)                                                           \
    TEST(second_read_that_cannot_be_withdrawn)

enum { WILD = 0x12340000, MOST_CALLS = 100000 };
static const struct call first_wild = {"site_plain", .rdi = WILD},
                         second_wild = {"site_plain", .rsi = WILD};

/* Events have the texts at both arguments. 0 leads nowhere, too, but is not read. */
static struct guest *start(void) {
    return guest_new_capturing(OVERFLOW_WAIT, "site_plain@%rdi/s,%rsi/s", NULL);
}

/* Returns whether a read of the call has faulted; the call ends well. */
static bool call_faults(struct guest *g, const struct call *call) {
    guest_enter(g, call);
    assert_int_equal(thread_continue(g->pid, 0), 0);
    const struct stop stop = child_await_stop(g->pid);
    struct regs regs;
    const bool faults = stop.signal == SIGSEGV;
    if (faults) {
        assert_true(value_fault_pass(g->space, g->pid));
        guest_finish(g);
        return true;
    }
    assert_int_equal(stop.signal, SIGTRAP);
    assert_int_equal(thread_get_regs(g->pid, &regs), 0);
    assert_int_equal(regs_pc(&regs), (taddr_t)hold_trap + 1);
    return false;
}

static void expect_withdrawn(const struct guest *g, uint64_t want) {
    uint64_t reads, functions;
    module_table_withdrawn(g->context.module_table, &reads, &functions);
    assert_int_equal(reads, want);
    assert_int_equal(functions, want != 0);
}

/* From now on nothing can be written to the guest's memory. Returns what could. */
static int bar_writes(struct guest *g) {
    const int fd = g->space->remote.memory_fd;
    AUTO_FREE char *name = mem_printf("/proc/%d/mem", g->pid);
    g->space->remote.memory_fd = open(name, O_RDONLY | O_CLOEXEC);
    assert_true(g->space->remote.memory_fd >= 0);
    return fd;
}

static void allow_writes(struct guest *g, int fd) {
    close(g->space->remote.memory_fd);
    g->space->remote.memory_fd = fd;
}

static void fault_until_withdrawn(struct guest *g) {
    int calls = 0;
    assert_false(value_faults_are_left(g->space));
    assert_true(call_faults(g, &first_wild));
    expect_withdrawn(g, 0);
    while (value_faults_are_left(g->space) && calls++ < MOST_CALLS)
        assert_true(call_faults(g, &first_wild));
    assert_true(calls > 50 && calls < MOST_CALLS);
    expect_withdrawn(g, 1);
}

static void reads_withdrawn_where_they_often_fault(void **state) {
    struct guest *g = start();
    (void)state;
    fault_until_withdrawn(g);
    assert_false(call_faults(g, &first_wild));
    assert_true(call_faults(g, &second_wild));
    expect_withdrawn(g, 1 + 1);
    assert_false(call_faults(g, &second_wild));
    assert_false(value_faults_are_left(g->space));
    guest_free(g);
}

static void reads_that_cannot_be_withdrawn(void **state) {
    struct guest *g = start();
    const int fd = bar_writes(g);
    int calls = 0;
    (void)state;
    while (!g->space->reads.stay && calls++ < MOST_CALLS)
        assert_true(call_faults(g, &first_wild));
    assert_true(g->space->reads.stay);
    assert_true(call_faults(g, &first_wild));
    assert_true(value_faults_are_left(g->space));
    expect_withdrawn(g, 0);
    allow_writes(g, fd);
    guest_free(g);
}

static void second_read_that_cannot_be_withdrawn(void **state) {
    struct guest *g = start();
    (void)state;
    fault_until_withdrawn(g);
    const int fd = bar_writes(g);
    assert_true(call_faults(g, &second_wild));
    assert_true(call_faults(g, &second_wild));
    assert_true(value_faults_are_left(g->space));
    expect_withdrawn(g, 1);
    allow_writes(g, fd);
    guest_free(g);
}

#define TEST(name) cmocka_unit_test(name),
int main(void) {
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
