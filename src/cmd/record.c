/* spoor record: launches a program, traces it to its end, and ends with its status. */
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/deaths.h"
#include "cmd/recorder.h"
#include "cmd/say.h"
#include "cmd/suggest.h"

static int failure_status(const struct err *err) {
    if (strcmp(err->tag, "not-found") == 0)
        return STATUS_NOT_FOUND;
    if (strcmp(err->tag, "not-executable") == 0)
        return STATUS_NOT_EXECUTABLE;
    return STATUS_RECORD_FAILED;
}

int cmd_record(struct options *options, int argc, char **argv) {
    (void)argc;
    struct recorder recorder = {.shown = false};
    struct record_options *record = recorder_options(&recorder, options);
    struct record_result result;
    struct err err = {0};
    if (!recorder_formats(record))
        return STATUS_RECORD_FAILED;
    int rc = record_launch(record, argv, &result, &err);
    recorder_clear_progress(&recorder);
    if (rc < 0) {
        AUTO_FREE char *meant =
            failure_status(&err) == STATUS_RECORD_FAILED ? NULL : suggest_program(*argv);
        if (meant)
            say_error("%s (did you mean '%s'?)", err.text, meant);
        else
            say_err(&err);
        record_result_done(&result);
        return failure_status(&err);
    }
    if (result.signal && (!options->quiet || isatty(STDERR_FILENO)))
        death_print_as_shell(result.signal, result.core_dumped);
    recorder_summary(record, &result);
    record_result_done(&result);
    return result.trace_error < 0 ? STATUS_RECORD_FAILED : result.exit_status;
}
