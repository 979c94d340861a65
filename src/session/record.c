#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/clock.h"
#include "session/identity.h"
#include "session/job.h"
#include "session/session.h"
#include "session/tracer.h"
#include "target/launch.h"

enum { DEFAULT_RING_BYTES = 2 << 20, PROGRESS_MS = 200 };

struct record {
    const struct session_options *options;
    struct session_result *result;
    struct trace_writer *writer;
    struct catalog *catalog;
    struct drain *drain;
    struct tracer *tracer;
    int hook_event, signals;
    sigset_t mask; /* the tool's own, to be given to the program */
    struct sigaction too_large, children;
    struct rlimit files;
    struct job job;
    pid_t pid;
    bool leaving; /* the user wants no more */
};

/* Signals become readable: child reports, and what is to be passed on. ^C and ^\ reach the program
 * from the terminal by themselves; the tool only must outlive them. */
static int open_signals(struct record *r, struct err *err) {
    sigset_t set;
    sigemptyset(&set);
    static const int wanted[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        sigaddset(&set, wanted[i]);
    job_add_signals(&set);
    sigprocmask(SIG_BLOCK, &set, &r->mask);
    r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    r->hook_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r->signals < 0 || r->hook_event < 0)
        return err_set(err, errno, "signals", "cannot wait for signals: %s", strerror(errno));
    return 0;
}

/* What limits the program need not limit us: we hold a descriptor for each process, a trace that
 * may not grow shall end the trace, not us, and without SIGCHLD nothing would wake us. Called after
 * the program has inherited what was. */
static void lift_limits(struct record *r) {
    struct sigaction ignore = {.sa_handler = SIG_IGN}, tell = {.sa_handler = SIG_DFL};
    sigaction(SIGXFSZ, &ignore, &r->too_large);
    sigaction(SIGCHLD, &tell, &r->children);
    getrlimit(RLIMIT_NOFILE, &r->files);
    struct rlimit all = {r->files.rlim_max, r->files.rlim_max};
    setrlimit(RLIMIT_NOFILE, &all);
}

static void restore_limits(const struct record *r) {
    if (!r->pid)
        return;
    sigaction(SIGXFSZ, &r->too_large, NULL);
    sigaction(SIGCHLD, &r->children, NULL);
    setrlimit(RLIMIT_NOFILE, &r->files);
}

/* Reports of children are read after every wake-up. */
static void handle_signal(struct record *r, const struct signalfd_siginfo *info) {
    int status, sig = (int)info->ssi_signo;
    bool ended = tracer_ended(r->tracer, r->pid, &status);
    job_note(&r->job, info, tracer_traces(r->tracer, r->pid));
    if (ended && (sig == SIGINT || sig == SIGQUIT || sig == SIGTERM || sig == SIGHUP))
        r->leaving = true; /* only background processes are left */
    else if (sig == SIGTERM || sig == SIGHUP)
        kill(r->pid, sig);
}

static void drain_fds(struct record *r) {
    struct signalfd_siginfo info;
    while (read(r->signals, &info, sizeof info) == (ssize_t)sizeof info)
        handle_signal(r, &info);
    uint64_t count;
    if (read(r->hook_event, &count, sizeof count) == (ssize_t)sizeof count)
        tracer_handle_hooks(r->tracer);
}

static void show_progress(struct record *r) {
    if (!r->options->progress)
        return;
    struct trace_totals totals = trace_writer_totals(r->writer);
    r->options->progress(r->options->ctx, &totals);
}

static void run(struct record *r) {
    struct pollfd fds[] = {{.fd = r->signals, .events = POLLIN},
                           {.fd = r->hook_event, .events = POLLIN}};
    bool told = false;
    while (tracer_waits(r->tracer) && !r->leaving) {
        poll(fds, 2, PROGRESS_MS);
        drain_fds(r);
        tracer_handle_reports(r->tracer);
        job_follow(&r->job, r->tracer, r->pid);
        show_progress(r);
        int status;
        if (!told && tracer_task_count(r->tracer) && tracer_ended(r->tracer, r->pid, &status) &&
            r->options->warn) {
            r->options->warn(r->options->ctx, "the program has ended; its background processes "
                                              "are still traced: ^C leaves them untraced");
            told = true;
        }
    }
    if (r->leaving)
        tracer_release_all(r->tracer);
}

/* The program has not run an instruction yet, and shall not. */
static void put_down(struct record *r) {
    int status;
    kill(r->pid, SIGKILL);
    while (waitpid(r->pid, &status, __WALL) > 0 && WIFSTOPPED(status))
        thread_continue(r->pid, 0); /* its exit event */
}

/* Whether it failed with RC because somebody has killed the program: that is its end, not our
 * failure. */
static bool is_killed(const struct record *r, int rc) {
    struct regs regs;
    return rc == -ESRCH || thread_get_regs(r->pid, &regs) == -ESRCH;
}

/* The program stands at its first instruction: refuses what cannot work before anything has run. */
static int adopt(struct record *r, struct err *err) {
    struct tracer_options options = {.drain = r->drain};
    uint64_t ring = r->options->ring_bytes;
    options.context =
        (struct space_context){.options = r->options,
                               .catalog = r->catalog,
                               .writer = r->writer,
                               .ring_bytes = (uint32_t)(ring ? ring : DEFAULT_RING_BYTES)};
    r->tracer = tracer_new(&options);
    int rc = tracer_adopt(r->tracer, r->pid, err);
    if (rc == 0 && tracer_task_count(r->tracer) && !catalog_wants_libraries(r->catalog))
        rc = catalog_check_matches(r->catalog, err);
    if (rc == 0 && tracer_task_count(r->tracer))
        rc = catalog_check_calls(r->catalog, err);
    if (rc < 0 && !is_killed(r, rc))
        return rc;
    tracer_start(r->tracer, r->pid);
    return 0;
}

static int shell_status(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int open_trace(struct record *r, char *const argv[], struct err *err) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    struct trace_session session = {.version = SPOOR_VERSION,
                                    .arch = "x86_64",
                                    .command = (const char *const *)argv,
                                    .start_unix_ns =
                                        (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec};
    return trace_writer_open(r->options->output, &session, &r->writer, err);
}

/* Filters for libraries can only be judged in the end. */
static void warn_of_no_match(const struct record *r) {
    struct err err = {0};
    if (r->options->warn && catalog_check_matches(r->catalog, &err) < 0)
        r->options->warn(r->options->ctx, err.text);
}

static void warn_of_refused_calls(const struct record *r) {
    AUTO_FREE char *text = catalog_refused_calls(r->catalog);
    if (text && r->options->warn)
        r->options->warn(r->options->ctx, text);
}

/* Everything is read and written: fills the result, ends the trace. */
static void finish(struct record *r) {
    struct session_result *result = r->result;
    int status = 0;
    tracer_ended(r->tracer, r->pid, &status);
    result->exit_status = shell_status(status);
    drain_finish(r->drain);
    r->drain = NULL;
    struct trace_clock now = timing_now();
    trace_writer_clock(r->writer, &now);
    result->trace_error = trace_writer_error(r->writer, &result->trace_why);
    struct trace_end end = {.status = result->exit_status, .ticks = now.ticks};
    struct err err = {0};
    int rc = trace_writer_finish(r->writer, &end, &result->totals, &err);
    if (rc < 0 && !result->trace_error) {
        result->trace_error = rc;
        result->trace_why = err;
    }
    r->writer = NULL;
    struct catalog_counts counts = catalog_counts(r->catalog);
    result->functions_seen = counts.seen;
    result->functions_instrumented = counts.instrumented;
    warn_of_no_match(r);
    warn_of_refused_calls(r);
    catalog_tell_withdrawn(r->catalog);
    result->duration_ns = now.ns - timing_started().ns;
}

/* What has come too late to be heeded shall not end or stop us now. */
static void forget_signals(const struct record *r) {
    struct signalfd_siginfo info;
    while (r->signals >= 0 && read(r->signals, &info, sizeof info) == (ssize_t)sizeof info)
        ;
}

static void done(struct record *r) {
    forget_signals(r);
    tracer_free(r->tracer);
    drain_finish(r->drain);
    if (r->writer) { /* nothing was recorded */
        AUTO_FREE char *part = mem_printf("%s.part", r->options->output);
        trace_writer_abandon(r->writer);
        unlink(part);
    }
    catalog_free(r->catalog);
    slabs_reap();
    if (r->signals >= 0)
        close(r->signals);
    if (r->hook_event >= 0)
        close(r->hook_event);
    restore_limits(r);
    sigprocmask(SIG_SETMASK, &r->mask, NULL);
}

static int begin(struct record *r, char *const argv[], struct err *err) {
    int rc = open_signals(r, err);
    if (rc == 0)
        rc = launch(argv, &r->mask, &r->pid, err);
    if (rc < 0)
        return rc;
    lift_limits(r);
    rc = open_trace(r, argv, err);
    if (rc < 0)
        return rc;
    struct trace_clock start = timing_started();
    trace_writer_clock(r->writer, &start);
    r->catalog = catalog_new(r->options, r->writer);
    struct drain_options drain = {r->writer, r->options->overflow, r->hook_event};
    rc = drain_start(&drain, &r->drain, err);
    return rc < 0 ? rc : adopt(r, err);
}

int session_record(const struct session_options *options, char *const argv[],
                   struct session_result *ret, struct err *err) {
    struct record r = {.options = options, .result = ret, .signals = -1, .hook_event = -1};
    *ret = (struct session_result){0};
    timing_start();
    int rc = begin(&r, argv, err);
    if (rc == 0) {
        run(&r);
        finish(&r);
    } else if (r.pid) {
        put_down(&r);
    }
    done(&r);
    return rc;
}
