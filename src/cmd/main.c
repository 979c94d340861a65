/* main(): finds the command, parses its options, runs it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/near.h"
#include "cmd/command.h"
#include "cmd/figures.h"
#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/suggest.h"
#include "elf/debuginfod.h"

typedef int command_run(struct options *options, int argc, char **argv);

static command_run *const runs[COMMAND_COUNT] = {
    [COMMAND_ATTACH] = cmd_attach,   [COMMAND_CTL] = cmd_ctl,
    [COMMAND_DIFF] = cmd_diff,       [COMMAND_DETACH] = cmd_detach,
    [COMMAND_EXPLAIN] = cmd_explain, [COMMAND_EXPORT] = cmd_export,
    [COMMAND_GRAPH] = cmd_graph,     [COMMAND_INFO] = cmd_info,
    [COMMAND_RECORD] = cmd_record,   [COMMAND_REPLAY] = cmd_replay,
    [COMMAND_REPORT] = cmd_report,   [COMMAND_SYMBOLIZE] = cmd_symbolize,
    [COMMAND_UNWIND] = cmd_unwind,   [COMMAND_CTF] = cmd_ctf,
    [COMMAND_VIEW] = cmd_view,
};

static const struct command *find_command(const char *name) {
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static int unknown_command(const char *typed) {
    const struct command *nearest = commands;
    AUTO_FREE char *meant = suggest_command(typed);
    if (meant) {
        say_error("%s: unknown command (did you mean '%s'?)", typed, meant);
        return STATUS_USAGE;
    }
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++)
        if (near_distance(typed, c->name) < near_distance(typed, nearest->name))
            nearest = c;
    if (near_distance(typed, nearest->name) > strlen(typed) / 3 + 1)
        say_error("%s: unknown command: try 'spoor --help'", typed);
    else
        say_error("%s: unknown command (did you mean '%s'?): try 'spoor --help'", typed,
                  nearest->name);
    return STATUS_USAGE;
}

static int wrong_usage(const struct command *command, const char *why) {
    say_error("%s: %s: try 'spoor %s --help'", command->name, why, command->name);
    return command->usage_status;
}

static int missing_operand(const struct command *command) {
    AUTO_FREE char *why = mem_printf("an operand is missing (%s)", command->needs);
    return wrong_usage(command, why);
}

/* A write error, such as a full disk, makes spoor fail. It prints no message if the reader of a
 * pipe has gone. */
static int finish_output(int status) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (errno != EPIPE)
        say_error("standard output: %s", errno ? strerror(errno) : "could not be written");
    return STATUS_FAILED;
}

/* Tells a terminal how times without a unit are taken. */
static void tell_units(const struct options *options) {
    for (size_t i = 0; i < options->plain_times.count && isatty(STDERR_FILENO); i++) {
        const struct plain_time *t = &options->plain_times.at[i];
        char text[FIGURE_ROOM];
        figure_time(text, t->ns);
        say_note("--%s %s: %s (units: ns, us, ms, s, m, h)", t->option, t->value, text);
    }
}

static void note_waiting(void *ctx, const char *text) {
    (void)ctx;
    say_note("%s", text);
}

static int run_command(const struct command *command, char **argv, struct options *options) {
    struct err err;
    int count;
    if (options_parse(command, argv, options, &count, &err) < 0)
        return wrong_usage(command, err.text);
    if (options->help) {
        help_print_command(command, stdout);
        return finish_output(STATUS_OK);
    }
    if (count == 0 && command->needs)
        return missing_operand(command);
    if (command->most >= 0 && count > command->most)
        return wrong_usage(command, "too many operands");
    say_set_quiet(options->quiet);
    bool records = command == &commands[COMMAND_RECORD] || command == &commands[COMMAND_ATTACH];
    debuginfod_use(!records, &(struct report){.warn = note_waiting});
    log_level = (int)options->verbose;
    tell_units(options);
    return finish_output(runs[command_id(command)](options, count, argv + 1));
}

static int print_help(const char *topic) {
    const struct command *command = topic ? find_command(topic) : NULL;
    if (topic && !command)
        return unknown_command(topic);
    if (command)
        help_print_command(command, stdout);
    else
        help_print(stdout);
    return finish_output(STATUS_OK);
}

/* The parser moves operands in the list. */
static char **copy_list(char **list) {
    size_t count = 0;
    while (list[count])
        count++;
    char **copy = mem_resize(NULL, count + 1, sizeof *copy);
    return memcpy(copy, list, (count + 1) * sizeof *copy);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        help_print(stderr);
        return STATUS_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0) {
        puts("spoor " SPOOR_VERSION);
        return finish_output(STATUS_OK);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
        return print_help(argv[2]);
    const struct command *command = find_command(name);
    if (!command)
        return unknown_command(name);
    struct options options;
    options_init(&options);
    AUTO_FREE char **given = options.given = copy_list(argv + 1);
    int status = run_command(command, argv + 1, &options);
    options_done(&options);
    return status;
}
