/*
 * As transfers.c, with calls that wait by other rules: until an agreed amount has come, until all
 * of several packets are sent, until a pipe is empty.
 *
 *     partial_transfers whole    each call does all that it waits for
 *     partial_transfers parts    another call does what a call has left
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include "pattern.h"

enum { SIZE = 4000, DRIP = 20, PIECES = 10, PACKETS = 40, ZEROS = 64 << 20 };
enum { LEAST = 60, SPLICED = 400000, COPIED = 64 << 20 };

static uint8_t pattern[SPLICED + PERIOD];

/* ---- many small parts written at one end are gathered at the other ---- */

static struct drops {
    const char *name;
    ssize_t (*gather)(int, uint8_t *);
    size_t least;
    int ends[2]; /* to read from, to write to */
    pthread_t dripper, gatherer;
} drops[4];

static void *writing_parts(void *which) {
    const struct drops *d = which;
    for (size_t phase = 0; !over; phase = (phase + DRIP) % PERIOD) {
        require(write(d->ends[1], pattern + phase, DRIP) == DRIP, d->name, -1);
        rest_ms(1);
    }
    close(d->ends[1]);
    return NULL;
}

static void *gathering(void *which) {
    const struct drops *d = which;
    uint8_t bytes[SIZE];
    size_t phase = 0;
    for (ssize_t n = 1; n > 0; phase = (phase + (size_t)n) % PERIOD) {
        n = d->gather(d->ends[0], bytes);
        require(n >= (ssize_t)d->least || over || (!whole && n > 0), d->name, n);
        require(n < 0 || memcmp(bytes, pattern + phase, (size_t)n) == 0, d->name, n);
    }
    return NULL;
}

static ssize_t by_recvmsg(int fd, uint8_t *bytes) {
    struct iovec pieces[PIECES];
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = PIECES};
    for (size_t i = 0; i < PIECES; i++)
        pieces[i] = (struct iovec){bytes + SIZE / PIECES * i, SIZE / PIECES};
    return recvmsg(fd, &message, MSG_WAITALL);
}

static ssize_t by_peek(int fd, uint8_t *bytes) {
    ssize_t n = recv(fd, bytes, SIZE, MSG_PEEK | MSG_WAITALL);
    return n > 0 ? recv(fd, bytes, (size_t)n, MSG_WAITALL) : n;
}

static ssize_t by_read(int fd, uint8_t *bytes) { return read(fd, bytes, SIZE); }

static void connect_ends(int ends[2]) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int door = socket(AF_INET, SOCK_STREAM, 0);
    ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    require(bind(door, (struct sockaddr *)&address, size) == 0 && listen(door, 1) == 0 &&
                getsockname(door, (struct sockaddr *)&address, &size) == 0 &&
                connect(ends[1], (struct sockaddr *)&address, size) == 0,
            "connect", 0);
    ends[0] = accept(door, NULL, NULL);
    close(door);
}

static void open_terminal(int ends[2]) {
    struct termios t;
    ends[1] = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(ends[1]);
    unlockpt(ends[1]);
    ends[0] = open(ptsname(ends[1]), O_RDWR | O_NOCTTY);
    require(tcgetattr(ends[0], &t) == 0, "terminal", 0);
    cfmakeraw(&t);
    t.c_cc[VMIN] = LEAST;
    tcsetattr(ends[0], TCSANOW, &t);
}

static void begin_drops(void) {
    const int least = LEAST;
    drops[0] = (struct drops){.name = "recvmsg", .gather = by_recvmsg, .least = SIZE};
    drops[1] = (struct drops){.name = "peek", .gather = by_peek, .least = SIZE};
    drops[2] = (struct drops){.name = "terminal", .gather = by_read, .least = LEAST};
    drops[3] = (struct drops){.name = "low mark", .gather = by_read, .least = LEAST};
    socketpair(AF_UNIX, SOCK_STREAM, 0, drops[0].ends);
    connect_ends(drops[1].ends);
    open_terminal(drops[2].ends);
    connect_ends(drops[3].ends);
    setsockopt(drops[3].ends[0], SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
    for (struct drops *d = drops; d < drops + 4; d++) {
        pthread_create(&d->dripper, NULL, writing_parts, d);
        pthread_create(&d->gatherer, NULL, gathering, d);
    }
}

/* ---- others ---- */

static int packets[2], streams[2];
static _Atomic bool all_sent;

static void *sending_packets(void *unused) {
    unsigned numbers[PACKETS], next = 0;
    struct iovec pieces[PACKETS];
    struct mmsghdr messages[PACKETS] = {0};
    for (int i = 0; i < PACKETS; i++) {
        pieces[i] = (struct iovec){&numbers[i], sizeof numbers[i]};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &pieces[i], .msg_iovlen = 1};
    }
    for (int n = 0; !over; next += (unsigned)n) {
        for (unsigned i = 0; i < PACKETS; i++)
            numbers[i] = next + i;
        n = sendmmsg(packets[1], messages, PACKETS, 0);
        require(n == PACKETS || (!whole && n > 0), "sendmmsg", n);
    }
    all_sent = true;
    return unused;
}

static void *reading_packets(void *unused) {
    for (unsigned next = 0, number; !all_sent; next++) {
        if (recv(packets[0], &number, sizeof number, MSG_DONTWAIT) < 0)
            next--;
        else
            require(number == next, "packet", number);
        rest_ms(1);
    }
    return unused;
}

static void *splicing(void *unused) {
    static uint8_t left[SPLICED];
    int ends[2];
    require(pipe(ends) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) > 0, "pipe", 0);
    for (size_t phase = 0; !over;) {
        require(write(ends[1], pattern + phase, SPLICED) == SPLICED, "filled", 0);
        ssize_t n = splice(ends[0], NULL, streams[1], NULL, SPLICED, 0);
        require(n == SPLICED || (!whole && n > 0), "splice", n);
        for (ssize_t gone = n, m; gone < SPLICED; gone += m)
            m = read(ends[0], left, sizeof left);
        phase = (phase + (size_t)n) % PERIOD;
    }
    close(streams[1]);
    return unused;
}

static void *receiving_slowly(void *unused) {
    uint8_t bytes[8000];
    size_t phase = 0;
    for (ssize_t n; (n = read(streams[0], bytes, sizeof bytes)) > 0;) {
        require(memcmp(bytes, pattern + phase, (size_t)n) == 0, "spliced", n);
        phase = (phase + (size_t)n) % PERIOD;
        rest_ms(1);
    }
    return unused;
}

static void *copying(void *unused) {
    int from = memfd_create("from", 0), to = memfd_create("to", 0),
        zero = open("/dev/zero", O_RDONLY);
    uint8_t *room = mmap(NULL, ZEROS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct iovec pieces[2] = {{room, ZEROS / 2}, {room + ZEROS / 2, ZEROS / 2}};
    require(ftruncate(from, COPIED) == 0 && room != MAP_FAILED, "file", 0);
    while (!over) {
        loff_t begin = 0, there = 0;
        ssize_t n = copy_file_range(from, &begin, to, &there, COPIED, 0);
        require(n == COPIED || (!whole && n > 0), "copy_file_range", n);
        n = readv(zero, pieces, 2);
        require(n == ZEROS || (!whole && n > 0), "readv", n);
        n = pread(zero, room, ZEROS, 0);
        require(n == ZEROS || (!whole && n > 0), "pread", n);
        rest_ms(1);
    }
    return unused;
}

static void *(*const others[])(void *) = {sending_packets, reading_packets, splicing,
                                          receiving_slowly, copying};
enum { OTHERS = sizeof others / sizeof *others };

int main(int argc, char **argv) {
    pthread_t threads[OTHERS];
    whole = argc > 1 && strcmp(argv[1], "whole") == 0;
    fill_pattern(pattern, sizeof pattern);
    socketpair(AF_UNIX, SOCK_DGRAM, 0, packets);
    socketpair(AF_UNIX, SOCK_STREAM, 0, streams);
    begin_drops();
    for (int i = 0; i < OTHERS; i++)
        pthread_create(&threads[i], NULL, others[i], NULL);
    puts("ready");
    fflush(stdout);
    for (char c; read(0, &c, 1) != 0;)
        continue;
    over = true;
    for (struct drops *d = drops; d < drops + 4; d++) {
        pthread_join(d->dripper, NULL);
        pthread_join(d->gatherer, NULL);
    }
    for (int i = 0; i < OTHERS; i++)
        pthread_join(threads[i], NULL);
    puts("right");
    return 0;
}
