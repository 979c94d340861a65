/* Records a running program for a while. */
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "record/detach.h"
#include "record/recording.h"
#include "target/auxv.h"
#include "target/candidate.h"
#include "target/cpu.h"
#include "target/timing.h"

enum {
    STEP_MS = 200,
    COUNTING_STEP_MS = 20, /* with --events */
    EXEC_NS = 20000000,    /* an exec takes less, unless the machine is busy */
    MOST_TRIES = 100
};

struct attached {
    struct space *space;
    bool leaving; /* the user has ended the recording */
};

static void on_signal(struct recording *r, const struct signalfd_siginfo *info) {
    struct attached *a = r->ctx;
    a->leaving |= info->ssi_signo != SIGCHLD;
}

/* Stop signals are blocked: ^Z would stop only spoor, and then the program at its next stop. */
static int open_signals(struct recording *r, struct err *err) {
    static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};
    static const int wanted[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        sigaddset(&set, wanted[i]);
    int rc = recording_open_signals(r, &set, err);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        sigaddset(&set, stops[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return rc;
}

/* The arguments of PID, as a NULL-terminated list. *RET_TEXT holds their bytes. The caller frees
 * both. If PID has written a title over its arguments, the list is the title only. */
static const char **command_of(pid_t pid, char **ret_text) {
    AUTO_FREE char *name = mem_printf("/proc/%d/cmdline", pid);
    ARRAY(const char *) list = {0};
    size_t room = 0;
    *ret_text = NULL;
    FILE *f = fopen(name, "re");
    ssize_t size = f ? getdelim(ret_text, &room, EOF, f) : 0;
    if (f)
        fclose(f);
    for (ssize_t i = 0; i < size; i += (ssize_t)strlen(*ret_text + i) + 1)
        ARRAY_PUSH(&list, *ret_text + i);
    while (list.count > 1 && !*list.at[list.count - 1])
        list.count--;
    ARRAY_PUSH(&list, NULL);
    return list.at;
}

static int open_recording(struct recording *r, struct err *err) {
    AUTO_FREE char *text = NULL;
    AUTO_FREE const char **command = command_of(r->pid, &text);
    recording_raise_limits(r);
    return recording_open(r, command, err);
}

static int remove_leftovers(const struct recording *r, struct err *err) {
    bool found;
    int rc = record_detach(&r->options->report, r->pid, &found, err);
    if (rc < 0 || !found)
        return rc;
    AUTO_FREE char *text =
        mem_printf("process %d: the leftovers of a killed spoor are removed", r->pid);
    report_warn(&r->options->report, text);
    return 0;
}

static int prepare(struct recording *r, struct err *err) {
    struct attached *a = r->ctx;
    space_unref(a->space);
    a->space = NULL;
    int rc = tracer_prepare(r->tracer, r->pid, &a->space, err);
    return rc < 0 ? rc : recording_check(r, err);
}

/* A number for the program that PID runs: where the kernel put random bytes on its stack. 0: PID is
 * in an exec, and nothing is mapped yet. */
static uint64_t program_of(pid_t pid) { return auxv_value(candidate_thread(pid), AT_RANDOM); }

/* Does everything that takes long while the program runs. If the program is in an exec, nothing is
 * mapped: so a failure is tried again. Both programs may give the same number (without ASLR), so a
 * first failure is always tried again. */
static int prepare_with_retries(struct recording *r, struct err *err) {
    for (int tries = 1;; tries++) {
        uint64_t program = program_of(r->pid);
        int rc = prepare(r, err);
        bool executes = !program || program_of(r->pid) != program;
        if (rc == 0 || tries >= (executes ? MOST_TRIES : 2) || candidate_check(r->pid, NULL) < 0 ||
            candidate_check_program(r->pid, NULL) < 0)
            return rc;
        clock_sleep_ns(EXEC_NS);
    }
}

static int begin(struct recording *r, struct err *err) {
    struct attached *a = r->ctx;
    int rc = candidate_check(r->pid, err);
    if (rc == 0)
        rc = open_signals(r, err);
    if (rc == 0)
        rc = remove_leftovers(r, err);
    if (rc == 0)
        rc = open_recording(r, err);
    if (rc == 0)
        rc = prepare_with_retries(r, err);
    if (rc == 0)
        rc = tracer_attach(r->tracer, a->space, r->pid, err);
    if (rc == 0)
        recording_listen(r);
    return rc;
}

/* The most milliseconds to wait for something; 0: --duration is over. */
static int wait_ms(const struct recording *r, uint64_t begun) {
    const struct record_options *o = r->options;
    uint64_t ms = o->events ? COUNTING_STEP_MS : STEP_MS, passed = clock_monotonic_ns() - begun;
    if (!o->duration_ns)
        return (int)ms;
    if (passed >= o->duration_ns)
        return 0;
    uint64_t rest = (o->duration_ns - passed + 999999) / 1000000;
    return (int)(rest < ms ? rest : ms);
}

static bool is_enough(const struct recording *r) {
    struct trace_totals totals = trace_writer_totals(r->writer);
    return r->options->events && totals.entries + totals.exits >= r->options->events;
}

static void run(struct recording *r) {
    const struct attached *a = r->ctx;
    uint64_t begun = clock_monotonic_ns();
    bool reported = false;
    for (int ms; tracer_task_count(r->tracer) && !a->leaving && !r->stop && !is_enough(r) &&
                 (ms = wait_ms(r, begun)) > 0;) {
        recording_step(r, ms);
        reported = reported || recording_report_end(r);
    }
    struct tracer_stop stop;
    bool lives = tracer_task_count(r->tracer) > 0;
    r->result->was_stopped = tracer_stopped(r->tracer, &stop) && !stop.number;
    tracer_release_all(r->tracer);
    r->result->has_leftovers = tracer_has_leftovers(r->tracer);
    struct tracer_pauses pauses = tracer_pauses(r->tracer);
    r->result->attach_ns = pauses.attach_ns;
    r->result->leave_ns = lives ? pauses.leave_ns : 0;
}

int record_attach(const struct record_options *options, pid_t pid, struct record_result *ret,
                  struct err *err) {
    struct attached a = {.leaving = false};
    struct recording r = {.options = options,
                          .result = ret,
                          .signals = -1,
                          .hook_event = -1,
                          .pid = pid,
                          .on_signal = on_signal,
                          .ctx = &a};
    *ret = (struct record_result){0};
    int rc = cpu_check(err);
    if (rc < 0)
        return rc;
    timing_start();
    rc = begin(&r, err);
    if (rc == 0) {
        run(&r);
        recording_finish(&r, recording_status(&r));
    }
    space_unref(a.space);
    recording_done(&r);
    return rc;
}
