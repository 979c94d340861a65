/*
 * Sends and receives more at once than the other side takes or gives at once. Uses all kinds of
 * calls that wait until all is done, until standard input ends. Checks each result and all bytes,
 * and prints "right". Prints "ready" when all of it runs.
 *
 *     transfers whole    each call does all that it was asked to
 *     transfers parts    another call does what a call has left
 *     transfers slow     as "whole", with a slow other side
 *     transfers stuck    only waits to write to a pipe that nobody reads; a part is written
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "pattern.h"

enum { QUICK = 1, SLOW = 300 }; /* milliseconds between reads */
enum { SIZE = 300000, SIP = 8000, PIECES = 150, MESSAGES = 20, STREAMS = 5 };

static uint8_t pattern[SIZE + PERIOD];
static int pause_ms = QUICK;

/* ---- ways to send SIZE bytes, of which DONE are done ---- */

static ssize_t by_write(int fd, const uint8_t *bytes, size_t size) {
    return write(fd, bytes, size);
}

static ssize_t by_send(int fd, const uint8_t *bytes, size_t size) {
    return send(fd, bytes, size, MSG_NOSIGNAL);
}

static int cut(const uint8_t *bytes, size_t size, struct iovec pieces[PIECES]) {
    size_t piece = size / PIECES;
    for (int i = 0; i < PIECES; i++)
        pieces[i] = (struct iovec){(void *)(bytes + piece * (size_t)i), piece};
    pieces[PIECES - 1].iov_len += size % PIECES;
    return PIECES;
}

static ssize_t by_writev(int fd, const uint8_t *bytes, size_t size) {
    struct iovec pieces[PIECES];
    return writev(fd, pieces, cut(bytes, size, pieces));
}

static ssize_t by_sendmsg(int fd, const uint8_t *bytes, size_t size) {
    struct iovec pieces[PIECES];
    struct msghdr message = {.msg_iov = pieces};
    message.msg_iovlen = (size_t)cut(bytes, size, pieces);
    return sendmsg(fd, &message, 0);
}

/* The file holds the pattern as well. */
static ssize_t by_sendfile(int fd, const uint8_t *bytes, size_t size) {
    static _Atomic int file = -1;
    off_t at = bytes - pattern;
    if (file < 0) {
        file = memfd_create("pattern", 0);
        require(write(file, pattern, sizeof pattern) == sizeof pattern, "file", 0);
    }
    return sendfile(fd, file, &at, size);
}

static struct stream {
    const char *name;
    ssize_t (*send)(int, const uint8_t *, size_t);
    int ends[2]; /* to read from, to write to */
    pthread_t sender, receiver;
} streams[STREAMS] = {{"write", by_write, {0, 0}, 0, 0},
                      {"send", by_send, {0, 0}, 0, 0},
                      {"writev", by_writev, {0, 0}, 0, 0},
                      {"sendmsg", by_sendmsg, {0, 0}, 0, 0},
                      {"sendfile", by_sendfile, {0, 0}, 0, 0}};

/* Sends until the program is over; returns the position in the pattern. */
__attribute__((noinline)) static size_t send_all(const struct stream *s, size_t phase) {
    for (size_t done = 0; done < SIZE;) {
        ssize_t n = s->send(s->ends[1], pattern + (phase + done) % PERIOD, SIZE - done);
        require(n > 0 && (!whole || n == SIZE), s->name, n);
        done += (size_t)n;
    }
    return (phase + SIZE) % PERIOD;
}

static void *sending(void *stream) {
    const struct stream *s = stream;
    for (size_t phase = 0; !over;)
        phase = send_all(s, phase);
    close(s->ends[1]);
    return NULL;
}

static void *receiving_slowly(void *stream) {
    const struct stream *s = stream;
    uint8_t bytes[SIP];
    size_t phase = 0;
    for (ssize_t n; (n = read(s->ends[0], bytes, sizeof bytes)) > 0;) {
        require(memcmp(bytes, pattern + phase, (size_t)n) == 0, s->name, -1);
        phase = (phase + (size_t)n) % PERIOD;
        rest_ms(pause_ms);
    }
    return NULL;
}

/* ---- receiving ---- */

static int parts_pipe[2], letters[2];
static _Atomic bool all_read;

static void *writing_parts(void *unused) {
    for (size_t phase = 0; !over; phase = (phase + SIP) % PERIOD) {
        require(write(parts_pipe[1], pattern + phase, SIP) == SIP, "drip", 0);
        rest_ms(1);
    }
    close(parts_pipe[1]);
    return unused;
}

static void *gathering(void *unused) {
    static uint8_t bytes[SIZE];
    size_t phase = 0;
    for (ssize_t n = 1; n > 0; phase = (phase + (size_t)n) % PERIOD) {
        n = recv(parts_pipe[0], bytes, sizeof bytes, MSG_WAITALL);
        require(n == SIZE || over || (!whole && n > 0), "recv", n);
        require(n < 0 || memcmp(bytes, pattern + phase, (size_t)n) == 0, "received", n);
    }
    return unused;
}

static void *writing_letters(void *unused) {
    for (unsigned number = 0; !all_read; number++) {
        require(send(letters[1], &number, sizeof number, 0) == sizeof number, "letter", 0);
        rest_ms(1);
    }
    return unused;
}

static void *reading_letters(void *unused) {
    for (unsigned next = 0; !over;) {
        unsigned numbers[MESSAGES];
        struct iovec pieces[MESSAGES];
        struct mmsghdr messages[MESSAGES] = {0};
        for (int i = 0; i < MESSAGES; i++) {
            pieces[i] = (struct iovec){&numbers[i], sizeof numbers[i]};
            messages[i].msg_hdr = (struct msghdr){.msg_iov = &pieces[i], .msg_iovlen = 1};
        }
        int n = recvmmsg(letters[0], messages, MESSAGES, 0, NULL);
        require(n == MESSAGES || (!whole && (n > 0 || errno > 500)), "recvmmsg", n);
        for (int i = 0; i < n && messages[i].msg_len; i++)
            require(numbers[i] == next++, "letters", numbers[i]);
    }
    all_read = true;
    return unused;
}

static void *drawing(void *unused) {
    static uint8_t bytes[SIZE];
    for (ssize_t n; !over;) {
        n = getrandom(bytes, sizeof bytes, 0);
        require(n == SIZE || (!whole && n > 0), "getrandom", n);
        rest_ms(1);
    }
    return unused;
}

static void *(*const others[])(void *) = {writing_parts, gathering, writing_letters,
                                          reading_letters, drawing};
enum { OTHERS = sizeof others / sizeof *others };

static int unread_pipe[2];

static void *writing_unread(void *unused) {
    ssize_t n = write(unread_pipe[1], pattern, SIZE);
    require(n > 0 && n < SIZE, "in vain", n);
    return unused;
}

static int wait_unread(void) {
    pthread_t thread;
    require(pipe(unread_pipe) == 0, "pipe", 0);
    pthread_create(&thread, NULL, writing_unread, NULL);
    puts("ready");
    fflush(stdout);
    for (char c; read(0, &c, 1) != 0;)
        continue;
    pthread_join(thread, NULL);
    puts("right");
    return 0;
}

int main(int argc, char **argv) {
    pthread_t threads[OTHERS];
    if (argc > 1 && strcmp(argv[1], "stuck") == 0)
        return wait_unread();
    if (argc > 1 && strcmp(argv[1], "slow") == 0)
        pause_ms = SLOW;
    whole = pause_ms == SLOW || (argc > 1 && strcmp(argv[1], "whole") == 0);
    fill_pattern(pattern, sizeof pattern);
    socketpair(AF_UNIX, SOCK_STREAM, 0, parts_pipe);
    socketpair(AF_UNIX, SOCK_DGRAM, 0, letters);
    for (struct stream *s = streams; s < streams + STREAMS; s++) {
        require(s == streams ? pipe(s->ends) == 0
                             : socketpair(AF_UNIX, SOCK_STREAM, 0, s->ends) == 0,
                s->name, 0);
        pthread_create(&s->sender, NULL, sending, s);
        pthread_create(&s->receiver, NULL, receiving_slowly, s);
    }
    for (int i = 0; i < OTHERS; i++)
        pthread_create(&threads[i], NULL, others[i], NULL);
    puts("ready");
    fflush(stdout);
    for (char c; read(0, &c, 1) != 0;)
        continue;
    over = true;
    for (struct stream *s = streams; s < streams + STREAMS; s++) {
        pthread_join(s->sender, NULL);
        pthread_join(s->receiver, NULL);
    }
    for (int i = 0; i < OTHERS; i++)
        pthread_join(threads[i], NULL);
    puts("right");
    return 0;
}
