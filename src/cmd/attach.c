/* spoor attach: its place on the command line; tracing a running process is not built yet. */
#include "cmd/command.h"
#include "cmd/say.h"

int cmd_attach(struct options *options, int argc, char **argv) {
    (void)options, (void)argc, (void)argv;
    say_error("attach: not available yet: use 'spoor record -- PROGRAM'");
    return STATUS_FAILED;
}
