/* Memory of another process: reads, writes and their errors. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "child.h"
#include "target/memory.h"

#define TESTS                                                                                      \
    TEST(text_written_while_read_only)                                                             \
    TEST(unmapped_reads_fail)                                                                      \
    TEST(unmapped_writes_fail)                                                                     \
    TEST(empty_reads_succeed)                                                                      \
    TEST(memory_of_a_dead_process)                                                                 \
    TEST(ended_process_cannot_be_opened)

enum { PAGE = 4096 };

static int wait_for_ever(void *arg) {
    (void)arg;
    return pause();
}

/* A child, its memory, and two execute-only pages in it, with unmapped memory behind them. */
struct fixture {
    pid_t pid;
    int fd;
    uint8_t *text;
};

static int setup(void **state) {
    struct fixture *f = mem_alloc(sizeof *f);
    uint8_t *pages =
        mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pages, 0x90, 2 * PAGE);
    mprotect(pages, 2 * PAGE, PROT_READ | PROT_EXEC);
    munmap(pages + 2 * PAGE, PAGE);
    f->text = pages;
    f->pid = child_start(wait_for_ever, NULL);
    *state = f;
    return memory_open(f->pid, &f->fd, NULL);
}

static int teardown(void **state) {
    struct fixture *f = *state;
    child_kill(f->pid);
    close(f->fd);
    munmap(f->text, 2 * PAGE);
    free(f);
    return 0;
}

static void text_written_while_read_only(void **state) {
    const struct fixture *f = *state;
    taddr_t at = (taddr_t)f->text + PAGE - 2; /* across pages */
    uint8_t back[5] = {0};
    assert_int_equal(memory_write(f->fd, at, "abcde", 5, NULL), 0);
    assert_int_equal(memory_read(f->fd, at, back, 5, NULL), 0);
    assert_memory_equal(back, "abcde", 5);
    assert_int_equal(f->text[PAGE - 2], 0x90); /* this process has another copy */
}

static void expect_unreadable(const struct fixture *f, taddr_t at, size_t size) {
    uint8_t bytes[16];
    struct err err = {0};
    int rc = memory_read(f->fd, at, bytes, size, &err);
    assert_true(rc < 0);
    assert_int_equal(err.code, -rc);
    assert_string_equal(err.tag, "memory");
    assert_non_null(strstr(err.text, "read"));
}

static void unmapped_reads_fail(void **state) {
    const struct fixture *f = *state;
    taddr_t end = (taddr_t)f->text + 2 * PAGE;
    expect_unreadable(f, end, 1);
    expect_unreadable(f, end - 8, 16); /* half of it is mapped */
    expect_unreadable(f, 0, 1);
    expect_unreadable(f, UINT64_MAX - 8, 8);
    expect_unreadable(f, UINT64_C(1) << 63, 8);
}

static void unmapped_writes_fail(void **state) {
    const struct fixture *f = *state;
    struct err err = {0};
    assert_true(memory_write(f->fd, (taddr_t)f->text + 2 * PAGE, "x", 1, &err) < 0);
    assert_string_equal(err.tag, "memory");
    assert_non_null(strstr(err.text, "write"));
}

static void empty_reads_succeed(void **state) {
    const struct fixture *f = *state;
    assert_int_equal(memory_read(f->fd, 0, NULL, 0, NULL), 0);
}

static void memory_of_a_dead_process(void **state) {
    struct fixture *f = *state;
    uint8_t byte;
    child_kill(f->pid);
    expect_unreadable(f, (taddr_t)f->text, 1);
    assert_int_equal(memory_read(f->fd, (taddr_t)f->text, &byte, 1, NULL), -ESRCH);
    assert_int_equal(memory_write(f->fd, (taddr_t)f->text, &byte, 1, NULL), -ESRCH);
}

static void ended_process_cannot_be_opened(void **state) {
    struct fixture *f = *state;
    struct err err = {0};
    int fd = -1;
    child_kill(f->pid);
    assert_int_equal(memory_open(f->pid, &fd, &err), -ENOENT);
    assert_string_equal(err.tag, "open-memory");
    assert_int_equal(fd, -1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("target memory", tests, NULL, NULL);
}
