/* spoor-view, which `spoor view` runs: serves a trace to the browser, or writes it into one file.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/command.h"
#include "cmd/say.h"
#include "elf/debuginfod.h"
#include "page/browser.h"
#include "page/html.h"
#include "page/life.h"
#include "page/server.h"

static int fail(const struct err *err) {
    say_err(err);
    return STATUS_FAILED;
}

static int wrong_usage(const char *why) {
    say_error("view: %s: try 'spoor view --help'", why);
    return STATUS_USAGE;
}

static int refuse_process(const char *name) {
    say_error("%s: a running process cannot be viewed: record it ('spoor attach %s'), and view the "
              "trace",
              name, name);
    return STATUS_FAILED;
}

static bool is_process(const char *name) {
    return *name && !name[strspn(name, "0123456789")] && access(name, F_OK) < 0;
}

/* Opens the page's address for the user, and answers until the end. */
static int serve(const struct page_options *options, struct shown *shown, struct shown *other) {
    struct server *server;
    struct err err;
    life_init();
    if (server_start(shown, other, options->port, &server, &err) < 0)
        return fail(&err);
    unsigned port = server_port(server);
    AUTO_FREE char *url = mem_printf("http://127.0.0.1:%u/#%s", port, server_token(server));
    printf("%s\n", url);
    if (fflush(stdout) != 0) {
        say_error("standard output: could not be written");
        return STATUS_FAILED;
    }
    if (!options->no_open)
        browser_open(url, port);
    life_wait(options->linger_ns, options->stay);
    return STATUS_OK;
}

static int open_trace(const char *path, struct shown **ret, struct err *err) {
    int rc = shown_open(path, ret, err);
    if (rc == 0 && shown_warning(*ret))
        say_note("%s", shown_warning(*ret));
    return rc;
}

static bool has_filter(const struct view_spec *s) {
    return s->since_ns || s->until_ns != UINT64_MAX || s->tid || s->pid || s->processes.count;
}

/* Why OPTIONS do not go together; NULL: they do. */
static const char *contradiction(const struct options *o) {
    if (o->page.port > UINT16_MAX)
        return "option '--port' goes up to 65535";
    if (!o->page.html && has_filter(&o->shown))
        return "options that choose times and threads go with --html; the page itself can choose";
    if (!o->page.html && o->page.values)
        return "option '--values' goes with --html; the page itself always shows values";
    if (o->page.html && (o->page.port || o->page.stay || o->page.no_open))
        return "option '--html' serves nothing: it goes without --port, --stay and --no-open";
    return NULL;
}

static int view(const struct options *options, int argc, char **argv) {
    struct shown *shown, *other = NULL;
    struct err err;
    if (options->page.html && argc > 1)
        return wrong_usage("option '--html' writes one trace");
    for (int i = 0; i < argc; i++)
        if (is_process(argv[i]))
            return refuse_process(argv[i]);
    const char *why = contradiction(options);
    if (why)
        return wrong_usage(why);
    if (open_trace(argc ? argv[0] : "spoor.trace", &shown, &err) < 0 ||
        (argc > 1 && open_trace(argv[1], &other, &err) < 0))
        return fail(&err);
    return options->page.html ? html_write(options, shown) : serve(&options->page, shown, other);
}

static void note_waiting(void *ctx, const char *text) {
    (void)ctx;
    say_note("%s", text);
}

/* Answers of threads may still be under way: they and all memory end with the process. */
int main(int argc, char **argv) {
    const struct command *command = &commands[COMMAND_VIEW];
    struct options options;
    struct err err;
    (void)argc;
    options_init(&options);
    if (options_parse(command, argv, &options, &argc, &err) < 0)
        return wrong_usage(err.text);
    mem_map_large();
    debuginfod_use(true, &(struct report){.warn = note_waiting});
    int status = view(&options, argc, argv + 1);
    fflush(stdout);
    _exit(status);
}
