/* Series of remote calls: their results, and when there are none. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "hold.h"
#include "target/memory.h"

#define TESTS                                                                                      \
    TEST(series_of_calls)                                                                          \
    TEST(places_of_data_are_not_read_back)                                                         \
    TEST(signal_during_a_series_is_sent_again)                                                     \
    TEST(signal_in_stead_of_the_last_is_sent_again)                                                \
    TEST(series_with_pending_signal_refused)                                                       \
    TEST(series_for_which_there_is_no_room_refused)

static uint8_t *frame; /* shared, as in a slab */

static int hold(void *arg) {
    (void)arg;
    return hold_all(false) ? 0 : 1;
}

static pid_t start_hold(struct remote_site *ret_site) {
    pid_t pid = child_start(hold, NULL);
    child_seize(pid);
    thread_continue(pid, 0);
    child_stop_within(pid, hold_loop, hold_loop_end);
    *ret_site = child_site(pid);
    return pid;
}

/* Passes signals on until the child ends. */
static int end_hold(pid_t pid, const struct remote_site *site) {
    static const uint32_t one = 1;
    struct stop stop;
    assert_int_equal(memory_write(site->memory_fd, (taddr_t)&hold_flag, &one, 4, NULL), 0);
    thread_continue(pid, 0);
    close(site->memory_fd);
    while (thread_wait(pid, &stop) == 0)
        thread_continue(pid, stop.kind == STOP_SIGNAL ? stop.signal : 0);
    return child_end(pid);
}

static void expect_works(pid_t pid, const struct remote_site *site) {
    const struct remote_call call = {SYS_getpid, {0}};
    int64_t result = 0;
    assert_int_equal(thread_call(pid, site, &call, &result, NULL), 0);
    assert_int_equal(result, pid);
}

static void series_of_calls(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_hold(&site);
    struct regs before, after;
    char name[] = "series";
    int64_t at;
    uint64_t mask = 0, mask_after = 1;
    struct remote_step steps[] = {
        {.call = {SYS_memfd_create, {0}}, .data = {0, sizeof name, name}, .into = {{1, 0}}},
        {.call = {SYS_ftruncate, {99, 8192}}},
        {.call = {SYS_close, {12345}}},
        {.call = {SYS_mmap, {0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0}}}};
    site.frame = (taddr_t)frame;
    thread_get_regs(pid, &before);
    thread_get_mask(pid, &mask);
    assert_int_equal(thread_calls(pid, &site, steps, 4, NULL), 0);
    assert_true(steps[0].result > 2); /* and it was the next call's argument */
    assert_int_equal(steps[1].result, 0);
    assert_int_equal(steps[2].result, -EBADF);
    assert_int_equal(memory_read(site.memory_fd, (taddr_t)steps[3].result, &at, 8, NULL), 0);
    assert_string_equal(name, "series");
    thread_get_regs(pid, &after);
    thread_get_mask(pid, &mask_after);
    before.raw.orig_rax = after.raw.orig_rax; /* no system call to restart, either way */
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(mask, mask_after);
    expect_works(pid, &site);
    assert_int_equal(end_hold(pid, &site), 0);
}

static void series_for_which_there_is_no_room_refused(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_hold(&site);
    static uint8_t large[REMOTE_FRAME_BYTES];
    struct remote_step step = {.call = {SYS_getpid, {0}}, .data = {1, sizeof large, large}};
    struct remote_step plain = {.call = {SYS_getpid, {0}}};
    site.frame = (taddr_t)frame;
    assert_int_equal(thread_calls(pid, &site, &step, 1, NULL), -ENOTSUP);
    site.frame = 0;
    assert_int_equal(thread_calls(pid, &site, &plain, 1, NULL), -ENOTSUP);
    assert_int_equal(end_hold(pid, &site), 0);
}

/* The program may write to the table while its thread makes the calls. */
static void places_of_data_are_not_read_back(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_hold(&site);
    char name[] = "series";
    struct remote_step steps[] = {{.call = {SYS_getpid, {0}}, .into = {{1, 1}}},
                                  {.call = {SYS_getpid, {0}}, .data = {1, sizeof name, name}}};
    site.frame = (taddr_t)frame;
    assert_int_equal(thread_calls(pid, &site, steps, 2, NULL), 0);
    assert_int_equal(steps[1].result, pid);
    assert_string_equal(name, "series");
    assert_int_equal(end_hold(pid, &site), 0);
}

static void signal_during_a_series_is_sent_again(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_hold(&site);
    struct remote_step steps[] = {{.call = {SYS_kill, {(uint64_t)pid, SIGURG}}},
                                  {.call = {SYS_getpid, {0}}}};
    site.frame = (taddr_t)frame;
    assert_int_equal(thread_calls(pid, &site, steps, 2, NULL), 0);
    assert_int_equal(steps[0].result, 0);
    assert_int_equal(steps[1].result, pid);
    assert_true(thread_has_any_pending(pid, SIGURG));
    assert_int_equal(end_hold(pid, &site), 0);
}

/* Two signals of a thread become one. Here the series replaces its last call. */
static void signal_in_stead_of_the_last_is_sent_again(void **state) {
    (void)state;
    enum { TABLE_AT = 8192, PLAIN = 0, REPLACED = 1 };
    struct remote_site site;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = start_hold(&site);
    const uint64_t kill_itself[] = {SYS_kill, (uint64_t)pid, SIGURG};
    site.frame = (taddr_t)frame;
    const taddr_t last = site.frame + TABLE_AT + REMOTE_ENTRY_BYTES;
    for (int how = PLAIN; how <= REPLACED; how++) {
        struct remote_step step = {
            .call = {SYS_read, {(uint64_t)ends[0], last, sizeof kill_itself}}};
        if (how == PLAIN)
            step.call.number = SYS_getpid;
        assert_int_equal(write(ends[1], kill_itself, sizeof kill_itself), sizeof kill_itself);
        assert_int_equal(thread_calls(pid, &site, &step, 1, NULL), 0);
        assert_int_equal(thread_has_any_pending(pid, SIGURG), how == REPLACED);
    }
    assert_int_equal(end_hold(pid, &site), 0);
    close(ends[0]);
    close(ends[1]);
}

/* The signal that ends a series would be joined with it. */
static void series_with_pending_signal_refused(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_hold(&site);
    struct remote_step step = {.call = {SYS_getpid, {0}}};
    site.frame = (taddr_t)frame;
    kill(pid, SIGURG);
    assert_int_equal(thread_calls(pid, &site, &step, 1, NULL), -ENOTSUP);
    expect_works(pid, &site);
    assert_true(thread_has_any_pending(pid, SIGURG));
    assert_int_equal(end_hold(pid, &site), 0);
}

static int setup(void **state) {
    (void)state;
    frame = shared_new(REMOTE_FRAME_BYTES);
    return 0;
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("target series", tests, setup, NULL);
}
