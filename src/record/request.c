#include "record/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static const char *const names[REQUEST_COMMANDS] = {"pause",    "resume", "filter",
                                                    "snapshot", "status", "stop"};

enum request_command request_command(const char *name) {
    unsigned i = 0;
    while (i < REQUEST_COMMANDS && strcmp(names[i], name) != 0)
        i++;
    return (enum request_command)i;
}

const char *request_name(enum request_command command) { return names[command]; }

void request_done(struct request *r) {
    ARRAY_FREE(&r->filters);
    ARRAY_FREE(&r->excludes);
    ARRAY_FREE(&r->modules);
}

size_t request_address(int pid, struct sockaddr_un *ret) {
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int size = snprintf(ret->sun_path + 1, sizeof ret->sun_path - 1, "spoor/%d", pid);
    return offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size;
}

/* ---- texts one after the other ---- */

typedef ARRAY(char) texts;

static void add(texts *p, const char *text) {
    do
        ARRAY_PUSH(p, *text);
    while (*text++);
}

static void add_all(texts *p, const char *option, const char *const *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        add(p, option);
        add(p, values[i]);
    }
}

char *request_pack(const struct request *r, size_t *ret_size) {
    texts p = {0};
    add(&p, REQUEST_VERSION);
    add(&p, names[r->command]);
    add_all(&p, "-F", r->filters.at, r->filters.count);
    add_all(&p, "-N", r->excludes.at, r->excludes.count);
    add_all(&p, "-M", r->modules.at, r->modules.count);
    *ret_size = p.count;
    return p.at;
}

/* The next text of [*AT, END); NULL: there is none. */
static const char *next(const char **at, const char *end) {
    const char *text = *at, *zero = memchr(text, '\0', (size_t)(end - text));
    if (!zero)
        return NULL;
    *at = zero + 1;
    return text;
}

static int bad_request(const char *what, struct err *err) {
    return err_set(err, EPROTO, "bad-request", "the request %s", what);
}

static bool take_option(struct request *r, const char *option, const char *value) {
    if (strcmp(option, "-F") == 0)
        ARRAY_PUSH(&r->filters, value);
    else if (strcmp(option, "-N") == 0)
        ARRAY_PUSH(&r->excludes, value);
    else if (strcmp(option, "-M") == 0)
        ARRAY_PUSH(&r->modules, value);
    else
        return false;
    return true;
}

int request_unpack(const char *bytes, size_t size, struct request *ret, struct err *err) {
    const char *at = bytes, *end = bytes + size;
    *ret = (struct request){.command = REQUEST_COMMANDS};
    const char *version = next(&at, end), *command = version ? next(&at, end) : NULL;
    if (!version || strcmp(version, REQUEST_VERSION) != 0)
        return bad_request("is of another version of spoor: use the same", err);
    if (command)
        ret->command = request_command(command);
    if (ret->command == REQUEST_COMMANDS)
        return bad_request("is for a command that this version of spoor does not know", err);
    while (at < end) {
        const char *option = next(&at, end), *value = option ? next(&at, end) : NULL;
        if (!value || ret->command != REQUEST_FILTER || !take_option(ret, option, value))
            return bad_request("has options that are none", err);
    }
    return 0;
}

/* ---- answers ---- */

size_t answer_pack(bool failed, const char *text, char *packet) {
    int size = snprintf(packet, ANSWER_MOST_BYTES, "%s%c%d%c%s", REQUEST_VERSION, '\0', failed,
                        '\0', text);
    size_t head = sizeof REQUEST_VERSION + 2;
    size_t all = (size_t)size < ANSWER_MOST_BYTES ? (size_t)size + 1 : ANSWER_MOST_BYTES;
    for (char *c = packet + head; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return all;
}

int answer_unpack(const char *bytes, size_t size, bool *ret_failed, const char **ret_text,
                  struct err *err) {
    const char *at = bytes, *end = bytes + size;
    const char *version = next(&at, end), *status = version ? next(&at, end) : NULL;
    const char *text = status ? next(&at, end) : NULL;
    if (!text || at != end || strcmp(version, REQUEST_VERSION) != 0 ||
        (strcmp(status, "0") != 0 && strcmp(status, "1") != 0))
        return err_set(err, EPROTO, "bad-answer",
                       "the spoor that records it is of another version: use the same");
    *ret_failed = *status == '1';
    *ret_text = text;
    return 0;
}
