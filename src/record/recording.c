/* Sets up signals, trace, drainer and tracer, runs steps of the main loop, and takes all down. */
#include "record/recording.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/clock.h"
#include "arch/host.h"
#include "base/clock.h"
#include "record/commands.h"
#include "record/deaths.h"
#include "record/output_name.h"
#include "target/timing.h"

enum { DEFAULT_RING_BYTES = REGS_WORD_BYTES < 8 ? 512 << 10 : 2 << 20 };

int recording_open_signals(struct recording *r, const sigset_t *wanted, struct err *err) {
    sigset_t set = *wanted;
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, &r->mask);
    r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    r->hook_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r->signals < 0 || r->hook_event < 0)
        return err_set(err, errno, "signals", "cannot wait for signals: %s", strerror(errno));
    return 0;
}

void recording_raise_limits(struct recording *r) {
    struct sigaction ignore = {.sa_handler = SIG_IGN}, reset = {.sa_handler = SIG_DFL};
    sigaction(SIGXFSZ, &ignore, &r->old_sigxfsz);
    sigaction(SIGCHLD, &reset, &r->old_sigchld);
    sigaction(SIGUSR1, &reset, &r->old_sigusr1);
    getrlimit(RLIMIT_NOFILE, &r->old_files);
    struct rlimit all = {r->old_files.rlim_max, r->old_files.rlim_max};
    setrlimit(RLIMIT_NOFILE, &all);
    r->limits_raised = true;
}

static void restore_limits(const struct recording *r) {
    if (!r->limits_raised)
        return;
    sigaction(SIGXFSZ, &r->old_sigxfsz, NULL);
    sigaction(SIGCHLD, &r->old_sigchld, NULL);
    sigaction(SIGUSR1, &r->old_sigusr1, NULL);
    setrlimit(RLIMIT_NOFILE, &r->old_files);
}

static void handle_signals(struct recording *r) {
    enum { MOST = 8 };
    struct signalfd_siginfo infos[MOST];
    ssize_t size = sizeof infos;
    while (size == (ssize_t)sizeof infos) {
        size = read(r->signals, infos, sizeof infos);
        for (ssize_t i = 0; i < size / (ssize_t)sizeof *infos; i++)
            if (infos[i].ssi_signo == SIGUSR1)
                flight_snapshot(r->flight, "SIGUSR1");
            else
                r->on_signal(r, &infos[i]);
    }
}

static void handle_hooks(struct recording *r) {
    uint64_t count;
    ssize_t n = read(r->hook_event, &count, sizeof count);
    (void)n; /* nothing to read: the tracer looks of its own accord */
    tracer_handle_hooks(r->tracer);
}

static void show_progress(struct recording *r) {
    if (!r->options->progress || !r->writer)
        return;
    struct trace_totals totals = trace_writer_totals(r->writer);
    r->options->progress(r->options->report.ctx, &totals);
}

/* PRECISELY: a timer of the kernel may else be late by 50 microseconds. */
static void await(struct pollfd *fds, size_t count, uint64_t most_ns, bool precisely) {
    const struct timespec most = clock_timespec(most_ns);
    if (precisely)
        prctl(PR_SET_TIMERSLACK, 1);
    ppoll(fds, count, &most, NULL);
    if (precisely)
        prctl(PR_SET_TIMERSLACK, 0); /* the usual one */
}

void recording_step(struct recording *r, int ms) {
    enum { SIGNALS, HOOKS, CONTROL, FILES };
    struct pollfd fds[FILES] = {
        [SIGNALS] = {.fd = r->signals, .events = POLLIN},
        [HOOKS] = {.fd = r->hook_event, .events = POLLIN},
        [CONTROL] = {.fd = control_fd(r->control), .events = POLLIN},
    };
    const uint64_t hook_ns = r->busy ? 0 : tracer_rest_ns(r->tracer);
    const uint64_t most_ns = r->busy ? 0 : (uint64_t)ms * 1000000;
    await(fds, FILES, hook_ns ? hook_ns : most_ns, hook_ns);
    if (fds[SIGNALS].revents)
        handle_signals(r);
    if (fds[HOOKS].revents || hook_ns)
        handle_hooks(r);
    r->busy = tracer_handle_reports(r->tracer);
    tracer_catch_up(r->tracer);
    control_handle(r->control, fds[CONTROL].revents);
    flight_report(r->flight);
    show_progress(r);
}

int recording_wait_ms(const struct recording *r, uint64_t begun_ns, int most) {
    uint64_t passed = clock_monotonic_ns() - begun_ns, all = r->options->duration_ns;
    if (!all)
        return most;
    if (passed >= all)
        return 0;
    uint64_t rest = (all - passed + 999999) / 1000000;
    return rest < (uint64_t)most ? (int)rest : most;
}

bool recording_report_end(const struct recording *r) {
    int status;
    bool only_background = !r->several && r->options->report.warn && tracer_task_count(r->tracer) &&
                           tracer_ended(r->tracer, r->pid, &status);
    if (only_background)
        report_warn(&r->options->report, "the program has ended; its background processes are "
                                         "still traced: ^C leaves them untraced");
    return only_background;
}

int recording_status(const struct recording *r) {
    int status = 0;
    tracer_ended(r->tracer, r->pid, &status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void recording_note_signal(const struct recording *r) {
    int status;
    if (!tracer_ended(r->tracer, r->pid, &status) || !WIFSIGNALED(status))
        return;
    r->result->signal = WTERMSIG(status);
    r->result->core_dumped = WCOREDUMP(status);
}

/* Unless told otherwise, at most a quarter of the memory that there is; on 32-bit machines, of the
 * addresses. */
static uint64_t waiting_memory(const struct record_options *options) {
    uint64_t quarter = mem_of_machine() / 4, addresses = (uint64_t)UINTPTR_MAX / 16 + 1;
    uint64_t most = TRACE_MEMORY_BYTES;
    most = quarter < most ? quarter : most;
    most = addresses < most ? addresses : most;
    return options->memory_bytes ? options->memory_bytes : most;
}

/* Takes NAME over. */
static void set_output(struct recording *r, char *name) {
    free(r->result->output);
    r->result->output = name;
    r->own.output = name;
}

/* Opens the trace under the name that the user wants. Another spoor may write a trace of the
 * default name: then under the next free one. */
static int open_named(struct recording *r, const struct trace_session *session, struct err *err) {
    enum { MOST_NAMES = 1000 };
    const char *wanted = r->options->output;
    r->own = *r->options;
    r->options = &r->own;
    set_output(r, output_name(wanted, r->pid, session->command ? session->command[0] : NULL,
                              (int64_t)(session->start_unix_ns / 1000000000)));
    int rc = trace_writer_open(r->own.output, session, &r->writer, err);
    bool taken = rc == -EBUSY && !r->own.output_given;
    for (unsigned i = 2; rc == -EBUSY && taken && i < MOST_NAMES; i++) {
        set_output(r, output_name_numbered(wanted, i));
        rc = trace_writer_open(r->own.output, session, &r->writer, err);
    }
    if (rc == 0 && taken) {
        AUTO_FREE char *text =
            mem_printf("%s: another spoor is writing it: this trace is %s", wanted, r->own.output);
        report_warn(&r->own.report, text);
    }
    return rc;
}

static int open_trace(struct recording *r, const char *const *command, struct err *err) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    struct trace_session session = {.version = SPOOR_VERSION,
                                    .arch = arch_host()->name,
                                    .command = command,
                                    .start_unix_ns =
                                        (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec,
                                    .depth = r->options->depth,
                                    .threshold_ns = r->options->threshold_ns};
    int rc = open_named(r, &session, err);
    if (rc == 0 && r->options->max_bytes)
        rc = trace_writer_cut(r->writer, r->options->max_bytes, err);
    if (rc == 0)
        trace_writer_limit(r->writer, waiting_memory(r->options));
    return rc;
}

static struct tracer *make_tracer(const struct recording *r) {
    struct tracer_options options = {.drain = r->drain};
    uint64_t ring = r->options->ring_bytes;
    options.context =
        (struct space_context){.options = r->options,
                               .module_table = r->module_table,
                               .writer = r->writer,
                               .paused = r->options->start_paused,
                               .ring_bytes = (uint32_t)(ring ? ring : DEFAULT_RING_BYTES)};
    return tracer_new(&options);
}

int recording_open(struct recording *r, const char *const *command, struct err *err) {
    int rc = open_trace(r, command, err);
    if (rc < 0)
        return rc;
    const struct timing started = timing_started();
    const struct trace_clock start = {started.ticks, started.ns};
    trace_writer_clock(r->writer, &start);
    struct flight_options flight = {r->options, r->writer, r->hook_event};
    rc = flight_new(&flight, &r->flight, err);
    if (rc < 0)
        return rc;
    r->module_table = module_table_new(r->options, r->writer);
    module_table_set_triggers(r->module_table, flight_triggers(r->flight));
    struct drain_options drain = {.writer = r->writer,
                                  .overflow = r->options->overflow,
                                  .cut = r->options->max_bytes,
                                  .hook_event = r->hook_event,
                                  .flight = r->flight};
    rc = drain_start(&drain, &r->drain, err);
    if (rc == 0)
        r->tracer = make_tracer(r);
    return rc;
}

/* Checks those of --trigger and --while. */
static int check_functions(const struct recording *r, struct err *err) {
    int rc = triggers_check(flight_triggers(r->flight), err);
    return rc < 0 ? rc : triggers_check(module_table_during(r->module_table), err);
}

int recording_check(const struct recording *r, struct err *err) {
    int rc = 0;
    if (r->options->start_paused) /* nothing is chosen yet */
        return 0;
    if (!module_table_wants_libraries(r->module_table))
        rc = module_table_check_matches(r->module_table, err);
    if (rc == 0)
        rc = module_table_check_calls(r->module_table, err);
    if (rc == 0 && !module_table_wants_libraries(r->module_table))
        rc = check_functions(r, err);
    if (rc == 0 && !module_table_wants_libraries(r->module_table))
        rc = module_table_check_specs(r->module_table, err);
    if (rc == 0)
        module_table_report_specs(r->module_table);
    return rc;
}

void recording_report_unmatched(const struct recording *r) {
    struct err err = {0};
    module_table_report_unmatched(r->module_table);
    module_table_report_specs(r->module_table);
    if (check_functions(r, &err) < 0)
        report_warn(&r->options->report, err.text);
}

/* Nothing was traced. Options that have matched nothing are a reason, which was given. */
static void warn_of_nothing(const struct recording *r) {
    AUTO_FREE char *why = module_table_why_none(r->module_table);
    if (why)
        report_warn(&r->options->report, why);
}

static void warn_of_refused_calls(const struct recording *r) {
    AUTO_FREE char *text = module_table_refused_calls(r->module_table);
    if (text)
        report_warn(&r->options->report, text);
}

static void warn_of_deaths_left_out(const struct recording *r) {
    uint64_t count = tracer_deaths_left_out(r->tracer);
    AUTO_FREE char *text =
        mem_printf("signals have ended %ju more processes, too many for the trace", count);
    if (count)
        report_warn(&r->options->report, text);
}

void recording_finish(struct recording *r, int exit_status) {
    struct record_result *result = r->result;
    result->exit_status = exit_status;
    result->pid = r->pid;
    drain_finish(r->drain);
    r->drain = NULL;
    result->snapshots = flight_finish(r->flight);
    struct timing now = timing_now();
    trace_writer_clock(r->writer, &(struct trace_clock){now.ticks, now.ns});
    deaths_write(tracer_deaths(r->tracer), r->writer, &result->deaths);
    result->trace_error = trace_writer_error(r->writer, &result->trace_why);
    struct trace_end end = {.status = result->exit_status, .ticks = now.ticks};
    module_table_withdrawn(r->module_table, &end.withdrawn_reads, &end.withdrawn_functions);
    struct err err = {0};
    int rc = trace_writer_finish(r->writer, &end, &result->totals, &err);
    if (rc < 0 && !result->trace_error) {
        result->trace_error = rc;
        result->trace_why = err;
    }
    r->writer = NULL;
    struct module_table_counts counts = module_table_counts(r->module_table);
    result->functions_seen = counts.seen;
    result->functions_instrumented = counts.instrumented;
    recording_report_unmatched(r);
    if (!counts.seen)
        warn_of_nothing(r);
    warn_of_refused_calls(r);
    warn_of_deaths_left_out(r);
    module_table_report_losses(r->module_table);
    result->duration_ns = now.ns - timing_started().ns;
    control_answer_waiting(r->control, "the program is untraced, and the trace is complete");
    control_free(r->control);
    r->control = NULL;
}

/* Reads signals that came too late: when unblocked, they would end or stop spoor. */
static void forget_signals(const struct recording *r) {
    struct signalfd_siginfo info;
    while (r->signals >= 0 && read(r->signals, &info, sizeof info) == (ssize_t)sizeof info)
        ;
}

void recording_done(struct recording *r) {
    tracer_free(r->tracer);
    drain_finish(r->drain);
    flight_free(r->flight);
    if (r->writer) /* nothing was recorded */
        trace_writer_remove(r->writer);
    module_table_free(r->module_table);
    control_free(r->control);
    slabs_reap();
    if (r->hook_event >= 0)
        close(r->hook_event);
    restore_limits(r);
    forget_signals(r);
    if (r->signals >= 0)
        close(r->signals);
    sigprocmask(SIG_SETMASK, &r->mask, NULL);
}
