/* Words for ends by signals, as notes, text and JSON. */
#include "cmd/deaths.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/figures.h"
#include "cmd/json.h"
#include "cmd/say.h"

enum { NOTED_CALLS = 12, NOTED_DEATHS = 5 };

/* "SIGSEGV"; a number if it has no name. To be freed. */
static char *signal_name(uint32_t signal) {
    const char *name = sigabbrev_np((int)signal);
    if (name)
        return mem_printf("SIG%s", name);
    if ((int)signal >= SIGRTMIN && (int)signal <= SIGRTMAX)
        return mem_printf("SIGRTMIN+%d", (int)signal - SIGRTMIN);
    return mem_printf("signal %u", signal);
}

void death_print_as_shell(int signal, bool core_dumped) {
    if (signal == SIGINT || signal == SIGPIPE)
        return;
    const char *text = sigdescr_np(signal);
    if (text)
        fprintf(stderr, "%s%s\n", text, core_dumped ? " (core dumped)" : "");
    else
        fprintf(stderr, "Unknown signal %d%s\n", signal, core_dumped ? " (core dumped)" : "");
}

/* "FUNCTION at FILE:LINE" or "FUNCTION in MODULE", as far as known. To be freed. */
static char *place_text(const struct trace_death_frame *f) {
    const char *function = f->function[0] ? f->function : "??";
    if (f->file[0] && f->line)
        return mem_printf("%s at %s:%u", function, f->file, f->line);
    if (f->module[0])
        return mem_printf("%s in %s", function, f->module);
    return f->function[0] ? mem_strdup(function) : mem_printf("0x%" PRIx64, f->pc);
}

/* "process 12 (prog): killed by SIGSEGV at address 0x8, thread 13 (worker), in f at f.c:3". To be
 * freed. */
char *death_text(const struct trace_death *d) {
    AUTO_FREE char *name = signal_name(d->signal);
    AUTO_FREE char *process = d->process[0] ? mem_printf("process %u (%s)", d->pid, d->process)
                                            : mem_printf("process %u", d->pid);
    AUTO_FREE char *why = d->fault && (d->signal == SIGSEGV || d->signal == SIGBUS)
                              ? mem_printf(" at address 0x%" PRIx64, d->address)
                          : d->sender && d->sender != d->pid
                              ? mem_printf(" from process %u", d->sender)
                              : mem_strdup("");
    AUTO_FREE char *thread =
        d->tid ? mem_printf(", thread %u (%s)", d->tid, d->thread) : mem_strdup("");
    AUTO_FREE char *place = d->place < d->count ? place_text(&d->frames[d->place]) : NULL;
    return mem_printf("%s: killed by %s%s%s%s%s", process, name, why, thread, place ? ", in " : "",
                      place ? place : "");
}

/* "#3  f at f.c:3", with what is special about frame I, which is call number CALL. To be freed. */
static char *frame_text(const struct trace_death *d, uint32_t i, unsigned call) {
    const struct trace_death_frame *f = &d->frames[i];
    AUTO_FREE char *place = place_text(f);
    return mem_printf("#%-3u %s%s%s", call, place, f->inlined ? " (inlined)" : "",
                      f->interrupted ? " (interrupted by a signal)" : "");
}

/* Passes on each of the first MOST frames of D as a line. */
static void each_frame(const struct trace_death *d, uint32_t most, void (*print)(const char *)) {
    unsigned call = 0;
    for (uint32_t i = 0; i < d->count && i < most; i++) {
        AUTO_FREE char *text = frame_text(d, i, call);
        print(text);
        call += !d->frames[i].inlined;
    }
}

static void note_line(const char *text) { say_note("  %s", text); }

/* Signals that tell of a mistake: their default action is a core dump (signal(7)). Others mostly
 * come from a user or a parent. */
static bool is_crash(const struct trace_death *d) {
    static const uint32_t signals[] = {SIGILL,  SIGTRAP, SIGABRT, SIGBUS, SIGFPE,
                                       SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i] == d->signal)
            return true;
    return d->fault;
}

/* The end, and the innermost calls if it is a crash. */
static void note(const struct trace_death *d) {
    AUTO_FREE char *head = death_text(d);
    say_note("%s", head);
    if (!is_crash(d))
        return;
    each_frame(d, NOTED_CALLS, note_line);
    if (d->count > NOTED_CALLS)
        say_note("  … %u calls in all: 'spoor info' shows them", d->calls);
}

void deaths_show(const struct trace_death *deaths, size_t count, uint32_t program) {
    size_t noted = 0, more = 0;
    for (size_t i = 0; i < count; i++) {
        const struct trace_death *d = &deaths[i];
        if (d->pid != program && (!is_crash(d) || noted == NOTED_DEATHS)) {
            more++;
            continue;
        }
        note(d);
        noted += d->pid != program;
    }
    if (more)
        say_note("%zu %sprocess%s killed by signals: 'spoor info' shows them", more,
                 noted || more < count ? "more " : "", more == 1 ? "" : "es");
}

static void print_line(const char *text) {
    fputs("  ", stdout);
    text_print(stdout, text);
    putchar('\n');
}

static void print_death(const struct trace_death *d) {
    AUTO_FREE char *head = death_text(d);
    text_print(stdout, head);
    puts(d->core ? ", core dumped" : "");
    each_frame(d, d->count, print_line);
    if (d->calls > DEATH_FRAMES)
        printf("  … %u calls in all\n", d->calls);
}

static void json_text(FILE *out, const char *name, const char *text) {
    fprintf(out, "\"%s\": ", name);
    if (text[0])
        json_print_string(out, text);
    else
        fprintf(out, "null");
}

static void json_frame(FILE *out, const struct trace_death_frame *f) {
    fprintf(out, "{\"address\": \"0x%" PRIx64 "\", ", f->pc);
    json_text(out, "function", f->function);
    fprintf(out, ", ");
    json_text(out, "module", f->module);
    fprintf(out, ", ");
    json_text(out, "file", f->file);
    if (f->line)
        fprintf(out, ", \"line\": %u", f->line);
    else
        fprintf(out, ", \"line\": null");
    fprintf(out, ", \"inlined\": %s, \"interrupted\": %s}", f->inlined ? "true" : "false",
            f->interrupted ? "true" : "false");
}

static void json_death(FILE *out, const struct trace_death *d) {
    AUTO_FREE char *name = signal_name(d->signal);
    fprintf(out, "{\"pid\": %u, ", d->pid);
    json_text(out, "process", d->process);
    if (d->tid)
        fprintf(out, ", \"tid\": %u, ", d->tid);
    else
        fprintf(out, ", \"tid\": null, ");
    json_text(out, "thread", d->thread);
    fprintf(out, ", \"signal\": \"%s\", \"number\": %u, \"code\": %d, \"sender\": %u, \"core\": %s",
            name, d->signal, d->code, d->sender, d->core ? "true" : "false");
    if (d->fault)
        fprintf(out, ", \"address\": \"0x%" PRIx64 "\"", d->address);
    fprintf(out, ", \"place\": ");
    if (d->place < d->count)
        fprintf(out, "%u", d->place);
    else
        fprintf(out, "null");
    fprintf(out, ", \"calls\": %u, \"stack\": [", d->calls);
    for (uint32_t i = 0; i < d->count; i++) {
        fprintf(out, i ? ",\n    " : "\n    ");
        json_frame(out, &d->frames[i]);
    }
    fprintf(out, "]}");
}

void deaths_print_json(FILE *out, const struct trace_reader *r) {
    fprintf(out, "\"deaths\": [");
    for (size_t i = 0; i < trace_reader_death_count(r); i++) {
        fprintf(out, i ? ",\n  " : "\n  ");
        json_death(out, trace_reader_death(r, i));
    }
    fprintf(out, "],\n");
}

void deaths_print(const struct trace_reader *r) {
    size_t count = trace_reader_death_count(r);
    if (count)
        printf("\n%zu process%s killed by signals\n", count, count == 1 ? "" : "es");
    for (size_t i = 0; i < count; i++)
        print_death(trace_reader_death(r, i));
}
