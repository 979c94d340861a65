/*
 * The socket by which others control a recording (request.h). Clients may be slow, dead or hostile:
 * no function here waits for them. There are a few at a time, each has a little time to send one
 * command, and only clients of the same user, or of root, are heard.
 */
#pragma once

#include <sys/types.h>

#include "record/request.h"

struct control;

enum { CONTROL_TEXT_BYTES = 1024 };
struct control_answer {
    bool failed, later; /* later: by control_answer_waiting() */
    char text[CONTROL_TEXT_BYTES];
};
typedef void control_handler(void *ctx, const struct request *request, struct control_answer *ret);

/* Listens for what concerns process PID. Errors: "control". */
int control_open(pid_t pid, control_handler *handler, void *ctx, struct control **ret,
                 struct err *err);
/* Readable when control_handle() has something to do. */
int control_fd(const struct control *control);
/* Reads commands, runs and answers them; to be called now and then even if none has come. */
void control_handle(struct control *control);
/* Answers clients whose answer was `later`. */
void control_answer_waiting(struct control *control, const char *text);
void control_free(struct control *control);

/* Asks the spoor that records PID. RET: its answer. Errors: "no-recorder", "foreign-recorder",
 * "no-answer", "bad-answer", "long-request". */
int control_request(pid_t pid, const struct request *request, struct control_answer *ret,
                    struct err *err);
