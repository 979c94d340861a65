/* Starting programs: the state of the new process, and the reasons why some cannot start. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "child.h"
#include "target/launch.h"

#define TESTS                                                                                      \
    TEST(missing_program)                                                                          \
    TEST(file_without_permission)                                                                  \
    TEST(directory_is_not_executable)                                                              \
    TEST(path_through_a_file)                                                                      \
    TEST(script_without_interpreter_line)                                                          \
    TEST(script_with_missing_interpreter)                                                          \
    TEST(damaged_and_foreign_files)                                                                \
    TEST(path_search_skips_unusable_files)                                                         \
    TEST(empty_path_element_is_the_working_directory)                                              \
    TEST(program_stops_before_its_first_instruction)                                               \
    TEST(inherited_properties)                                                                     \
    TEST(signal_before_exec)                                                                       \
    TEST(program_killed_during_launch)                                                             \
    TEST(program_survives_its_tracer)

static sigset_t no_signals;

/* The directory of the test's files, and its working directory. */
static char scratch[] = "/tmp/spoor-launch-XXXXXX";

static void make_file(const char *name, const char *text, size_t size, mode_t mode) {
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, size), size);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static size_t count_fds(pid_t pid) {
    AUTO_FREE char *name = mem_printf("/proc/%d/fd", pid);
    DIR *d = opendir(name);
    size_t n = 0;
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* The number of this process's descriptors that a new program inherits. */
static size_t count_inherited_fds(void) {
    enum { MANY = 1024 };
    size_t n = 0;
    for (int fd = 0; fd < MANY; fd++) {
        int flags = fcntl(fd, F_GETFD);
        n += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    return n;
}

static void expect_failure(const char *program, int code, const char *tag) {
    char *argv[] = {(char *)program, NULL};
    struct err err = {0};
    pid_t pid = 0;
    size_t fds = count_fds(getpid());
    assert_int_equal(launch(argv, &no_signals, &pid, &err), -code);
    assert_int_equal(err.code, code);
    assert_string_equal(err.tag, tag);
    assert_non_null(strstr(err.text, program));
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(pid, 0);
    assert_int_equal(count_fds(getpid()), fds);
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1); /* no child is left behind */
    assert_int_equal(errno, ECHILD);
}

static void missing_program(void **state) {
    (void)state;
    expect_failure("/no/such/program", ENOENT, "not-found");
    expect_failure("./no-such-program", ENOENT, "not-found");
    expect_failure("no-such-program-in-path", ENOENT, "not-found");
    expect_failure("", ENOENT, "not-found");
}

static void file_without_permission(void **state) {
    (void)state;
    make_file("plain", "#!/bin/sh\n", 10, 0644);
    expect_failure("./plain", EACCES, "not-executable");
}

static void directory_is_not_executable(void **state) {
    (void)state;
    expect_failure("/tmp", EACCES, "not-executable");
}

static void path_through_a_file(void **state) {
    (void)state;
    make_file("plain", "", 0, 0755);
    expect_failure("./plain/x", ENOTDIR, "not-executable");
}

/* Unlike execvp(), launch() does not try a shell. */
static void script_without_interpreter_line(void **state) {
    (void)state;
    make_file("script", "exit 0\n", 7, 0755);
    expect_failure("./script", ENOEXEC, "not-executable");
}

static void script_with_missing_interpreter(void **state) {
    (void)state;
    make_file("orphan", "#!/no/such/shell\n", 17, 0755);
    char *argv[] = {"./orphan", NULL};
    struct err err = {0};
    pid_t pid;
    assert_int_equal(launch(argv, &no_signals, &pid, &err), -ENOENT);
    assert_string_equal(err.tag, "not-executable");
    assert_non_null(strstr(err.text, "interpreter"));
}

static void damaged_and_foreign_files(void **state) {
    (void)state;
    static const char elf[64] = "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\xf3\0\1"; /* RISC-V */
    make_file("foreign", elf, sizeof elf, 0755);
    expect_failure("./foreign", ENOEXEC, "not-executable");
    char *argv[] = {"./foreign", NULL};
    struct err err = {0};
    pid_t pid;
    launch(argv, &no_signals, &pid, &err);
    assert_non_null(strstr(err.text, "for another machine (ELF machine 243)"));
    make_file("cut", elf, 7, 0755);
    expect_failure("./cut", ENOEXEC, "not-executable");
    make_file("empty", "", 0, 0755);
    expect_failure("./empty", ENOEXEC, "not-executable");
}

/* Resumes the program, and all processes that it starts, until it ends. */
static int run_to_end(pid_t pid) {
    int status = 0;
    thread_continue(pid, 0);
    for (pid_t tid; (tid = waitpid(-1, &status, __WALL)) > 0;) {
        if (WIFSTOPPED(status))
            thread_continue(tid, status >> 16 ? 0 : WSTOPSIG(status));
        else if (tid == pid)
            break;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void path_search_skips_unusable_files(void **state) {
    (void)state;
    AUTO_FREE char *old = mem_strdup(getenv("PATH"));
    mkdir("first", 0755);
    mkdir("second", 0755);
    make_file("first/tool", "#!/bin/sh\nexit 1\n", 17, 0644);
    make_file("second/tool", "#!/bin/sh\nexit 42\n", 18, 0755);
    AUTO_FREE char *path = mem_printf("/no/such/directory:%s/first:%s/second", scratch, scratch);
    setenv("PATH", path, 1);
    char *argv[] = {"tool", NULL};
    pid_t pid = 0;
    int rc = launch(argv, &no_signals, &pid, NULL);
    make_file("second/tool", "#!/bin/sh\nexit 42\n", 18, 0644);
    struct err err = {0};
    pid_t none;
    int denied = launch(argv, &no_signals, &none, &err);
    setenv("PATH", old, 1);
    assert_int_equal(rc, 0);
    assert_int_equal(run_to_end(pid), 42);
    assert_int_equal(denied, -EACCES);
    assert_string_equal(err.tag, "not-executable");
}

static void empty_path_element_is_the_working_directory(void **state) {
    (void)state;
    AUTO_FREE char *old = mem_strdup(getenv("PATH"));
    make_file("here", "#!/bin/sh\nexit 43\n", 18, 0755);
    setenv("PATH", "/no/such/directory:", 1);
    char *argv[] = {"here", NULL};
    pid_t pid = 0;
    int rc = launch(argv, &no_signals, &pid, NULL);
    setenv("PATH", old, 1);
    assert_int_equal(rc, 0);
    assert_int_equal(run_to_end(pid), 43);
}

static void program_stops_before_its_first_instruction(void **state) {
    (void)state;
    char *argv[] = {"/bin/true", NULL};
    pid_t pid = 0;
    char exe[64] = "";
    assert_int_equal(launch(argv, &no_signals, &pid, NULL), 0);
    AUTO_FREE char *link = mem_printf("/proc/%d/exe", pid);
    AUTO_FREE char *real = realpath("/bin/true", NULL);
    assert_true(readlink(link, exe, sizeof exe - 1) > 0);
    assert_string_equal(exe, real);
    assert_int_equal(thread_finish_syscall(pid, NULL), 0);
    struct regs regs;
    assert_int_equal(thread_get_regs(pid, &regs), 0);
    assert_int_equal(regs_syscall_result(&regs), 0);
    assert_int_equal(run_to_end(pid), 0);
}

/* The value of a field of this process's own status. */
static void own_status(const char *field, char ret[32]) {
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    assert_non_null(f);
    *ret = '\0';
    while (fgets(line, sizeof line, f))
        if (strncmp(line, field, strlen(field)) == 0)
            sscanf(line + strlen(field), "%31s", ret);
    fclose(f);
    assert_true(*ret);
}

/* Arguments, environment, working directory, descriptors, signal mask and dispositions are those
 * that the program would have without spoor. */
static void inherited_properties(void **state) {
    (void)state;
    static const char script[] =
        "#!/bin/sh\n"
        "[ \"$1\" = 'a b' ] && [ \"$SPOOR_TEST\" = here ] && [ -f ./inherit ] || exit 1\n"
        "grep -q \"^SigIgn:.$IGNORED\\$\" /proc/$$/status || exit 2\n";
    make_file("inherit", script, sizeof script - 1, 0755);
    char *argv[] = {"./inherit", "a b", NULL};
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    signal(SIGUSR1, SIG_IGN);
    char ignored[32];
    own_status("SigIgn:", ignored); /* this process may ignore more signals */
    setenv("IGNORED", ignored, 1);
    setenv("SPOOR_TEST", "here", 1);
    pid_t pid = 0;
    assert_int_equal(launch(argv, &mask, &pid, NULL), 0);
    signal(SIGUSR1, SIG_DFL);
    assert_int_equal(count_fds(pid), count_inherited_fds());
    uint64_t blocked = 0;
    ptrace(PTRACE_GETSIGMASK, pid, sizeof blocked, &blocked);
    assert_int_equal(blocked, UINT64_C(1) << (SIGUSR2 - 1));
    assert_int_equal(run_to_end(pid), 0);
}

static void signal_before_exec(void **state) {
    (void)state;
    char *argv[] = {"/bin/sleep", "1000", NULL};
    pid_t pid = 0;
    assert_int_equal(launch(argv, &no_signals, &pid, NULL), 0);
    kill(pid, SIGTERM);
    thread_continue(pid, 0);
    child_await_signal(pid, SIGTERM);
    thread_continue(pid, SIGTERM);
    assert_int_equal(child_end(pid), 128 + SIGTERM);
}

static void program_killed_during_launch(void **state) {
    (void)state;
    char *argv[] = {"/bin/true", NULL};
    pid_t pid = 0;
    assert_int_equal(launch(argv, &no_signals, &pid, NULL), 0);
    kill(pid, SIGKILL);
    struct stop stop;
    struct regs regs;
    assert_int_equal(thread_wait(pid, &stop), -ESRCH);
    assert_int_equal(thread_get_regs(pid, &regs), -ESRCH);
    assert_int_equal(thread_finish_syscall(pid, NULL), -ESRCH);
    assert_int_equal(child_end(pid), 128 + SIGKILL);
}

static int launch_and_die(void *arg) {
    (void)arg;
    char *argv[] = {"/bin/sh", "-c", "echo alive > survivor.new; mv survivor.new survivor", NULL};
    pid_t pid;
    return launch(argv, &no_signals, &pid, NULL) < 0; /* leaves the program stopped */
}

static void program_survives_its_tracer(void **state) {
    (void)state;
    assert_int_equal(child_end(child_start(launch_and_die, NULL)), 0);
    while (access("survivor", F_OK) < 0)
        usleep(1000);
}

static int setup(void **state) {
    (void)state;
    sigemptyset(&no_signals);
    return !mkdtemp(scratch) || chdir(scratch) < 0;
}

static int teardown(void **state) {
    (void)state;
    AUTO_FREE char *command = mem_printf("rm -rf %s", scratch);
    return system(command);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("target launch", tests, setup, teardown);
}
