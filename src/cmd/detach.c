/* spoor detach: removes the leftovers of a killed spoor from a running process. */
#include <sys/types.h>

#include "cmd/command.h"
#include "cmd/say.h"
#include "cmd/values.h"
#include "record/detach.h"

static void show_warning(void *ctx, const char *text) {
    (void)ctx;
    say_note("%s", text);
}

int cmd_detach(struct options *options, int argc, char **argv) {
    const struct report report = {.warn = show_warning};
    struct err err = {0};
    uint32_t pid;
    bool found;
    (void)options, (void)argc;
    if (!value_number(argv[0], &pid) || !pid || pid > INT32_MAX) {
        say_error("%s: is not a process id: 'ps' and 'pgrep' show them", argv[0]);
        return STATUS_USAGE;
    }
    if (record_detach(&report, (pid_t)pid, &found, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    if (!found)
        say_note("process %u: has nothing of spoor in it", pid);
    return STATUS_OK;
}
