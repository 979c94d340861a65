/*
 * The agent makes the remainder of an interrupted system call. The thread returns from it, or is
 * taken out at any instruction, as if the call had done everything that is done by then.
 */
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arch/remainder.h"
#include "arch/x86_64/stub.h"
#include "base/mem.h"
#include "child.h"

#define TESTS                                                                                      \
    TEST(remainder_done_from_every_instruction)                                                    \
    TEST(failed_remainder_counts_earlier_bytes)                                                    \
    TEST(interrupted_remainder_is_continued)                                                       \
    TEST(kernel_limit_not_waited_for)                                                              \
    TEST(calls_with_a_remainder)

enum { WANTED = 100, DONE = 40, PAGE = 4096, BACK = 0x12345 };

static struct lane *lane; /* shared */
static int ends[2];
static const char text[WANTED] = "what is to be written";
static pid_t child;
static taddr_t agent;
static struct regs idle;

static int pause_for_ever(void *arg) {
    (void)arg;
    return pause();
}

static int set_up(void **state) {
    (void)state;
    lane = shared_new(PAGE);
    assert_int_equal(pipe(ends), 0);
    child = child_start(pause_for_ever, NULL);
    child_await_call(child, SYS_pause); /* a stop at a fault would set the resume flag */
    child_seize(child);
    struct remote_site site = child_site(child);
    close(site.memory_fd);
    agent = site.code - agent_entries().syscall;
    assert_int_equal(thread_get_regs(child, &idle), 0);
    regs_finish_restart(&idle);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    child_kill(child);
    close(ends[0]);
    return close(ends[1]);
}

/* The registers behind write(FD), which has done DONE bytes. */
static struct regs behind_write(int fd) {
    struct regs regs = idle;
    struct user_regs_struct *r = &regs.raw;
    r->gs_base = (uint64_t)lane;
    r->rax = DONE;
    r->orig_rax = SYS_write;
    r->rdi = (uint64_t)(int64_t)fd;
    r->rsi = (uint64_t)text;
    r->rdx = WANTED;
    r->r10 = 10;
    r->r8 = 8;
    r->r9 = 9;
    r->rcx = r->rip = BACK;
    return regs;
}

/* Compares with the same registers and RESULT, except for those that only the kernel knows. */
static void expect(const struct regs *found, int fd, uint64_t result) {
    struct regs expected = behind_write(fd), plain = *found;
    expected.raw.rax = result;
    expected.raw.orig_rax = plain.raw.orig_rax;
    expected.raw.r11 = plain.raw.r11;
    regs_set_trap_flag(&plain, false);
    assert_memory_equal(&plain, &expected, sizeof plain);
}

/* Turns REGS into those of CALL's remainder. */
static void begin_remainder(struct regs *regs, const struct remainder_call *call) {
    const struct remainder_place place = {agent, (taddr_t)lane};
    uint64_t args[CALL_ARGUMENTS];
    remainder_arguments(call, args);
    remainder_begin(regs, &place, call, args, &lane->remainder);
}

static void begin(int fd) {
    struct regs regs = behind_write(fd);
    struct remainder_call call;
    assert_int_equal(remainder_needed(&regs, &call), REMAINDER_OF_WRITING);
    assert_int_equal(call.done, DONE);
    assert_int_equal(call.wanted, WANTED);
    assert_true(remainder_is_at_call(&regs, &call));
    begin_remainder(&regs, &call);
    assert_true(remainder_is_running(&regs, agent));
    assert_int_equal(thread_set_regs(child, &regs), 0);
}

/* Takes the thread out, in a copy of its registers REGS. */
static void check_taken_out(const struct regs *regs, int fd, uint64_t result) {
    struct remainder_call call;
    struct regs out = *regs;
    struct remainder remainder = lane->remainder;
    bool begun = regs_pc(regs) != agent + agent_entries().remainder;
    assert_int_equal(remainder_end(&out, agent, &remainder, &call), !begun);
    expect(&out, fd, begun ? result : DONE);
}

static void step_through(int fd, uint64_t result) {
    struct regs regs;
    size_t steps = 0;
    begin(fd);
    while (thread_get_regs(child, &regs) == 0 && remainder_is_running(&regs, agent)) {
        check_taken_out(&regs, fd, result);
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
        child_await_stop(child);
        steps++;
    }
    assert_true(steps > 10);
    expect(&regs, fd, result);
}

static void remainder_done_from_every_instruction(void **state) {
    (void)state;
    char got[WANTED];
    step_through(ends[1], WANTED);
    assert_int_equal(read(ends[0], got, sizeof got), WANTED - DONE);
    assert_memory_equal(got, text + DONE, WANTED - DONE);
}

static void failed_remainder_counts_earlier_bytes(void **state) {
    (void)state;
    step_through(-1, DONE);
}

static void interrupted_remainder_is_continued(void **state) {
    (void)state;
    begin(ends[1]);
    struct regs regs;
    struct remainder_call call;
    assert_int_equal(thread_get_regs(child, &regs), 0);
    regs.raw.rip = agent + agent_entries().remainder_made;
    regs.raw.orig_rax = SYS_write;
    regs.raw.rax = 25;
    assert_true(remainder_end(&regs, agent, &lane->remainder, &call));
    expect(&regs, ends[1], DONE + 25);
    assert_int_equal(call.done, DONE + 25);
    assert_int_equal(call.number, SYS_write);
    assert_true(remainder_is_at_call(&regs, &call));
}

static void kernel_limit_not_waited_for(void **state) {
    (void)state;
    struct regs regs = behind_write(1);
    struct remainder_call call;
    regs.raw.orig_rax = SYS_sendmmsg;
    regs.raw.r10 = 0;
    regs.raw.rdx = 2000;
    regs.raw.rax = 1024;
    assert_int_equal(remainder_needed(&regs, &call), REMAINDER_OF_NONE);
    regs.raw.rax = 1000;
    assert_int_equal(remainder_needed(&regs, &call), REMAINDER_OF_PACKETS);
    uint64_t args[CALL_ARGUMENTS];
    remainder_arguments(&call, args);
    assert_int_equal(args[2], 24);
    assert_int_equal(args[1], (uint64_t)text + 1000 * sizeof(struct mmsghdr));
}

static void calls_with_a_remainder(void **state) {
    (void)state;
    static const struct {
        long number, result;
        uint64_t fourth;
        enum remainder_of of;
    } all[] = {{SYS_write, DONE, 0, REMAINDER_OF_WRITING},
               {SYS_write, WANTED, 0, REMAINDER_OF_NONE},
               {SYS_write, 0, 0, REMAINDER_OF_NONE},
               {SYS_write, -4, 0, REMAINDER_OF_NONE},
               {SYS_read, DONE, 0, REMAINDER_OF_READING},
               {SYS_getpid, DONE, 0, REMAINDER_OF_NONE},
               {-1, DONE, 0, REMAINDER_OF_NONE},
               {SYS_sendto, DONE, MSG_NOSIGNAL, REMAINDER_OF_WRITING},
               {SYS_sendto, DONE, MSG_DONTWAIT, REMAINDER_OF_NONE},
               {SYS_recvfrom, DONE, 0, REMAINDER_OF_READING},
               {SYS_recvfrom, DONE, MSG_WAITALL, REMAINDER_OF_STREAM},
               {SYS_recvfrom, DONE, MSG_WAITALL | MSG_PEEK, REMAINDER_OF_NONE},
               {SYS_sendfile, DONE, WANTED, REMAINDER_OF_ANYTHING},
               {SYS_sendfile, DONE, DONE, REMAINDER_OF_NONE},
               {SYS_recvmmsg, DONE, MSG_WAITFORONE, REMAINDER_OF_NONE},
               {SYS_sendmmsg, DONE, 0, REMAINDER_OF_PACKETS},
               {SYS_sendmmsg, DONE, MSG_DONTWAIT, REMAINDER_OF_NONE},
               {SYS_splice, 7, 0, REMAINDER_OF_PIPE},
               {SYS_splice, 8, 0, REMAINDER_OF_NONE},
               {SYS_copy_file_range, 7, 0, REMAINDER_OF_ANYTHING},
               {SYS_recvmsg, DONE, 0, REMAINDER_OF_NONE},
               {SYS_writev, DONE, 0, REMAINDER_OF_WRITING}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct regs regs = behind_write(1);
        struct remainder_call call;
        regs.raw.orig_rax = (uint64_t)all[i].number;
        regs.raw.rax = (uint64_t)all[i].result;
        regs.raw.r10 = all[i].fourth;
        assert_int_equal(remainder_needed(&regs, &call), all[i].of);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
