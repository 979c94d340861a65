/* Records a program from its first instruction to its end. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "record/job.h"
#include "record/recording.h"
#include "target/cpu.h"
#include "target/launch.h"
#include "target/timing.h"

enum { PROGRESS_MS = 100 };

struct launched {
    struct job job;
    bool leaving;      /* the user has ended the recording */
    uint64_t begun_ns; /* when the program began */
};

static void on_signal(struct recording *r, const struct signalfd_siginfo *info) {
    struct launched *launched = r->ctx;
    int status, sig = (int)info->ssi_signo;
    bool ended = tracer_ended(r->tracer, r->pid, &status);
    job_note(&launched->job, info, tracer_traces(r->tracer, r->pid));
    if (ended && (sig == SIGINT || sig == SIGQUIT || sig == SIGTERM || sig == SIGHUP))
        launched->leaving = true; /* only background processes are traced */
    else if (sig == SIGTERM || sig == SIGHUP)
        kill(r->pid, sig);
}

/* Signals of children, signals that are passed on, and stop signals. The terminal sends ^C and
 * ^\ to the program itself: spoor ignores them until the program has ended. */
static int open_signals(struct recording *r, struct err *err) {
    sigset_t set;
    sigemptyset(&set);
    static const int wanted[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        sigaddset(&set, wanted[i]);
    job_add_signals(&set);
    return recording_open_signals(r, &set, err);
}

static void run(struct recording *r) {
    struct launched *launched = r->ctx;
    bool reported = false;
    while (tracer_waits(r->tracer) && !launched->leaving && !r->stop) {
        recording_step(r, recording_wait_ms(r, launched->begun_ns, PROGRESS_MS));
        launched->leaving |= !recording_wait_ms(r, launched->begun_ns, PROGRESS_MS);
        job_follow(&launched->job, r->tracer, r->pid);
        reported = reported || recording_report_end(r);
    }
    if (launched->leaving || r->stop)
        tracer_release_all(r->tracer);
}

/* The program runs on untraced: spoor waits for its end, to pass its status on. */
static void wait_for_end(struct recording *r) {
    struct launched *launched = r->ctx;
    if (tracer_waits(r->tracer))
        report_warn(&r->own.report,
                    "the recording has ended; the program runs on untraced, and spoor "
                    "waits for its end");
    while (tracer_waits(r->tracer)) {
        recording_step(r, PROGRESS_MS);
        job_follow(&launched->job, r->tracer, r->pid);
    }
    r->result->exit_status = recording_status(r);
    recording_note_signal(r);
}

/* Kills the program, which has not run an instruction yet. */
static void kill_program(struct recording *r) {
    int status;
    kill(r->pid, SIGKILL);
    while (waitpid(r->pid, &status, __WALL) > 0 && WIFSTOPPED(status))
        thread_continue(r->pid, 0); /* its exit event */
}

/* True if RC means that another process has killed the program. This is the program's end, not a
 * failure of spoor. */
static bool was_killed(const struct recording *r, int rc) {
    struct regs regs;
    return rc == -ESRCH || thread_get_regs(r->pid, &regs) == -ESRCH;
}

/* The options choose nothing in the program itself. They may mean functions of its children. */
static int check(const struct recording *r, struct err *err) {
    int rc = recording_check(r, err);
    if (rc != -ENOENT || strcmp(err->tag, "no-match") != 0 || !r->options->follow)
        return rc;
    recording_report_unmatched(r);
    report_warn(&r->options->report, "the program runs nevertheless: what its children execute may "
                                     "match (with --no-follow it would not run)");
    return 0;
}

/* The program is stopped at its first instruction. Refuses programs and options that cannot work.
 */
static int adopt(struct recording *r, struct err *err) {
    int rc = tracer_adopt(r->tracer, r->pid, err);
    if (rc == 0 && tracer_task_count(r->tracer))
        rc = check(r, err);
    if (rc < 0 && !was_killed(r, rc))
        return rc;
    tracer_start(r->tracer, r->pid);
    return 0;
}

static int begin(struct recording *r, char *const argv[], struct err *err) {
    struct launched *launched = r->ctx;
    int rc = open_signals(r, err);
    if (rc == 0)
        rc = launch(argv, &r->mask, &r->pid, err);
    if (rc < 0)
        return rc;
    recording_raise_limits(r);
    rc = recording_open(r, (const char *const *)argv, err);
    if (rc == 0)
        rc = adopt(r, err);
    if (rc == 0)
        recording_listen(r);
    launched->begun_ns = clock_monotonic_ns();
    return rc;
}

int record_launch(const struct record_options *options, char *const argv[],
                  struct record_result *ret, struct err *err) {
    struct launched launched = {.leaving = false};
    struct recording r = {.options = options,
                          .result = ret,
                          .signals = -1,
                          .hook_event = -1,
                          .on_signal = on_signal,
                          .ctx = &launched};
    *ret = (struct record_result){0};
    int rc = cpu_check(err);
    if (rc < 0)
        return rc;
    timing_start();
    rc = begin(&r, argv, err);
    if (rc == 0) {
        run(&r);
        recording_finish(&r, recording_status(&r));
        wait_for_end(&r);
    } else if (r.pid) {
        kill_program(&r);
    }
    recording_done(&r);
    return rc;
}
