/* Recording a program that runs already, for a while. */
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "record/detach.h"
#include "record/recording.h"
#include "target/auxv.h"
#include "target/candidate.h"
#include "target/cpu.h"
#include "target/timing.h"

enum {
    STEP_MS = 200,
    COUNTING_STEP_MS = 20, /* when events are limited */
    EXEC_NS = 20000000,    /* a program is begun within that, unless the machine is busy */
    MOST_LOOKS = 100
};

struct attached {
    struct space *space;
    bool leaving; /* the user wants no more */
};

static void on_signal(struct recording *r, const struct signalfd_siginfo *info) {
    struct attached *a = r->ctx;
    a->leaving |= info->ssi_signo != SIGCHLD;
}

/* ^Z would stop spoor alone, and with it whatever the program does that spoor has to answer. */
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

/* The arguments that PID was started with, as a NULL-terminated list; *RET_TEXT holds them. Both
 * are the caller's to free. Where it has written a title of its own there, and null bytes behind
 * that, it is the title alone. */
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
    recording_lift_limits(r);
    return recording_open(r, command, err);
}

static int take_over(const struct recording *r, struct err *err) {
    bool found;
    int rc = record_detach(&r->options->report, r->pid, &found, err);
    if (rc < 0 || !found)
        return rc;
    AUTO_FREE char *text =
        mem_printf("process %d: what a spoor that was killed has left in it is removed", r->pid);
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

/* Which program PID runs, as far as the start of its stack shows it. 0: it is about to
 * begin one, of which nothing can be found. */
static uint64_t program_of(pid_t pid) { return auxv_value(candidate_thread(pid), AT_RANDOM); }

/* Everything that takes long is done while the program runs. If that executes another one just now,
 * nothing is mapped in it: what cannot be found is looked for again. Programs need not lie at
 * random places, so there is always a second look. */
static int prepare_some_program(struct recording *r, struct err *err) {
    for (int looks = 1;; looks++) {
        uint64_t program = program_of(r->pid);
        int rc = prepare(r, err);
        bool executes = !program || program_of(r->pid) != program;
        if (rc == 0 || looks >= (executes ? MOST_LOOKS : 2) || candidate_check(r->pid, NULL) < 0 ||
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
        rc = take_over(r, err);
    if (rc == 0)
        rc = open_recording(r, err);
    if (rc == 0)
        rc = prepare_some_program(r, err);
    if (rc == 0)
        rc = tracer_attach(r->tracer, a->space, r->pid, err);
    if (rc == 0)
        recording_listen(r);
    return rc;
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* How long to wait at most, in ms; 0: the time is over. */
static int patience(const struct recording *r, uint64_t begun) {
    const struct record_options *o = r->options;
    uint64_t ms = o->events ? COUNTING_STEP_MS : STEP_MS, gone = now_ns() - begun;
    if (!o->duration_ns)
        return (int)ms;
    if (gone >= o->duration_ns)
        return 0;
    uint64_t left = (o->duration_ns - gone + 999999) / 1000000;
    return (int)(left < ms ? left : ms);
}

static bool is_enough(const struct recording *r) {
    struct trace_totals totals = trace_writer_totals(r->writer);
    return r->options->events && totals.entries + totals.exits >= r->options->events;
}

static void run(struct recording *r) {
    const struct attached *a = r->ctx;
    uint64_t begun = now_ns();
    bool reported = false;
    for (int ms; tracer_task_count(r->tracer) && !a->leaving && !r->stop && !is_enough(r) &&
                 (ms = patience(r, begun)) > 0;) {
        recording_step(r, ms);
        reported = reported || recording_report_end(r);
    }
    struct tracer_stop stop;
    bool lives = tracer_task_count(r->tracer) > 0;
    r->result->stood = tracer_stopped(r->tracer, &stop) && !stop.number;
    tracer_release_all(r->tracer);
    r->result->left = tracer_left_something(r->tracer);
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
