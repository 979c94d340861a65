/*
 * Writes a trace from a description on standard input: write-trace FILE. Ticks are nanoseconds.
 *
 *     # the rest of the line is a comment
 *     process PID COMMAND
 *     function NAME                    NAME is the rest of the line; "-": no name
 *     alias NAME                       another name of the previous function
 *     inexact                          not all exits of the previous function are patched
 *     entries N N N N N N              sites of the next module by tier, beginning with none
 *     exits N N N N N N
 *     refused TAG COUNT                refused functions of the next module
 *     module NAME                      what precedes it belongs to this module
 *     status NUMBER                    the program's
 *     thread PID TID NAME              streams are numbered in this order, from 0
 *     fork MAKER PID TID TICKS NAME    the same for a process that the thread of stream MAKER forks
 *     TICKS STREAM enter FUNCTION SP   functions by number, from 1; SP hexadecimal: native stacks
 *     TICKS STREAM return FUNCTION SP  lie below 0x20000, which the trace knows, others above
 *     TICKS STREAM tail FUNCTION SP
 *     TICKS STREAM lost COUNT
 *     TICKS STREAM frames FUNCTION@SP,…  the open calls, the outermost first; or "frames -"
 *     TICKS STREAM end
 *     caller CHAIN ADDRESS MODULE FUNCTION
 *                                      a caller; chains are numbered in this order, from 8; lower
 *                                      numbers are ends; ADDRESS hexadecimal; "-": no name
 *     TICKS STREAM callers CHAIN       of the next entry
 *     TICKS STREAM pause CAUSE LENGTH  the thread stood still until now (wire/ring.h); hexadecimal
 *                                      length
 *     TICKS PID paused                 likewise resumed, left, ended
 *     TICKS choose ADDED REMOVED OPTIONS
 *     crash                            the recording stops here, FILE.part is left
 *
 * In names, \x1b and the like stand for bytes.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "trace/writer.h"

enum { STACK_LOW = 0x10000, STACK_HIGH = 0x20000 };
static const uint32_t CHAIN_SITE = (uint32_t)CHAIN_EVENT << 2 | EVENT_CONTROL;

struct script {
    struct trace_writer *writer;
    ARRAY(struct trace_function) functions; /* of the next module */
    struct trace_module module;             /* the next module; only its counts are known yet */
    ARRAY(struct trace_refused) refused;
    uint32_t first_id, streams, chains;
    uint64_t last;
    int status;
    bool crashed;
};

static struct arena *names; /* live until the trace is written */

/* A copy in which \xHH is replaced by its byte. */
static char *name_of(const char *text) {
    char *name = arena_strdup(names, text), *to = name;
    for (const char *p = name; *p; to++) {
        unsigned byte;
        if (p[0] == '\\' && sscanf(p, "\\x%2x", &byte) == 1) {
            *to = (char)byte;
            p += 4;
        } else {
            *to = *p++;
        }
    }
    *to = '\0';
    return name;
}

/* All functions of a module except the refused ones are traced. */
static void take_module(struct script *s, const char *name) {
    AUTO_FREE char *path = mem_printf("/usr/lib/%s", name);
    struct trace_module *m = &s->module;
    m->first_id = s->first_id;
    m->path = path;
    m->name = name_of(name);
    m->functions = s->functions.at;
    m->function_count = (uint32_t)s->functions.count;
    m->instrumented = m->seen = s->functions.count;
    for (size_t i = 0; i < s->functions.count; i++)
        m->exact_exit += s->functions.at[i].exact;
    m->refused = s->refused.at;
    m->refused_count = (uint32_t)s->refused.count;
    for (size_t i = 0; i < s->refused.count; i++)
        m->seen += s->refused.at[i].count;
    trace_writer_module(s->writer, m);
    s->first_id += m->function_count;
    s->functions.count = s->refused.count = 0;
    *m = (struct trace_module){0};
}

static bool take_tiers(const char *line, const char *form, uint64_t *n) {
    return sscanf(line, form, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5]) == TRACE_TIERS;
}

/* Takes a line about the next module. */
static bool take_detail(struct script *s, const char *line) {
    struct trace_refused refused;
    char tag[64];
    if (strncmp(line, "alias ", 6) == 0 && s->functions.count) {
        s->functions.at[s->functions.count - 1].aliases = name_of(line + 6);
    } else if (strcmp(line, "inexact") == 0 && s->functions.count) {
        s->functions.at[s->functions.count - 1].exact = false;
    } else if (sscanf(line, "refused %63s %ju", tag, &refused.count) == 2) {
        refused.reason = name_of(tag);
        ARRAY_PUSH(&s->refused, refused);
    } else {
        return take_tiers(line, "entries %lu %lu %lu %lu %lu %lu", s->module.tiers) ||
               take_tiers(line, "exits %lu %lu %lu %lu %lu %lu", s->module.exit_tiers);
    }
    return true;
}

static bool take_caller(struct script *s, const char *line) {
    struct trace_chain chain = {.place = s->chains};
    char module[64];
    int rest = 0;
    struct trace_place place = {.function = ""};
    if (sscanf(line, "caller %u %jx %63s %n", &chain.callers, &place.address, module, &rest) != 3 ||
        !rest)
        return false;
    place.module = name_of(module);
    if (strcmp(line + rest, "-") != 0)
        place.function = name_of(line + rest);
    trace_writer_chains(s->writer, &(struct trace_chains){s->chains, 1, &place,
                                                          CHAIN_FIRST + s->chains, 1, &chain});
    s->chains++;
    return true;
}

static void write_thread(struct script *s, const struct trace_thread *thread) {
    struct trace_thread t = *thread;
    t.stream = s->streams++;
    t.stack_low = STACK_LOW;
    t.stack_high = STACK_HIGH;
    t.name = name_of(thread->name);
    trace_writer_thread(s->writer, &t);
}

static bool take_fact(struct script *s, const char *line) {
    uint32_t pid, tid, maker;
    uint64_t start;
    int rest = 0;
    if (sscanf(line, "process %u %n", &pid, &rest) == 1 && rest) {
        struct trace_process p = {pid, 0, 0, name_of(line + rest)};
        trace_writer_process(s->writer, &p);
    } else if (sscanf(line, "thread %u %u %n", &pid, &tid, &rest) == 2 && rest) {
        write_thread(s, &(struct trace_thread){.pid = pid, .tid = tid, .name = line + rest});
    } else if (sscanf(line, "fork %u %u %u %ju %n", &maker, &pid, &tid, &start, &rest) == 4 &&
               rest) {
        write_thread(
            s,
            &(struct trace_thread){
                .pid = pid, .tid = tid, .start = start, .maker = maker + 1, .name = line + rest});
    } else if (strncmp(line, "function ", 9) == 0) {
        struct trace_function f = {.address = 0x1000 + 16 * s->functions.count,
                                   .size = 16,
                                   .instrumented = true,
                                   .exact = true,
                                   .name = strcmp(line + 9, "-") ? name_of(line + 9) : NULL};
        ARRAY_PUSH(&s->functions, f);
    } else if (strncmp(line, "module ", 7) == 0) {
        take_module(s, line + 7);
    } else {
        return sscanf(line, "status %d", &s->status) == 1 || take_detail(s, line) ||
               take_caller(s, line);
    }
    return true;
}

static bool take_frames(struct script *s, const char *line) {
    struct trace_frame frames[16];
    struct trace_frames f = {.frames = frames};
    int next = 0;
    uint32_t sp;
    if (sscanf(line, "%ju %u frames %n", &f.ticks, &f.stream, &next) != 2 || !next)
        return false;
    for (const char *at = line + next; f.count < 16; at += next) {
        if (sscanf(at, "%u@%x%n", &frames[f.count].id, &sp, &next) != 2)
            break;
        frames[f.count++].sp = sp;
        next += at[next] == ',';
    }
    s->last = f.ticks;
    trace_writer_frames(s->writer, &f);
    return true;
}

static bool take_change(struct script *s, const char *line) {
    static const char *const kinds[] = {[TRACE_PAUSED] = "paused",
                                        [TRACE_RESUMED] = "resumed",
                                        [TRACE_CHOSEN] = "choose",
                                        [TRACE_LEFT] = "left",
                                        [TRACE_ENDED] = "ended"};
    struct trace_change c = {.kind = TRACE_CHOSEN};
    char what[8] = "choose";
    int rest = 0;
    if (sscanf(line, "%ju choose %ju %ju%n", &c.ticks, &c.added, &c.removed, &rest) == 3)
        c.filter = name_of(line + rest + (line[rest] == ' '));
    else if (sscanf(line, "%ju %u %7s%n", &c.ticks, &c.pid, what, &rest) != 3 || line[rest])
        return false;
    for (c.kind = TRACE_PAUSED; c.kind <= TRACE_ENDED; c.kind++)
        if (strcmp(what, kinds[c.kind]) == 0) {
            trace_writer_change(s->writer, &c);
            return true;
        }
    return false;
}

static void write_pause(struct script *s, uint32_t stream, uint64_t ticks, uint32_t cause,
                        uint64_t length) {
    struct trace_event event = {ticks, (PAUSE_EVENT + cause) << 2 | EVENT_CONTROL, length};
    trace_writer_events(s->writer, stream, &event, 1);
}

static bool take_event(struct script *s, const char *line) {
    static const char *const kinds[] = {
        [EVENT_ENTRY] = "enter", [EVENT_RETURN] = "return", [EVENT_TAIL] = "tail"};
    uint64_t ticks;
    uint32_t stream, number, sp;
    char what[8];
    int count = sscanf(line, "%ju %u %7s %u %x", &ticks, &stream, what, &number, &sp);
    if (count < 3 || stream >= s->streams)
        return false;
    s->last = ticks;
    if (strcmp(what, "end") == 0)
        trace_writer_thread_end(s->writer, stream, ticks);
    else if (strcmp(what, "lost") == 0 && count == 4)
        trace_writer_lost(s->writer, stream, ticks, number);
    else if (strcmp(what, "callers") == 0 && count == 4)
        trace_writer_events(s->writer, stream, &(struct trace_event){ticks, CHAIN_SITE, number}, 1);
    else if (count != 5)
        return false;
    if (strcmp(what, "pause") == 0)
        write_pause(s, stream, ticks, number, sp);
    for (uint32_t kind = EVENT_ENTRY; kind <= EVENT_TAIL; kind++) {
        struct trace_event event = {ticks, number << 2 | kind, sp};
        if (strcmp(what, kinds[kind]) == 0)
            trace_writer_events(s->writer, stream, &event, 1);
    }
    return true;
}

static bool take_line(struct script *s, char *line) {
    line[strcspn(line, "\n")] = '\0';
    line += strspn(line, " ");
    if (strcmp(line, "crash") == 0)
        s->crashed = true;
    return !*line || *line == '#' || s->crashed || take_fact(s, line) || take_frames(s, line) ||
           take_change(s, line) || take_event(s, line);
}

static bool finish(struct script *s) {
    struct trace_end end = {.status = s->status, .ticks = s->last};
    trace_writer_clock(s->writer, &(struct trace_clock){1000000000, 1000000000});
    if (!s->crashed)
        return trace_writer_finish(s->writer, &end, NULL, NULL) == 0;
    trace_writer_flush(s->writer);
    trace_writer_sync(s->writer);
    trace_writer_abandon(s->writer);
    return true;
}

int main(int argc, char **argv) {
    static const char *const command[] = {"prog", NULL};
    struct trace_session session = {.version = "1.0", .arch = "x86_64", .command = command};
    struct script s = {.first_id = 1};
    struct err err;
    AUTO_FREE char *line = NULL;
    size_t room = 0;
    if (argc != 2 || trace_writer_open(argv[1], &session, &s.writer, &err))
        return 1;
    names = arena_new();
    trace_writer_clock(s.writer, &(struct trace_clock){0, 0});
    while (getline(&line, &room, stdin) > 0)
        if (!take_line(&s, line)) {
            fprintf(stderr, "write-trace: not understood: %s\n", line);
            return 1;
        }
    ARRAY_FREE(&s.functions);
    ARRAY_FREE(&s.refused);
    bool ok = finish(&s);
    arena_free(names);
    return ok ? 0 : 1;
}
