/*
 * What is said on the socket by which a recording is controlled: one packet asks, one answers. Both
 * are texts, each ended by a zero byte, and begin with the version:
 *
 *     request   "spoor 1" COMMAND { OPTION VALUE }      options: -F, -N, -M; of filter only
 *     answer    "spoor 1" "0" or "1" (failed) TEXT      one line
 *
 * A request of another version is refused, and does nothing. No byte of it is trusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/filter.h"

#define REQUEST_VERSION "spoor 1"
enum { REQUEST_MOST_BYTES = 64 << 10, ANSWER_MOST_BYTES = 4 << 10 };

enum request_command {
    REQUEST_PAUSE,
    REQUEST_RESUME,
    REQUEST_FILTER,
    REQUEST_SNAPSHOT,
    REQUEST_STATUS,
    REQUEST_STOP,
    REQUEST_COMMANDS
};

struct request {
    enum request_command command;
    struct filter filter; /* of REQUEST_FILTER; empty: that of the beginning */
};

/* The command of that name; REQUEST_COMMANDS: none. */
enum request_command request_command(const char *name);
const char *request_name(enum request_command command);

/* The packet; *RET_SIZE bytes, to be freed. */
char *request_pack(const struct request *request, size_t *ret_size);
/* RET's filter is to be freed, also on error. Errors: "bad-request", "bad-pattern". */
int request_unpack(const char *bytes, size_t size, struct request *ret, struct err *err);

/* Into PACKET, of ANSWER_MOST_BYTES; TEXT is cut where there is no room, and of control characters
 * made question marks. Returns the size. */
size_t answer_pack(bool failed, const char *text, char *packet);
/* *RET_TEXT points into BYTES. Errors: "bad-answer". */
int answer_unpack(const char *bytes, size_t size, bool *ret_failed, const char **ret_text,
                  struct err *err);

/* The abstract address of the socket of process PID. */
struct sockaddr_un;
size_t request_address(int pid, struct sockaddr_un *ret);
