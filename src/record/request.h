/*
 * The packets on the socket by which a recording is controlled: one request, one answer. A packet
 * is a list of texts, each ended by a zero byte. The first is the version:
 *
 *     request   "spoor 1" COMMAND { OPTION VALUE }      options: letters of filter_add(), only with
 *                                                     filter
 *     answer    "spoor 1" "0" or "1" (failed) TEXT      one line
 *
 * A request of another version is refused. No byte of a request is trusted.
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
    struct filter filter; /* of REQUEST_FILTER; empty: the first filter of the recording */
};

/* The command NAME; REQUEST_COMMANDS: there is none. */
enum request_command request_command(const char *name);
const char *request_name(enum request_command command);

/* The packet of REQUEST: *RET_SIZE bytes, to be freed. */
char *request_pack(const struct request *request, size_t *ret_size);
/* The caller frees RET's filter, also on error. Errors: "bad-request", "bad-pattern". */
int request_unpack(const char *bytes, size_t size, struct request *ret, struct err *err);

/* Writes the answer into PACKET, of ANSWER_MOST_BYTES, and returns its size. Cuts TEXT if there is
 * no room, and replaces control characters by question marks. */
size_t answer_pack(bool failed, const char *text, char *packet);
/* *RET_TEXT points into BYTES. Errors: "bad-answer". */
int answer_unpack(const char *bytes, size_t size, bool *ret_failed, const char **ret_text,
                  struct err *err);

/* The abstract address of the socket of process PID. */
struct sockaddr_un;
size_t request_address(int pid, struct sockaddr_un *ret);
