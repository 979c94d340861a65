/*
 * The socket that controls a recording. Requests arrive unchanged. Malformed requests and
 * misbehaving clients change nothing and block nobody.
 */
#include "record/control.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TESTS                                                                                      \
    PLAIN(request_round_trip)                                                                      \
    PLAIN(invalid_requests_refused)                                                                \
    PLAIN(one_line_answers)                                                                        \
    PLAIN(no_answer_without_a_recording)                                                           \
    TEST(request_answered)                                                                         \
    TEST(client_and_server_agree)                                                                  \
    TEST(client_that_was_stopped)                                                                  \
    TEST(silent_client_blocks_no_other)                                                            \
    TEST(malformed_request_answered)                                                               \
    TEST(deferred_answer)                                                                          \
    TEST(one_listener_per_process)

/* ---- packets ---- */

static void request_round_trip(void **state) {
    (void)state;
    struct request request = {.command = REQUEST_FILTER}, got;
    size_t size;
    filter_add(&request.filter, 'F', "a b", NULL);
    filter_add(&request.filter, 'F', "", NULL);
    filter_add(&request.filter, 'N', "-F", NULL);
    filter_add(&request.filter, 'M', "*", NULL);
    AUTO_FREE char *packet = request_pack(&request, &size);
    assert_int_equal(request_unpack(packet, size, &got, NULL), 0);
    assert_int_equal(got.command, REQUEST_FILTER);
    assert_int_equal(got.filter.functions.count, 2);
    assert_string_equal(pattern_text(got.filter.functions.at[0]), "a b");
    assert_string_equal(pattern_text(got.filter.functions.at[1]), "");
    assert_int_equal(got.filter.excluded.count, 1);
    assert_string_equal(pattern_text(got.filter.excluded.at[0]), "-F");
    assert_string_equal(got.filter.modules.at[0], "*");
    filter_done(&got.filter);
    filter_done(&request.filter);
}

static void check_refused(const char *bytes, size_t size) {
    struct request got;
    struct err err = {0};
    AUTO_FREE char *exact = mem_alloc(size + 1); /* sanitizers detect reads beyond it */
    memcpy(exact, bytes, size);
    assert_true(request_unpack(exact, size, &got, &err) < 0);
    assert_string_equal(err.tag, "bad-request");
    filter_done(&got.filter);
}
#define REFUSED(text) check_refused(text, sizeof(text) - 1)

static void invalid_requests_refused(void **state) {
    (void)state;
    REFUSED("");
    REFUSED("\0");
    REFUSED("spoor 1");
    REFUSED("spoor 1\0");
    REFUSED("spoor 2\0pause\0");
    REFUSED("spoor 1\0paus\0");
    REFUSED("spoor 1\0pause");
    REFUSED("spoor 1\0pause\0x");
    REFUSED("spoor 1\0pause\0-F\0f\0");
    REFUSED("spoor 1\0filter\0-F\0");
    REFUSED("spoor 1\0filter\0-F\0f");
    REFUSED("spoor 1\0filter\0-X\0f\0");
}

static void one_line_answers(void **state) {
    (void)state;
    char packet[ANSWER_MOST_BYTES];
    bool failed;
    const char *text;
    size_t size = answer_pack(true, "a\nb\033c", packet);
    assert_int_equal(answer_unpack(packet, size, &failed, &text, NULL), 0);
    assert_true(failed);
    assert_string_equal(text, "a?b?c");
    AUTO_FREE char *lengthy = mem_alloc(2 * ANSWER_MOST_BYTES);
    memset(lengthy, 'x', 2 * ANSWER_MOST_BYTES - 1);
    size = answer_pack(false, lengthy, packet);
    assert_int_equal(size, ANSWER_MOST_BYTES);
    assert_int_equal(answer_unpack(packet, size, &failed, &text, NULL), 0);
    assert_false(failed);
    for (size_t cut = 0; cut < size; cut += 97)
        assert_true(answer_unpack(packet, cut, &failed, &text, NULL) < 0);
}

/* ---- the socket ---- */

struct fixture {
    struct control *control;
    unsigned answered;
    bool later;
};

static void answer_with_name(void *ctx, const struct request *request, struct control_answer *ret) {
    struct fixture *f = ctx;
    f->answered++;
    *ret = (struct control_answer){.failed = request->command == REQUEST_RESUME, .later = f->later};
    snprintf(ret->text, sizeof ret->text, "%s", request_name(request->command));
}

static int call(void) {
    struct sockaddr_un address;
    socklen_t size = (socklen_t)request_address(getpid(), &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, size) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void say(int fd, const char *bytes, size_t size) {
    assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
}

static void check_answered(int fd, const char *answer, size_t size) {
    char bytes[ANSWER_MOST_BYTES];
    assert_int_equal(recv(fd, bytes, sizeof bytes, 0), size);
    assert_memory_equal(bytes, answer, size);
    assert_int_equal(recv(fd, bytes, sizeof bytes, 0), 0);
}
#define PAUSE "spoor 1\0pause"
#define PAUSED "spoor 1\0000\0pause"

static void request_answered(void **state) {
    struct fixture *f = *state;
    AUTO_FD int fd = call();
    say(fd, PAUSE, sizeof PAUSE);
    control_handle(f->control, true);
    control_handle(f->control, true);
    check_answered(fd, PAUSED, sizeof PAUSED);
    assert_int_equal(f->answered, 1);
}

/* A process that asks this one to resume, and ends with 0 if it gets that answer. */
static pid_t start_client(void) {
    pid_t pid = getpid(), child = fork();
    if (child == 0) {
        struct request request = {.command = REQUEST_RESUME};
        struct control_answer a;
        bool right = control_request(pid, &request, &a, NULL) == 0 && a.failed &&
                     strcmp(a.text, "resume") == 0;
        _exit(!right);
    }
    return child;
}

static void answer_client(struct fixture *f, pid_t client) {
    int status;
    while (waitpid(client, &status, WNOHANG) == 0)
        control_handle(f->control, true);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void client_and_server_agree(void **state) { answer_client(*state, start_client()); }

/* As by ^Z: the kernel does not restart a recv() that has a time limit. */
static void client_that_was_stopped(void **state) {
    enum { WAITS_US = 50000 };
    pid_t client = start_client();
    int status;
    usleep(WAITS_US);
    kill(client, SIGSTOP);
    assert_int_equal(waitpid(client, &status, WUNTRACED), client);
    assert_true(WIFSTOPPED(status));
    kill(client, SIGCONT);
    usleep(WAITS_US);
    answer_client(*state, client);
}

static void silent_client_blocks_no_other(void **state) {
    struct fixture *f = *state;
    int silent[64], count = 0;
    while (count < 64 && (silent[count] = call()) >= 0)
        count++;
    assert_true(count > 8);
    control_handle(f->control, true);
    for (int i = 0; i < count; i++)
        close(silent[i]);
    for (int i = 0; i < 64; i++) /* the client has gone; the next one is accepted */
        control_handle(f->control, true);
    AUTO_FD int fd = call();
    say(fd, PAUSE, sizeof PAUSE);
    for (int i = 0; i < 3; i++)
        control_handle(f->control, true);
    check_answered(fd, PAUSED, sizeof PAUSED);
}

static void malformed_request_answered(void **state) {
    struct fixture *f = *state;
    AUTO_FD int fd = call(), large = call(), gone = call();
    AUTO_FREE char *bytes = mem_alloc(REQUEST_MOST_BYTES + 2);
    char answer[ANSWER_MOST_BYTES];
    say(fd, "x", 1);
    say(large, bytes, REQUEST_MOST_BYTES + 2);
    close(gone);
    gone = -1;
    for (int i = 0; i < 4; i++)
        control_handle(f->control, true);
    assert_true(recv(fd, answer, sizeof answer, 0) > (ssize_t)sizeof REQUEST_VERSION);
    assert_int_equal(answer[sizeof REQUEST_VERSION], '1');
    assert_true(recv(large, answer, sizeof answer, 0) > (ssize_t)sizeof REQUEST_VERSION);
    assert_int_equal(answer[sizeof REQUEST_VERSION], '1');
    assert_int_equal(f->answered, 0);
}

static void deferred_answer(void **state) {
    struct fixture *f = *state;
    char answer[ANSWER_MOST_BYTES];
    AUTO_FD int fd = call();
    f->later = true;
    say(fd, PAUSE, sizeof PAUSE);
    for (int i = 0; i < 3; i++)
        control_handle(f->control, true);
    assert_int_equal(recv(fd, answer, sizeof answer, 0), -1);
    assert_int_equal(errno, EAGAIN);
    control_answer_waiting(f->control, "pause");
    check_answered(fd, PAUSED, sizeof PAUSED);
}

static void one_listener_per_process(void **state) {
    (void)state;
    struct control *second;
    struct err err = {0};
    assert_true(control_open(getpid(), answer_with_name, NULL, &second, &err) < 0);
    assert_string_equal(err.tag, "control");
}

static void no_answer_without_a_recording(void **state) {
    (void)state;
    struct request request = {.command = REQUEST_STATUS};
    struct control_answer a;
    struct err err = {0};
    assert_true(control_request(getpid(), &request, &a, &err) < 0);
    assert_string_equal(err.tag, "no-recorder");
}

static int open_all(void **state) {
    struct fixture *f = mem_alloc(sizeof *f);
    *state = f;
    return control_open(getpid(), answer_with_name, f, &f->control, NULL);
}

static int close_all(void **state) {
    struct fixture *f = *state;
    control_free(f->control);
    free(f);
    return 0;
}

int main(void) {
#define PLAIN(name) cmocka_unit_test(name),
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("record control", tests, NULL, NULL);
}
