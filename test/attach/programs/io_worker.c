/*
 * A kernel thread (io_uring), which /proc lists among the program's own threads, waits to read from
 * a pipe. Meanwhile the main thread computes, until standard input ends. The read must not end
 * earlier, and must then be right. Prints "ready" when the read waits, and "right" at the end. Ends
 * with 77 if there is no io_uring.
 */
#include <linux/io_uring.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTRIES = 1, SKIP = 77 };

struct ring {
    int fd;
    unsigned *sent, *received;
    const struct io_uring_cqe *result;
};

static char *map(int fd, size_t size, off_t at) {
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, at);
}

/* Requests a read of FD, for which the kernel waits in a thread of its own. */
static bool ask(struct ring *r, int fd, char *bytes, unsigned size) {
    struct io_uring_params p = {.flags = 0};
    r->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &p);
    if (r->fd < 0)
        return false;
    char *requests = map(r->fd, p.sq_off.array + sizeof(unsigned), IORING_OFF_SQ_RING);
    char *results =
        map(r->fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    struct io_uring_sqe *entry = (void *)map(r->fd, sizeof *entry, IORING_OFF_SQES);
    memset(entry, 0, sizeof *entry);
    entry->opcode = IORING_OP_READ;
    entry->flags = IOSQE_ASYNC;
    entry->fd = fd;
    entry->addr = (unsigned long)bytes;
    entry->len = size;
    entry->off = (unsigned long long)-1;
    memset(requests + p.sq_off.array, 0, sizeof(unsigned));
    __atomic_store_n((unsigned *)(requests + p.sq_off.tail), 1, __ATOMIC_RELEASE);
    r->received = (unsigned *)(results + p.cq_off.tail);
    r->result = (void *)(results + p.cq_off.cqes);
    return syscall(SYS_io_uring_enter, r->fd, 1, 0, 0, NULL, 0) == 1;
}

static bool is_over(const struct ring *r) { return __atomic_load_n(r->received, __ATOMIC_ACQUIRE); }

__attribute__((noinline)) static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static int wrong(const char *what, int got) {
    printf("wrong: %s: %d\n", what, got);
    return 1;
}

int main(void) {
    struct ring ring;
    struct pollfd input = {.fd = 0, .events = POLLIN};
    int ends[2];
    char bytes[16] = "";
    if (pipe(ends) != 0 || !ask(&ring, ends[0], bytes, sizeof bytes))
        return SKIP;
    puts("ready");
    fflush(stdout);
    while (poll(&input, 1, 1) == 0)
        if (fib(10) != 55 || is_over(&ring))
            return wrong("it has ended early", ring.result->res);
    if (write(ends[1], "hello", 5) != 5)
        return wrong("write", 0);
    while (!is_over(&ring))
        poll(NULL, 0, 1);
    if (ring.result->res != 5 || memcmp(bytes, "hello", 5) != 0)
        return wrong("what was read", ring.result->res);
    puts("right");
    return 0;
}
