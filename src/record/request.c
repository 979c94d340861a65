/* Packs and unpacks requests and answers. */
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

char *request_pack(const struct request *r, size_t *ret_size) {
    texts p = {0};
    const char *value;
    char option[] = "-F";
    add(&p, REQUEST_VERSION);
    add(&p, names[r->command]);
    for (size_t i = 0; (value = filter_option(&r->filter, i, &option[1])); i++) {
        add(&p, option);
        add(&p, value);
    }
    *ret_size = p.count;
    return p.at;
}

/* The next text of [*AT, END); NULL: there is none. Moves *AT behind it. */
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

static bool is_option(const char *text) {
    return text[0] == '-' && text[1] && strchr("FNMLARWU", text[1]) && !text[2];
}

/* Adds the options of [AT, END) to RET. */
static int unpack_filter(const char *at, const char *end, struct filter *ret, struct err *err) {
    int rc = 0;
    while (at < end && rc == 0) {
        const char *option = next(&at, end), *value = option ? next(&at, end) : NULL;
        if (!value || !is_option(option))
            return bad_request("has unknown options", err);
        rc = filter_add(ret, option[1], value, err);
    }
    return rc;
}

int request_unpack(const char *bytes, size_t size, struct request *ret, struct err *err) {
    const char *at = bytes, *end = bytes + size;
    *ret = (struct request){.command = REQUEST_COMMANDS};
    const char *version = next(&at, end), *command = version ? next(&at, end) : NULL;
    if (!version || strcmp(version, REQUEST_VERSION) != 0)
        return bad_request("comes from another version of spoor: use the same version", err);
    if (command)
        ret->command = request_command(command);
    if (ret->command == REQUEST_COMMANDS)
        return bad_request("has an unknown command", err);
    if (at < end && ret->command != REQUEST_FILTER)
        return bad_request("has unknown options", err);
    return unpack_filter(at, end, &ret->filter, err);
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
                       "the recording spoor has another version: use the same version");
    *ret_failed = *status == '1';
    *ret_text = text;
    return 0;
}
