/* spoor ctl: sends a command to the spoor that records a process, and prints the answer. */
#include <stdint.h>
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/say.h"
#include "cmd/values.h"
#include "record/control.h"

/* Returns false, after a message, for wrong usage. */
static bool parse_request(const struct options *options, int argc, char **argv, uint32_t *ret_pid,
                          struct request *ret) {
    if (!value_number(argv[0], ret_pid) || *ret_pid > INT32_MAX) {
        say_error("%s: is not a process id: give that of the recorded program", argv[0]);
        return false;
    }
    if (argc < 2) {
        say_error("ctl: no command: give pause, resume, filter, snapshot, status or stop");
        return false;
    }
    ret->command = request_command(argv[1]);
    if (ret->command == REQUEST_COMMANDS) {
        say_error("ctl: %s: is not a command: give pause, resume, filter, snapshot, status or stop",
                  argv[1]);
        return false;
    }
    if (ret->command != REQUEST_FILTER && !filter_is_empty(&options->record.filter)) {
        say_error("ctl: %s: takes no options: -F, -N and -M go with 'filter'", argv[1]);
        return false;
    }
    return true;
}

int cmd_ctl(struct options *options, int argc, char **argv) {
    struct request request = {.command = REQUEST_COMMANDS};
    struct control_answer answer;
    struct err err = {0};
    uint32_t pid;
    if (!parse_request(options, argc, argv, &pid, &request))
        return STATUS_USAGE;
    request.filter = options->record.filter;
    int rc = control_request((pid_t)pid, &request, &answer, &err);
    if (rc < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    if (answer.failed) {
        say_error("%s", answer.text);
        return STATUS_FAILED;
    }
    puts(answer.text);
    return STATUS_OK;
}
