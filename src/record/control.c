/* The listener: accepts clients, reads one request of each, and answers. */
#include "record/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

enum { MOST_CLIENTS = 8, MOST_ACCEPTS = 32, REQUEST_MS = 2000 };

struct client {
    int fd;            /* −1: none */
    uint64_t until_ms; /* the time limit for its request */
    bool waiting;      /* it waits for an send_answer, without a limit */
};

struct control {
    int listener, events;
    control_handler *handler;
    void *ctx;
    struct client clients[MOST_CLIENTS];
    size_t count;
    bool full; /* the listener is not watched: MOST_CLIENTS are there */
};

static uint64_t now_ms(void) { return clock_monotonic_ns() / 1000000; }

static bool watch(const struct control *c, int fd) {
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(c->events, EPOLL_CTL_ADD, fd, &e) == 0;
}

int control_open(pid_t pid, control_handler *handler, void *ctx, struct control **ret,
                 struct err *err) {
    struct sockaddr_un address;
    socklen_t size = (socklen_t)request_address(pid, &address);
    struct control *c = mem_alloc(sizeof *c);
    *c = (struct control){.handler = handler, .ctx = ctx};
    for (size_t i = 0; i < MOST_CLIENTS; i++)
        c->clients[i].fd = -1;
    c->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    c->events = epoll_create1(EPOLL_CLOEXEC);
    if (c->listener < 0 || c->events < 0 ||
        bind(c->listener, (struct sockaddr *)&address, size) < 0 ||
        listen(c->listener, MOST_CLIENTS) < 0 || !watch(c, c->listener)) {
        int code = errno;
        control_free(c);
        return err_set(err, code, "control", "process %d: cannot listen for 'spoor ctl': %s", pid,
                       strerror(code));
    }
    *ret = c;
    return 0;
}

int control_fd(const struct control *c) { return c ? c->events : -1; }

static void drop_client(struct control *c, struct client *client) {
    close(client->fd); /* this ends the watch, too */
    client->fd = -1;
    c->count--;
    if (c->full)
        c->full = !watch(c, c->listener);
}

/* The socket has room for the packet: nothing was sent to this client before. */
static void send_answer(int fd, bool failed, const char *text) {
    char packet[ANSWER_MOST_BYTES];
    size_t size = answer_pack(failed, text, packet);
    ssize_t n = send(fd, packet, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)n;
}

static bool is_allowed(int fd) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

static struct client *free_client(struct control *c) {
    for (size_t i = 0; i < MOST_CLIENTS; i++)
        if (c->clients[i].fd < 0)
            return &c->clients[i];
    return NULL;
}

static void accept_clients(struct control *c) {
    struct client *client;
    int fd;
    for (int i = 0; i < MOST_ACCEPTS && (client = free_client(c)) &&
                    (fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;
         i++) {
        if (!is_allowed(fd) || !watch(c, fd)) {
            send_answer(fd, true,
                        "the process is recorded by another user: ask that user, or root");
            close(fd);
            continue;
        }
        *client = (struct client){.fd = fd, .until_ms = now_ms() + REQUEST_MS};
        c->count++;
    }
    if (c->count == MOST_CLIENTS && !c->full)
        c->full = epoll_ctl(c->events, EPOLL_CTL_DEL, c->listener, NULL) == 0;
}

static void read_request(struct control *c, struct client *client) {
    static char bytes[REQUEST_MOST_BYTES + 1];
    struct control_answer a = {.failed = true};
    struct request request = {0};
    struct err err = {0};
    ssize_t size = recv(client->fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && errno == EAGAIN)
        return;
    if (size <= 0 || client->waiting) { /* it has gone, or has sent a second request */
        drop_client(c, client);
        return;
    }
    if (size > REQUEST_MOST_BYTES)
        strcpy(a.text, "the request is too long");
    else if (request_unpack(bytes, (size_t)size, &request, &err) < 0)
        snprintf(a.text, sizeof a.text, "%s", err.text);
    else
        c->handler(c->ctx, &request, &a);
    filter_done(&request.filter);
    client->waiting = a.later;
    if (a.later)
        return;
    send_answer(client->fd, a.failed, a.text);
    drop_client(c, client);
}

void control_handle(struct control *c, bool readable) {
    struct epoll_event ready[MOST_CLIENTS + 1];
    if (!c || (!readable && !c->count))
        return;
    int count = epoll_wait(c->events, ready, MOST_CLIENTS + 1, 0);
    for (int i = 0; i < count; i++)
        if (ready[i].data.fd == c->listener)
            accept_clients(c);
    for (size_t i = 0; i < MOST_CLIENTS; i++) {
        struct client *client = &c->clients[i];
        if (client->fd >= 0)
            read_request(c, client);
        if (client->fd >= 0 && !client->waiting && now_ms() >= client->until_ms)
            drop_client(c, client);
    }
}

void control_answer_waiting(struct control *c, const char *text) {
    for (size_t i = 0; c && i < MOST_CLIENTS; i++) {
        struct client *client = &c->clients[i];
        if (client->fd < 0 || !client->waiting)
            continue;
        send_answer(client->fd, false, text);
        drop_client(c, client);
    }
}

void control_free(struct control *c) {
    if (!c)
        return;
    for (size_t i = 0; i < MOST_CLIENTS; i++)
        if (c->clients[i].fd >= 0)
            close(c->clients[i].fd);
    if (c->listener >= 0)
        close(c->listener);
    if (c->events >= 0)
        close(c->events);
    free(c);
}
