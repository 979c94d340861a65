/* Processes that spoor can attach to, and the reasons that it gives for refusing others. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "child.h"
#include "target/candidate.h"
#include "target/status.h"

#define TESTS                                                                                      \
    TEST(own_process_accepted)                                                                     \
    TEST(missing_process)                                                                          \
    TEST(thread_named_with_its_process)                                                            \
    TEST(process_with_an_ended_first_thread)                                                       \
    TEST(kernel_thread_refused)                                                                    \
    TEST(ended_process_names_its_parent)                                                           \
    TEST(self_refused)                                                                             \
    TEST(traced_process_names_its_tracer)                                                          \
    TEST(tracer_of_one_thread)                                                                     \
    TEST(process_of_another_user)                                                                  \
    TEST(process_that_hides)                                                                       \
    TEST(program_of_32_bits_refused)                                                               \
    TEST(kernel_threads_share_no_memory)                                                           \
    TEST(tasks_that_share_the_memory)

enum { ABSENT = 0x7ffffff0 /* above pid_max */, NOBODY = 65534 };

static struct shared {
    uint32_t ready, go;
    pid_t tid;
    struct err err;
} * shared;

static int wait_for_ever(void *arg) {
    (void)arg;
    __atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
    return 0;
}

static pid_t start(int (*body)(void *)) {
    shared->ready = 0;
    pid_t pid = child_start(body, NULL);
    await_word(&shared->ready);
    return pid;
}

static void check_text(const struct err *err, const char *tag, const char *says) {
    assert_string_equal(err->tag, tag);
    if (!strstr(err->text, says))
        fail_msg("'%s' does not say '%s'", err->text, says);
    assert_null(strchr(err->text, '\n'));
}

static void expect(pid_t pid, const char *tag, const char *says) {
    struct err err = {0};
    assert_true(candidate_check(pid, &err) < 0);
    check_text(&err, tag, says);
}

static void own_process_accepted(void **state) {
    (void)state;
    struct err err = {0};
    pid_t pid = start(wait_for_ever);
    if (candidate_check(pid, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(status_tracer_of(pid), 0);
    child_kill(pid);
}

static void missing_process(void **state) {
    (void)state;
    expect(ABSENT, "no-process", "process 2147483632: there is no such process");
    expect(0, "no-process", "process 0: ");
    expect(-1, "no-process", "process -1: ");
}

static void *tell_and_wait(void *arg) {
    shared->tid = gettid();
    wait_for_ever(arg);
    return NULL;
}

static int run_a_thread(void *arg) {
    pthread_t thread;
    pthread_create(&thread, NULL, tell_and_wait, NULL);
    return pthread_join(thread, arg);
}

static void thread_named_with_its_process(void **state) {
    (void)state;
    char says[64];
    pid_t pid = start(run_a_thread);
    snprintf(says, sizeof says, ": is a thread of process %d (", pid);
    expect(shared->tid, "thread-id", says);
    child_kill(pid);
}

static int end_its_first_thread(void *arg) {
    pthread_t thread;
    pthread_create(&thread, NULL, tell_and_wait, arg);
    syscall(SYS_exit, 0);
    return 1;
}

static void process_with_an_ended_first_thread(void **state) {
    (void)state;
    struct err err = {0};
    pid_t pid = start(end_its_first_thread);
    while (!status_has_ended(pid))
        sched_yield();
    if (candidate_check(pid, &err) < 0)
        fail_msg("%s", err.text);
    child_kill(pid);
}

static void kernel_thread_refused(void **state) {
    (void)state;
    enum { KTHREADD = 2 };
    char name[32];
    status_name(KTHREADD, name, sizeof name);
    if (strcmp(name, "kthreadd") != 0)
        skip(); /* in a namespace without kthreadd */
    expect(KTHREADD, "kernel-thread", "process 2 (kthreadd): ");
}

static int end_at_once(void *arg) {
    (void)arg;
    return 0;
}

static void ended_process_names_its_parent(void **state) {
    (void)state;
    char says[64];
    pid_t pid = child_start(end_at_once, NULL);
    while (!status_has_ended(pid))
        sched_yield();
    snprintf(says, sizeof says, "its parent, process %d (", getpid());
    expect(pid, "ended", says);
    child_end(pid);
    expect(pid, "no-process", "no such process");
}

static void self_refused(void **state) {
    (void)state;
    expect(getpid(), "own-process", "is spoor itself");
}

/* Checks *ARG as a sibling, or as a process with other rights, sees it; errors go to shared->err.
 */
static int check_it(void *arg) {
    const pid_t *target = arg;
    return candidate_check(*target, &shared->err) < 0;
}

static void expect_of_sibling(pid_t pid, int (*body)(void *), const char *tag, const char *says) {
    shared->err = (struct err){0};
    assert_int_equal(child_end(child_start(body, &pid)), 1);
    check_text(&shared->err, tag, says);
}

static void traced_process_names_its_tracer(void **state) {
    (void)state;
    char says[64];
    pid_t pid = start(wait_for_ever);
    child_seize(pid);
    snprintf(says, sizeof says, "cannot be traced: process %d (", getpid());
    expect_of_sibling(pid, check_it, "seize", says);
    child_kill(pid);
}

static void tracer_of_one_thread(void **state) {
    (void)state;
    char says[64];
    pid_t pid = start(run_a_thread);
    assert_int_equal(thread_seize(shared->tid, NULL), 0);
    snprintf(says, sizeof says, "cannot be traced: process %d (", getpid());
    expect_of_sibling(pid, check_it, "seize", says);
    kill(pid, SIGKILL);
    /* The process ends only when its tracer has taken this thread's end. */
    waitpid(shared->tid, NULL, __WALL);
    child_kill(pid);
}

static int become_nobody(void) { return setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY); }

static int check_as_nobody(void *arg) { return become_nobody() ? 2 : check_it(arg); }

static void process_of_another_user(void **state) {
    (void)state;
    if (getuid() != 0)
        skip();
    pid_t pid = start(wait_for_ever);
    expect_of_sibling(pid, check_as_nobody, "seize", "it is another user's (uid 0): run spoor as");
    child_kill(pid);
}

static int hide_as_nobody(void *arg) {
    if (become_nobody() || prctl(PR_SET_DUMPABLE, 0) < 0)
        return 1;
    return wait_for_ever(arg);
}

static void process_that_hides(void **state) {
    (void)state;
    if (getuid() != 0)
        skip();
    pid_t pid = start(hide_as_nobody);
    struct err err = {0};
    if (candidate_check(pid, &err) < 0)
        fail_msg("%s", err.text);
    expect_of_sibling(pid, check_as_nobody, "seize", "not dumpable");
    child_kill(pid);
}

/* Calls pause() in a loop, by `int $0x80`. */
static int run_a_32_bit_program(void *arg) {
    static const uint8_t code[] = {0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7};
    enum { AT = 0x10000 };
    struct {
        Elf32_Ehdr header;
        Elf32_Phdr segment;
        uint8_t code[sizeof code];
    } file = {.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_EXEC,
                         .e_machine = EM_386,
                         .e_version = EV_CURRENT,
                         .e_ehsize = sizeof(Elf32_Ehdr),
                         .e_phentsize = sizeof(Elf32_Phdr),
                         .e_phnum = 1},
              .segment = {.p_type = PT_LOAD, .p_vaddr = AT, .p_flags = PF_R | PF_X}};
    (void)arg;
    memcpy(file.code, code, sizeof code);
    file.header.e_phoff = offsetof(__typeof__(file), segment);
    file.header.e_entry = AT + offsetof(__typeof__(file), code);
    file.segment.p_filesz = file.segment.p_memsz = sizeof file;
    char *const argv[] = {"small", NULL}, *const env[] = {NULL};
    int fd = memfd_create("small", MFD_CLOEXEC);
    if (write(fd, &file, sizeof file) == (ssize_t)sizeof file)
        fexecve(fd, argv, env);
    return 3;
}

/* Whether PID runs the new program. The link to its executable changes earlier; the kernel makes
 * the auxiliary vector last. */
static bool runs_the_small_one(pid_t pid) {
    char name[32] = "", first;
    AUTO_FREE char *link = mem_printf("/proc/%d/exe", pid);
    AUTO_FREE char *vector = mem_printf("/proc/%d/auxv", pid);
    if (readlink(link, name, sizeof name - 1) <= 0 || !strstr(name, "memfd:small"))
        return false;
    AUTO_FD int fd = open(vector, O_RDONLY | O_CLOEXEC);
    return read(fd, &first, 1) == 1;
}

static void program_of_32_bits_refused(void **state) {
    (void)state;
    pid_t pid = child_start(run_a_32_bit_program, NULL);
    while (!runs_the_small_one(pid) && !status_has_ended(pid))
        sched_yield();
    if (status_has_ended(pid)) {
        child_end(pid);
        skip(); /* this kernel runs no such programs */
    }
    expect(pid, "foreign-program", "is not a 64-bit x86 program");
    child_kill(pid);
}

/* A kernel thread has no memory, like a program that is about to end. */
static void kernel_threads_share_no_memory(void **state) {
    (void)state;
    const pid_t first = 2; /* kthreadd */
    struct sharing sharing = {.pid = first};
    if (!status_is_kernel_thread(first))
        skip(); /* a container shows none */
    sharing_update(&sharing);
    assert_int_equal(sharing.sharers.count, 0);
    sharing_done(&sharing);
}

static int share(void *arg) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    shared->tid = getpid();
    return wait_for_ever(arg);
}

static void *idle(void *arg) {
    pause();
    return arg;
}

/* Makes a thread, a child with a copy of the memory, and on request a child that shares the memory.
 */
static int run_all_kinds(void *arg) {
    static char stack[16384] __attribute__((aligned(16)));
    const pid_t maker = getpid();
    pthread_t thread;
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == maker) /* otherwise it was killed before the request */
            pause();
        _exit(0);
    }
    pthread_create(&thread, NULL, idle, NULL);
    __atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
    await_word(&shared->go);
    clone(share, stack + sizeof stack, CLONE_VM | SIGCHLD, arg);
    return pthread_join(thread, NULL);
}

static void tasks_that_share_the_memory(void **state) {
    (void)state;
    pid_t pid = start(run_all_kinds);
    struct sharing none = {.pid = getpid()}, sharing = {.pid = pid};
    sharing_update(&sharing);
    assert_int_equal(sharing.sharers.count, 0);
    shared->ready = 0;
    __atomic_store_n(&shared->go, 1, __ATOMIC_RELEASE);
    await_word(&shared->ready);
    for (int look = 0; look < 2; look++) { /* the second look adds nothing */
        sharing_update(&sharing);
        assert_int_equal(sharing.sharers.count, 1);
        assert_int_equal(sharing.sharers.at[0], shared->tid);
    }
    sharing_update(&none);
    assert_int_equal(none.sharers.count, 0);
    sharing_done(&none);
    sharing_done(&sharing);
    child_kill(pid);
}

int main(void) {
    shared = shared_new(sizeof *shared);
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("target candidate", tests, NULL, NULL);
}
