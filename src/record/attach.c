/* Records a running program for a while. */
#include <dirent.h>
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
#include "target/status.h"
#include "target/timing.h"

enum {
    STEP_MS = 200,
    COUNTING_STEP_MS = 20, /* with --events */
    EXEC_NS = 20000000,    /* an exec takes less, unless the machine is busy */
    MOST_TRIES = 100
};

struct target {
    pid_t pid;
    struct space *space; /* NULL: not prepared, or dropped */
};

struct attached {
    const struct attach_targets *wanted;
    ARRAY(struct target) targets;
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

static int remove_leftovers(const struct recording *r, pid_t pid, struct err *err) {
    bool found;
    int rc = record_detach(&r->options->report, pid, &found, err);
    if (rc < 0 || !found)
        return rc;
    AUTO_FREE char *text =
        mem_printf("process %d: the leftovers of a killed spoor are removed", pid);
    report_warn(&r->options->report, text);
    return 0;
}

/* CHECKS: also whether the options choose functions. */
static int prepare(struct recording *r, struct target *target, bool checks, struct err *err) {
    space_unref(target->space);
    target->space = NULL;
    int rc = tracer_prepare(r->tracer, target->pid, &target->space, err);
    return rc < 0 || !checks ? rc : recording_check(r, err);
}

/* A number for the program that PID runs: where the kernel put random bytes on its stack. 0: PID is
 * in an exec, and nothing is mapped yet. */
static uint64_t program_of(pid_t pid) { return auxv_value(candidate_thread(pid), AT_RANDOM); }

/* Does everything that takes long while the program runs. If the program is in an exec, nothing is
 * mapped: so a failure is tried again. Both programs may give the same number (without ASLR), so a
 * first failure is always tried again. */
static int prepare_with_retries(struct recording *r, struct target *target, bool checks,
                                struct err *err) {
    const pid_t pid = target->pid;
    for (int tries = 1;; tries++) {
        uint64_t program = program_of(pid);
        int rc = prepare(r, target, checks, err);
        bool executes = !program || program_of(pid) != program;
        if (rc == 0 || tries >= (executes ? MOST_TRIES : 2) || candidate_check(pid, NULL) < 0 ||
            candidate_check_program(pid, NULL) < 0)
            return rc;
        clock_sleep_ns(EXEC_NS);
    }
}

/* ---- several processes ---- */

/* TARGET, one of several, cannot be traced because of ERR. */
static void drop(const struct recording *r, struct target *target, const struct err *err) {
    AUTO_FREE char *text = mem_printf("%s: left out", err->text);
    report_warn(&r->options->report, text);
    space_unref(target->space);
    target->space = NULL;
}

static bool is_target(const struct attached *a, pid_t pid) {
    for (size_t i = 0; i < a->targets.count; i++)
        if (a->targets.at[i].pid == pid)
            return true;
    return false;
}

static void add_target(struct attached *a, pid_t pid) {
    ARRAY_PUSH(&a->targets, ((struct target){.pid = pid}));
}

/* Whether PID descends from a process that the user has named. */
static bool is_in_tree(const struct attached *a, pid_t pid) {
    for (size_t i = 0; i < a->wanted->count; i++)
        if (status_descends(pid, a->wanted->pids[i]))
            return true;
    return false;
}

/* Adds the processes of the trees that are no targets yet and can be traced. */
static void add_tree(struct attached *a, const struct tracer *t) {
    DIR *proc = opendir("/proc");
    for (struct dirent *e; proc && (e = readdir(proc));) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid > 0 && !is_target(a, pid) && is_in_tree(a, pid) && !(t && tracer_traces(t, pid)) &&
            candidate_check(pid, NULL) == 0)
            add_target(a, pid);
    }
    if (proc)
        closedir(proc);
}

static int check_targets(struct attached *a, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < a->wanted->count && rc == 0; i++) {
        rc = candidate_check(a->wanted->pids[i], err);
        if (rc == 0 && !is_target(a, a->wanted->pids[i]))
            add_target(a, a->wanted->pids[i]);
    }
    if (rc == 0 && a->wanted->tree)
        add_tree(a, NULL);
    return rc;
}

static int remove_all_leftovers(const struct recording *r, const struct attached *a,
                                struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < a->targets.count && rc == 0; i++)
        rc = remove_leftovers(r, a->targets.at[i].pid, err);
    return rc;
}

/* One of several targets may have ended since: it is dropped. */
static int prepare_all(struct recording *r, struct attached *a, struct err *err) {
    size_t count = a->targets.count;
    for (size_t i = 0; i < count; i++) {
        struct target *target = &a->targets.at[i];
        int rc = prepare_with_retries(r, target, i + 1 == count, err);
        if (rc < 0 && count > 1 && !target->space)
            drop(r, target, err);
        else if (rc < 0)
            return rc;
    }
    return count > 1 ? recording_check(r, err) : 0;
}

/* Fails if no target could be attached to. */
static int attach_from(struct recording *r, struct attached *a, size_t first, struct err *err) {
    struct err why = {0};
    int rc = first || a->targets.count > 1 ? -ESRCH : 0;
    for (size_t i = first; i < a->targets.count; i++) {
        struct target *target = &a->targets.at[i];
        if (!target->space || tracer_traces(r->tracer, target->pid))
            continue;
        rc = tracer_attach(r->tracer, target->space, target->pid, &why);
        if (rc < 0 && a->targets.count > 1)
            drop(r, target, &why);
    }
    if (tracer_task_count(r->tracer))
        return 0;
    *err = why;
    return rc < 0 && !why.code ? err_set(err, ESRCH, "no-process", "no process is left") : rc;
}

/* What the tree has started before its parents were traced. */
static void attach_rest_of_tree(struct recording *r, struct attached *a) {
    enum { MOST_LOOKS = 10 };
    struct err err = {0};
    for (int looks = 0; looks < MOST_LOOKS; looks++) {
        size_t before = a->targets.count;
        add_tree(a, r->tracer);
        for (size_t i = before; i < a->targets.count; i++)
            if (prepare_with_retries(r, &a->targets.at[i], false, &err) < 0)
                drop(r, &a->targets.at[i], &err);
        if (a->targets.count == before || attach_from(r, a, before, &err) < 0)
            return;
    }
}

static int begin(struct recording *r, struct err *err) {
    struct attached *a = r->ctx;
    int rc = check_targets(a, err);
    r->several = a->targets.count > 1 || a->wanted->tree;
    if (rc == 0)
        rc = open_signals(r, err);
    if (rc == 0)
        rc = remove_all_leftovers(r, a, err);
    if (rc == 0)
        rc = open_recording(r, err);
    if (rc == 0)
        rc = prepare_all(r, a, err);
    if (rc == 0)
        rc = attach_from(r, a, 0, err);
    if (rc == 0 && a->wanted->tree)
        attach_rest_of_tree(r, a);
    if (rc == 0)
        recording_listen(r);
    return rc;
}

static bool is_enough(const struct recording *r) {
    struct trace_totals totals = trace_writer_totals(r->writer);
    return r->options->events && totals.entries + totals.exits >= r->options->events;
}

static void run(struct recording *r) {
    const struct attached *a = r->ctx;
    uint64_t begun = clock_monotonic_ns();
    const int most = r->options->events ? COUNTING_STEP_MS : STEP_MS;
    bool reported = false;
    for (int ms; tracer_task_count(r->tracer) && !a->leaving && !r->stop && !is_enough(r) &&
                 (ms = recording_wait_ms(r, begun, most)) > 0;) {
        recording_step(r, ms);
        reported = reported || recording_report_end(r);
    }
    struct tracer_stop stop;
    bool lives = tracer_task_count(r->tracer) > 0;
    r->result->attached = a->targets.count;
    r->result->was_stopped = tracer_stopped(r->tracer, &stop) && !stop.number;
    tracer_release_all(r->tracer);
    r->result->has_leftovers = tracer_has_leftovers(r->tracer);
    struct tracer_pauses pauses = tracer_pauses(r->tracer);
    r->result->attach_ns = pauses.attach_ns;
    r->result->leave_ns = lives ? pauses.leave_ns : 0;
}

int record_attach(const struct record_options *options, const struct attach_targets *targets,
                  struct record_result *ret, struct err *err) {
    struct attached a = {.wanted = targets};
    struct recording r = {.options = options,
                          .result = ret,
                          .signals = -1,
                          .hook_event = -1,
                          .pid = targets->pids[0],
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
    for (size_t i = 0; i < a.targets.count; i++)
        space_unref(a.targets.at[i].space);
    ARRAY_FREE(&a.targets);
    recording_done(&r);
    return rc;
}
