/*
 * See server.h. libmicrohttpd gives each connection a thread, in which the request is answered: a
 * long one holds up no other. While it reads the trace, it looks whether the client is still there.
 */
#include "page/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "page/answer.h"
#include "page/files.h"
#include "page/life.h"

enum {
    CONNECTIONS = 200,
    IDLE_SECONDS = 60,         /* a connection without a request is closed after that */
    REQUEST_BYTES = 64 * 1024, /* most of a request's head */
    PROGRESS_MS = 100,         /* between lines of progress */
};

struct server {
    struct shown *shown, *other;
    struct MHD_Daemon *daemon;
    unsigned port;
    char token[TOKEN_ROOM];
};

/* ---- responses ---- */

static const char *const headers[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
     "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

/* Sends RESPONSE, and frees it. */
static enum MHD_Result send_response(struct MHD_Connection *c, unsigned status, const char *type,
                                     struct MHD_Response *response) {
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", type);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, "Allow", "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(c, status, response);
    MHD_destroy_response(response);
    return result;
}

/* Sends ANSWER, whose body goes to the response. */
static enum MHD_Result send_answer(struct MHD_Connection *c, struct answer *answer) {
    struct MHD_Response *response =
        MHD_create_response_from_buffer(answer->size, answer->body, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(answer->body);
    return send_response(c, (unsigned)answer->status, answer->type, response);
}

static enum MHD_Result send_error(struct MHD_Connection *c, int status, const char *text) {
    struct answer answer;
    answer_error(&answer, status, text);
    return send_answer(c, &answer);
}

static enum MHD_Result send_file(struct MHD_Connection *c, const char *name) {
    const struct page_file *file = page_file_find(*name ? name : "index.html");
    if (!file)
        return send_error(c, MHD_HTTP_NOT_FOUND, "there is no such file");
    return send_response(c, MHD_HTTP_OK, page_file_type(file),
                         MHD_create_response_from_buffer(file->size, (void *)(uintptr_t)file->bytes,
                                                         MHD_RESPMEM_PERSISTENT));
}

/* ---- requests for data ---- */

/* Whether the client has closed the connection, or does so within TIMEOUT_MS. */
static bool waits_for_end(struct MHD_Connection *c, int timeout_ms) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd p = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};
    return poll(&p, 1, timeout_ms) > 0;
}

static bool is_gone(void *ctx) { return waits_for_end(ctx, 0); }

static const char *parameter(void *ctx, const char *name) {
    return MHD_lookup_connection_value(ctx, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result send_data(const struct server *s, struct MHD_Connection *c,
                                 const char *path) {
    struct request request = {
        .shown = s->shown, .other = s->other, .parameter = parameter, .is_gone = is_gone, .ctx = c};
    struct answer answer;
    MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
    answer_request(&request, path, &answer);
    MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)IDLE_SECONDS);
    return answer.status ? send_answer(c, &answer) : MHD_NO;
}

/* ---- progress ---- */

struct progress { /* of one page */
    struct MHD_Connection *connection;
    struct summary *summary;
    bool begun; /* a line was sent */
    struct summary_state state;
};

static bool is_same(const struct summary_state *a, const struct summary_state *b) {
    return a->items == b->items && a->complete == b->complete && a->threshold_ns == b->threshold_ns;
}

/* Blocks until there is a line to send, or the page was closed. */
static ssize_t read_progress(void *ctx, uint64_t position, char *buffer, size_t room) {
    struct progress *p = ctx;
    struct summary_state now = summary_state(p->summary);
    (void)position;
    while (p->begun && is_same(&p->state, &now)) {
        if (waits_for_end(p->connection, p->state.complete ? -1 : PROGRESS_MS))
            return MHD_CONTENT_READER_END_WITH_ERROR;
        now = summary_state(p->summary);
    }
    p->begun = true;
    p->state = now;
    return snprintf(buffer, room,
                    "{\"stage\": \"summary\", \"items\": %ju, \"all\": %ju, \"complete\": %s, "
                    "\"threshold_ns\": %ju}\n",
                    now.items, now.all_items, now.complete ? "true" : "false", now.threshold_ns);
}

static void end_progress(void *ctx) {
    free(ctx);
    life_page_closed();
}

static enum MHD_Result send_progress(const struct server *s, struct MHD_Connection *c) {
    enum { LINE_ROOM = 256 };
    struct progress *p = mem_alloc(sizeof *p);
    p->connection = c;
    p->summary = shown_summary(s->shown);
    life_page_opened();
    MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, LINE_ROOM, read_progress, p, end_progress);
    if (!response)
        end_progress(p);
    return send_response(c, MHD_HTTP_OK, "application/x-ndjson; charset=utf-8", response);
}

/* ---- all requests ---- */

static enum MHD_Result answer_api(const struct server *s, struct MHD_Connection *c,
                                  const char *path) {
    const char *token = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "X-Spoor-Token");
    if (!token_is(s->token, token))
        return send_error(c, MHD_HTTP_FORBIDDEN,
                          "the token is missing or wrong: use the address that spoor view printed");
    if (strcmp(path, "/api/progress") == 0)
        return send_progress(s, c);
    return send_data(s, c, path);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *path,
                                  const char *method, const char *version, const char *body,
                                  size_t *body_size, void **state) {
    const struct server *s = ctx;
    (void)version;
    (void)body;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return send_error(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are known");
    if (!*state) { /* the head was read; a body may follow */
        *state = c;
        return MHD_YES;
    }
    if (*body_size) { /* discarded */
        *body_size = 0;
        return MHD_YES;
    }
    if (!host_is_local(MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host")) ||
        !origin_is_local(MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin")))
        return send_error(c, MHD_HTTP_FORBIDDEN,
                          "only 127.0.0.1, localhost and [::1] are answered");
    if (strncmp(path, "/api/", 5) == 0)
        return answer_api(s, c, path);
    return send_file(c, path + (*path == '/'));
}

/* ---- start ---- */

/* A socket that listens at *PORT, which is set if it is 0. */
static int listen_at(unsigned *port, struct err *err) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)*port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0)
        return err_set(err, errno, "listen", "a socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, SOMAXCONN) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0) {
        int code = errno;
        close(fd);
        return err_set(err, code, "port", "127.0.0.1:%u: %s: give another --port, or none", *port,
                       code == EADDRINUSE ? "address in use" : strerror(code));
    }
    *port = ntohs(address.sin_port);
    return fd;
}

int server_start(struct shown *shown, struct shown *other, unsigned port, struct server **ret,
                 struct err *err) {
    int fd = listen_at(&port, err);
    if (fd < 0)
        return fd;
    struct server *s = mem_alloc(sizeof *s);
    *s = (struct server){.shown = shown, .other = other, .port = port};
    token_make(s->token);
    s->daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL,
        (uint16_t)port, NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES,
        MHD_OPTION_END);
    if (!s->daemon) {
        close(fd);
        free(s);
        return err_set(err, EIO, "listen", "127.0.0.1:%u: the server did not start", port);
    }
    *ret = s;
    return 0;
}

unsigned server_port(const struct server *s) { return s->port; }
const char *server_token(const struct server *s) { return s->token; }
