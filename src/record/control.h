/*
 * The socket by which clients ('spoor ctl') control a recording; request.h has the format. Clients
 * may be slow, dead or hostile: the listener never waits for a client. It serves a few at a time,
 * each of which has a little time to send one command. It refuses clients of other users, except
 * root.
 */
#pragma once

#include <sys/types.h>

#include "record/request.h"

struct control;

enum { CONTROL_TEXT_BYTES = 1024 };
struct control_answer {
    bool failed;
    bool later; /* control_answer_waiting() sends the text */
    char text[CONTROL_TEXT_BYTES];
};
typedef void control_handler(void *ctx, const struct request *request, struct control_answer *ret);

/* Listens for commands about process PID. HANDLER runs them. Errors: "control". */
int control_open(pid_t pid, control_handler *handler, void *ctx, struct control **ret,
                 struct err *err);
/* Readable when control_handle() has something to do. */
int control_fd(const struct control *control);
/* Reads, runs and answers commands. To be called now and then even if none has come. READABLE:
 * control_fd() is. */
void control_handle(struct control *control, bool readable);
/* Sends TEXT to the clients whose answer was `later`. */
void control_answer_waiting(struct control *control, const char *text);
void control_free(struct control *control);

/* Sends REQUEST to the spoor that records PID. RET: its answer. Errors: "no-recorder",
 * "foreign-recorder", "no-answer", "bad-answer", "long-request". */
int control_request(pid_t pid, const struct request *request, struct control_answer *ret,
                    struct err *err);
