/*
 * The table of commands and the table of options: the only source of the parser, --help, the manual
 * pages and shell completion. Help texts are one paragraph of ASCII without line breaks; the
 * default stands at the end.
 */
#include <limits.h>
#include <stddef.h>

#include "cmd/command.h"

const struct command commands[COMMAND_COUNT] = {
    [COMMAND_RECORD] = {"record", "[--] PROGRAM [ARGUMENT...]", "launch a program and trace it",
                        STATUS_RECORD_FAILED, "PROGRAM", -1},
    [COMMAND_ATTACH] = {"attach", "PID...", "trace running processes, and leave them as they were",
                        STATUS_USAGE, NULL, INT_MAX},
    [COMMAND_CTL] = {"ctl", "PID pause|resume|filter|snapshot|status|stop",
                     "control a recording: pause it, change its filter, end it", STATUS_USAGE,
                     "PID", 2},
    [COMMAND_DETACH] = {"detach", "PID", "remove the leftovers of a killed spoor from a process",
                        STATUS_USAGE, "PID", 1},
    [COMMAND_REPLAY] = {"replay", "[TRACE]", "show every call, indented, with its duration",
                        STATUS_USAGE, NULL, 1},
    [COMMAND_REPORT] = {"report", "[TRACE]", "show a table of functions: calls and times",
                        STATUS_USAGE, NULL, 1},
    [COMMAND_GRAPH] = {"graph", "[TRACE [FUNCTION]]",
                       "show the call graph, or one function's callers and callees", STATUS_USAGE,
                       NULL, 2},
    [COMMAND_DIFF] = {"diff", "[[OLD] NEW]", "compare two traces: which functions got slower",
                      STATUS_USAGE, NULL, 2},
    [COMMAND_INFO] = {"info", "[TRACE]", "show what was traced, how, and what was lost",
                      STATUS_USAGE, NULL, 1},
    [COMMAND_VIEW] = {"view", "[TRACE [OTHER]]",
                      "show a trace in the browser: timeline, flame graph, tables", STATUS_USAGE,
                      NULL, 2},
    [COMMAND_EXPORT] = {"export", "[TRACE]", "convert a trace for other programs", STATUS_USAGE,
                        NULL, 1},
    [COMMAND_EXPLAIN] = {"explain", "BINARY|PID",
                         "show how each function would be traced, or why not", STATUS_USAGE,
                         "BINARY|PID", 1},
    [COMMAND_SYMBOLIZE] = {"symbolize", "IMAGE [ADDRESS...]",
                           "show functions and lines at addresses, also within a log", STATUS_USAGE,
                           "IMAGE", INT_MAX},
    [COMMAND_UNWIND] = {"unwind", "IMAGE", "show the calls that a dump of a stack holds",
                        STATUS_USAGE, "IMAGE", 1},
    [COMMAND_CTF] = {"ctf", "convert|dump FILE [TYPE]",
                     "convert the types of a program to CTF, or show them", STATUS_USAGE,
                     "convert|dump", 3},
};

#define ONLY(name) (1u << COMMAND_##name)
#define RECORDERS (ONLY(RECORD) | ONLY(ATTACH))
#define CALL_VIEWS (ONLY(REPLAY) | ONLY(REPORT) | ONLY(GRAPH) | ONLY(DIFF) | ONLY(EXPORT))
#define TABLES (ONLY(REPLAY) | ONLY(REPORT) | ONLY(GRAPH) | ONLY(DIFF) | ONLY(INFO) | ONLY(EXPLAIN))
#define AT(member) offsetof(struct options, member)
#define COLUMNS                                                                                    \
    "calls|total|self|min|max|p50|p99|unwound|cut|paused|avg|stdev|share|function|module|tier|"    \
    "line|process|group"
#define DIFF_COLUMN_NAMES "diff|change|calls|total|self|p50|p99|function|module"
#define REPLAY_COLUMNS "duration|elapsed|delta|tid|thread|process|module|depth|address|line"

const struct option_spec option_table[] = {
    {RECORDERS, 'o', OPTION_STRING, "output", "FILE",
     "Write the trace to FILE; while recording, to FILE.part. A trace of that name is kept as "
     "FILE.old. %p stands for the process id, %c for the program's name, %t for the time, %% for "
     "%. "
     "Default: spoor.trace, or spoor-2.trace and so on while another spoor writes that.",
     AT(record.output), NULL},
    {ONLY(EXPORT), 'f', OPTION_CHOICE, "format", "FORMAT",
     "The format: chrome (trace events, for Perfetto and chrome://tracing), folded (stacks for "
     "flame graphs), csv (one line a call), json (as replay --json), spoor (the whole trace, "
     "compressed), "
     "callgrind (calls of functions by functions, for KCachegrind), "
     "perfetto (its own format, a third of chrome's size), "
     "pprof (self time of call paths, for go tool pprof), "
     "ctf (a folder, for babeltrace2 and Trace Compass), "
     "speedscope, firefox (profiler.firefox.com), "
     "parquet (one row a call, for DuckDB, ClickHouse, Spark). Default: chrome.",
     AT(export.format),
     "chrome|folded|csv|json|spoor"
     "|callgrind|perfetto|pprof|ctf|speedscope|firefox|parquet"},
    {ONLY(EXPORT), 'o', OPTION_STRING, "output", "FILE",
     "Write to FILE; ctf: to a folder of that name, new or empty. Default: standard output.",
     AT(export.output), NULL},
    {ONLY(CTF), 'o', OPTION_STRING, "output", "OUT",
     "convert: write to OUT. Default: the name of FILE without its folder, with .ctf behind it.",
     AT(export.output), NULL},
    {ONLY(EXPORT), 0, OPTION_STRING, "host", "NAME",
     "With parquet: the name of the recorded machine, for the column host. Default: none.",
     AT(export.host), NULL},
    {ONLY(EXPORT), 0, OPTION_SET, "values", NULL,
     "Write the arguments and results that were recorded (record -a, -A, -R), too: they may be "
     "secret. With chrome, csv, json, perfetto, ctf, firefox and parquet.",
     AT(export.values), NULL},

    {RECORDERS, 'F', OPTION_FILTER, "filter", "PATTERN",
     "Trace only functions that match PATTERN: a glob, or a regular expression between slashes; "
     "MODULE!PATTERN limits it to a module. Repeatable. Default: all functions.",
     AT(record.filter), NULL},
    {CALL_VIEWS, 'F', OPTION_FILTER, "filter", "PATTERN",
     "Show only functions that match PATTERN: a glob, or a regular expression between slashes; "
     "MODULE!PATTERN limits it to a module. Repeatable.",
     AT(shown.filter), NULL},
    {ONLY(EXPLAIN), 'F', OPTION_FILTER, "filter", "PATTERN",
     "Show only functions that match PATTERN: a glob, or a regular expression between slashes. "
     "Repeatable.",
     AT(shown.filter), NULL},
    {ONLY(CTL), 'F', OPTION_FILTER, "filter", "PATTERN",
     "With filter: from now on trace only functions that match PATTERN: a glob, or a regular "
     "expression between slashes; MODULE!PATTERN limits it to a module. Repeatable.",
     AT(record.filter), NULL},
    {RECORDERS, 'N', OPTION_FILTER, "notrace", "PATTERN",
     "Do not trace functions that match PATTERN. Repeatable; wins over -F.", AT(record.filter),
     NULL},
    {ONLY(CTL), 'N', OPTION_FILTER, "notrace", "PATTERN",
     "With filter: do not trace functions that match PATTERN. Repeatable; wins over -F.",
     AT(record.filter), NULL},
    {CALL_VIEWS, 'N', OPTION_FILTER, "notrace", "PATTERN",
     "Hide functions that match PATTERN. Repeatable; wins over -F.", AT(shown.filter), NULL},
    {RECORDERS, 'M', OPTION_FILTER, "module", "GLOB",
     "Trace functions of modules (the executable, shared libraries) whose file name matches GLOB. "
     "This includes modules that are loaded later. '*' is all modules, libc and the dynamic linker "
     "included. Repeatable. Default: each process's main executable.",
     AT(record.filter), NULL},
    {ONLY(CTL), 'M', OPTION_FILTER, "module", "GLOB",
     "With filter: trace functions of modules whose file name matches GLOB, including modules that "
     "are loaded later. '*' is all modules. Repeatable. Default: each process's main executable.",
     AT(record.filter), NULL},
    {RECORDERS, 'L', OPTION_FILTER, "file", "GLOB",
     "Trace only functions that begin in a source file whose path matches GLOB; the beginning of "
     "the "
     "path, up to a slash, may be left out. This needs debugging information (-g). Repeatable.",
     AT(record.filter), NULL},
    {ONLY(CTL), 'L', OPTION_FILTER, "file", "GLOB",
     "With filter: trace only functions that begin in a source file whose path matches GLOB. "
     "Repeatable.",
     AT(record.filter), NULL},
    {RECORDERS, 0, OPTION_SET, "libcalls", NULL,
     "Trace the calls that each process's main executable makes into libraries, not its own "
     "functions. These are calls of functions that it imports, or of all exported functions if it "
     "imports dlsym. -M, or MODULE! in -F, adds the functions of a module. -F without MODULE! "
     "chooses among library calls, too.",
     AT(record.libcalls), NULL},
    {CALL_VIEWS, 'L', OPTION_FILTER, "file", "GLOB",
     "Show only functions that begin in a source file whose path matches GLOB; the beginning of "
     "the "
     "path, up to a slash, may be left out. The traced program and its debugging information must "
     "still be there. Repeatable.",
     AT(shown.filter), NULL},
    {CALL_VIEWS, 0, OPTION_SET, "callees", NULL,
     "With -F or -L: show also all that is called in calls of these functions.", AT(shown.callees),
     NULL},
    {CALL_VIEWS, 'C', OPTION_PATTERNS, "callers", "PATTERN",
     "Show only functions that match PATTERN, and the calls that lead to them. Repeatable.",
     AT(shown.ways), NULL},
    {CALL_VIEWS, 0, OPTION_PATTERNS, "hide", "PATTERN",
     "Leave out functions that match PATTERN, and nothing else: other than with -N, their time "
     "does "
     "not count as their callers' own. Repeatable.",
     AT(shown.hidden), NULL},
    {CALL_VIEWS, 0, OPTION_CONDITION, "where", "'PATTERN/EXPR/'",
     "Of functions that match PATTERN, show only calls for which EXPR holds: a C condition on "
     "recorded values (record -a, -A, -R), as 'o->kind == PEN && n > 3', 'name == \"abc\"' or "
     "'ret < 0'. What these calls call is shown all the same. A PATTERN with / stands in braces. "
     "Repeatable; all conditions of a function must hold.",
     AT(shown.where), NULL},
    {CALL_VIEWS, 'M', OPTION_FILTER, "module", "GLOB",
     "Show only functions of modules whose file name matches GLOB. Repeatable.", AT(shown.filter),
     NULL},
    {RECORDERS, 'D', OPTION_NUMBER, "depth", "N",
     "Write only calls up to depth N among the traced functions.", AT(record.depth), NULL},
    {CALL_VIEWS, 'D', OPTION_NUMBER, "depth", "N",
     "Show only calls up to depth N among the functions shown.", AT(shown.depth), NULL},
    {RECORDERS, 't', OPTION_TIME, "threshold", "TIME",
     "Write only calls that lasted TIME or longer: 10us, 1.5ms, 2s; a plain number is nanoseconds.",
     AT(record.threshold_ns), NULL},
    {CALL_VIEWS, 't', OPTION_TIME, "threshold", "TIME",
     "Show only calls that lasted TIME or longer: 10us, 1.5ms, 2s; a plain number is nanoseconds.",
     AT(shown.threshold_ns), NULL},

    {RECORDERS, 0, OPTION_STACKS, "stack", "N|PATTERN",
     "Record the callers at each entry: up to N, traced or not. PATTERN (as for --filter) limits "
     "this to matching functions. Repeatable with PATTERN, and once with N. Default: 32 callers, "
     "of all traced functions.",
     AT(record.stacks), NULL},
    {RECORDERS, 0, OPTION_CHOICE, "overflow", NULL,
     "What a thread with a full ring does: wait for spoor, drop the event and count it, or "
     "overwrite the oldest event. Default: wait for record, drop for attach.",
     AT(record.overflow), "wait|drop|overwrite"},
    {RECORDERS, 0, OPTION_TRIGGER, "trigger", "FUNC[/EXPR/][>TIME]",
     "Write a snapshot of what the rings hold to FILE.1 and so on. The trigger is the entry of a "
     "traced function that matches FUNC (a pattern as for --filter); with >TIME, the end of a call "
     "that took longer than TIME. With /EXPR/ only calls count for which EXPR holds (as for "
     "--where); with the result in EXPR, at their ends. Repeatable; implies --overflow=overwrite.",
     AT(record.triggers), NULL},
    {RECORDERS, 'a', OPTION_SET, "auto-args", NULL,
     "Record arguments and results of all traced functions whose types are known (-g, or debug "
     "packages).",
     AT(record.auto_args), NULL},
    {RECORDERS, 'A', OPTION_FILTER, "argument", "PATTERN[@SPEC,...]",
     "Trace functions that match PATTERN, and record their arguments: those of SPEC, by default "
     "all "
     "whose types are known. SPEC is a C expression over parameters, as 'o->price' or '*out', or "
     "arg1/i32, arg2/s, fparg1/64, %rdi/x. A PATTERN with , @ or / stands in braces. Repeatable.",
     AT(record.filter), NULL},
    {ONLY(CTL), 'A', OPTION_FILTER, "argument", "PATTERN[@SPEC,...]",
     "With filter: from now on trace functions that match PATTERN, and record their arguments. "
     "Repeatable.",
     AT(record.filter), NULL},
    {RECORDERS, 'R', OPTION_FILTER, "retval", "PATTERN[@SPEC,...]",
     "Trace functions that match PATTERN, and record their results: by their types, or those of "
     "SPEC, as 'ret->id' or retval/s. Repeatable.",
     AT(record.filter), NULL},
    {ONLY(CTL), 'R', OPTION_FILTER, "retval", "PATTERN[@SPEC,...]",
     "With filter: from now on trace functions that match PATTERN, and record their results. "
     "Repeatable.",
     AT(record.filter), NULL},
    {RECORDERS | ONLY(CTL), 0, OPTION_FILTER, "where", "'PATTERN/EXPR/'",
     "Trace functions that match PATTERN, and keep only calls for which EXPR holds: a C condition "
     "over parameters and the result, as 'o->price > 100 && kind == PEN', 'name == \"abc\"' or "
     "'ret < 0'. What these calls call is kept all the same. A PATTERN with / stands in braces. "
     "Repeatable; all conditions of a function must hold. Comparisons of integers with constants "
     "are made in the program; for all else each call takes an event. With ctl: for "
     "filter.",
     AT(record.filter), NULL},
    {RECORDERS, 0, OPTION_FILTER, "usdt", "PATTERN[@SPEC,...]",
     "Record marks at USDT probes (sys/sdt.h) whose names 'provider:name' match PATTERN, in the "
     "program and all libraries, with their arguments: all of them as numbers, or those of SPEC, "
     "as arg1/s (a text), arg3/x. Without --filter only that is recorded. Repeatable.",
     AT(record.filter), NULL},
    {ONLY(CTL), 0, OPTION_FILTER, "usdt", "PATTERN[@SPEC,...]",
     "With filter: from now on record marks at USDT probes that match PATTERN. Repeatable.",
     AT(record.filter), NULL},
    {RECORDERS, 0, OPTION_LENGTH, "strings", "N",
     "Record at most N bytes of a text, from 1 to 4096. Default: 64.", AT(record.strings), NULL},
    {RECORDERS, 0, OPTION_STRING, "formats", "FILE",
     "Record of objects the values that FILE names for their types, or 'none': their members. "
     "Without FILE, and for types that it does not name: the formats that spoor brings along, for "
     "containers of C++ and Rust.",
     AT(record.formats_file), NULL},
    {RECORDERS, 0, OPTION_TRIGGER, "while", "FUNC",
     "Record a thread's calls only while a traced function that matches FUNC (a pattern as for "
     "--filter) is open there: its calls, and all below them. Repeatable.",
     AT(record.during), NULL},
    {RECORDERS, 0, OPTION_NUMBER, "snapshots", "N",
     "Let triggers make at most N snapshots. Default: 100.", AT(record.snapshot_limit), NULL},
    {RECORDERS, 0, OPTION_TIME, "snapshot-gap", "TIME",
     "Let at least TIME pass between a snapshot and the next one by a trigger. A trigger that "
     "fires sooner is only counted. Default: 100ms.",
     AT(record.snapshot_gap_ns), NULL},
    {RECORDERS, 0, OPTION_SIZE, "buffer", "SIZE",
     "The size of each thread's ring: 64K, 1M; rounded up to a power of two from 4K to 1G. "
     "Default: 2M; 512K for 32-bit programs.",
     AT(record.ring_bytes), NULL},
    {RECORDERS, 0, OPTION_MEMORY, "memory", "SIZE",
     "The memory in which events wait for a free processor that compresses them: 256M, 2G; at "
     "least "
     "1M. Beyond it they are written uncompressed. Default: 1G, or a quarter of the machine's "
     "memory if that is less.",
     AT(record.memory_bytes), NULL},
    {RECORDERS, 0, OPTION_MEMORY, "max-size", "SIZE",
     "Let the trace take at most SIZE on disk: 500M, 10G; at least 1M. It is cut into parts of an "
     "eighth of SIZE or less: FILE.1, FILE.2 and so on, and the newest is FILE. The oldest are "
     "removed. Each part is a trace of its own; views of FILE show all of them. Default: one file "
     "of any size.",
     AT(record.max_bytes), NULL},
    {RECORDERS, 0, OPTION_NUMBER, "trap-limit", "N",
     "Remove the breakpoint of a function that hits it more than N times within a second. Only "
     "functions without room for another patch, and that -F names in full, have breakpoints. "
     "Default: 5000.",
     AT(record.trap_limit), NULL},
    {RECORDERS | ONLY(EXPLAIN), 0, OPTION_CHOICE, "tier", NULL, NULL, AT(record.tier),
     "any|pad|jump|hop|pun|trap"},
    {RECORDERS | ONLY(EXPLAIN), 0, OPTION_CLEAR, "no-cache", NULL,
     "Plan all files anew, and keep no plans. Default: plans of files are kept in "
     "$XDG_CACHE_HOME/spoor, or ~/.cache/spoor, so that the next start is quick.",
     AT(record.cache), NULL},
    {RECORDERS | ONLY(EXPLAIN), 0, OPTION_BYTES, "cache-size", "SIZE",
     "Let the kept plans take at most SIZE; those that were used least recently go. Default: "
     "512M.",
     AT(record.cache_bytes), NULL},
    {RECORDERS, 'f', OPTION_SET, "follow", NULL,
     "Trace child processes too, across fork and exec. The default.", AT(record.follow), NULL},
    {RECORDERS, 0, OPTION_CLEAR, "no-follow", NULL,
     "Trace the first process only; its children run untraced.", AT(record.follow), NULL},
    {ONLY(ATTACH), 'p', OPTION_STRINGS, "pid", "PID",
     "A process to trace. It may be an operand instead. Repeatable; PIDs may have commas between "
     "them.",
     AT(pids), NULL},
    {ONLY(ATTACH), 0, OPTION_SET, "tree", NULL,
     "Trace the processes that descend from those that are named, too.", AT(tree), NULL},
    {RECORDERS, 0, OPTION_WAIT, "duration", "TIME",
     "Detach after TIME: 500ms, 2s; a plain number is seconds. A launched program runs on "
     "untraced, "
     "and record waits for its end. Default: detach when interrupted, or when all processes have "
     "ended.",
     AT(record.duration_ns), NULL},
    {RECORDERS, 0, OPTION_SET, "start-paused", NULL,
     "Record nothing until 'spoor ctl PID resume', with the PID that spoor then prints.",
     AT(record.start_paused), NULL},
    {ONLY(ATTACH), 0, OPTION_NUMBER, "events", "N",
     "Detach when about N events (entries and exits) have been recorded.", AT(record.events), NULL},
    {RECORDERS, 'q', OPTION_SET, "quiet", NULL, "Print errors only, no summary.", AT(quiet), NULL},
    {ONLY(EXPLAIN), 'v', OPTION_TALLY, "verbose", NULL,
     "List every function, not only the numbers of each tier and reason.", AT(verbose), NULL},
    {ONLY(DETACH), 'q', OPTION_SET, "quiet", NULL, "Print errors only.", AT(quiet), NULL},
    {RECORDERS, 'v', OPTION_TALLY, "verbose", NULL,
     "Print on standard error what spoor does. Twice: print more.", AT(verbose), NULL},

    {ONLY(REPLAY), 0, OPTION_SET, "stack", NULL,
     "Show the callers that record --stack has found below each entry.", AT(replay.stacks), NULL},
    {ONLY(REPLAY), 0, OPTION_SET, "time", NULL,
     "Begin each line with the time since the trace's start. --since and --until take such times.",
     AT(replay.time), NULL},
    {ONLY(REPLAY), 0, OPTION_CHOICES, "columns", "COLUMN,...",
     "Print these columns before the functions, in this order: duration, elapsed (since the "
     "trace's "
     "start, as --time), delta (since the thread's line before), tid, thread, process, module, "
     "depth, "
     "address (of the function, in its file) or line (where the function begins, if its debugging "
     "information is there). Default: duration,tid.",
     AT(replay.columns), REPLAY_COLUMNS},
    {ONLY(REPORT), 0, OPTION_CHOICE, "sort", "COLUMN",
     "Sort by COLUMN, largest first, names in alphabetical order: calls, total, self, min, max, "
     "p50, p99, unwound, cut, paused, avg, stdev, share, function, module, tier, line, process or "
     "group (the value of --group). "
     "Default: total.",
     AT(report.sort), COLUMNS},
    {ONLY(REPORT), 0, OPTION_SET, "ascending", NULL, "Sort numbers by --sort, smallest first.",
     AT(report.ascending), NULL},
    {ONLY(REPORT), 0, OPTION_NUMBER, "slowest", "N",
     "Print the N slowest single calls, longest first, each with the command that shows it. With "
     "-F: of these functions.",
     AT(report.slowest), NULL},
    {ONLY(REPORT), 0, OPTION_CHOICES, "columns", "COLUMN,...",
     "Print these columns in this order. Names are those of --sort. With process, each process has "
     "its own rows. Default: calls, total, self, "
     "min, max, p50, p99, function; cut if calls were cut; group with --group. On a terminal where "
     "names have no "
     "room, min, p50, p99 and max are left out in this order.",
     AT(report.columns), COLUMNS},
    {ONLY(REPORT) | ONLY(DIFF), 0, OPTION_NUMBER, "limit", "N", "Print the first N rows only.",
     AT(report.limit), NULL},
    {ONLY(DIFF), 0, OPTION_SET, "by-path", NULL,
     "Compare paths of calls: a function has a row for each chain of callers.", AT(diff.by_path),
     NULL},
    {ONLY(DIFF), 0, OPTION_CHOICE, "sort", "NUMBER",
     "Sort by the difference of NUMBER, the largest first, whatever its sign: calls, total, self, "
     "p50 or p99; function sorts by name. Default: total.",
     AT(diff.sort), "calls|total|self|p50|p99|function"},
    {ONLY(DIFF), 0, OPTION_CHOICES, "columns", "COLUMN,...",
     "Print these columns in this order: diff (the difference that rows are sorted by), change "
     "(the same as a share of the old number), calls, total, self, p50 and p99 (old and new), "
     "function, module. Default: diff, change, total, self, calls, p50, p99, function. On a "
     "terminal where names have no room, p50, p99, self, change and calls are left out in this "
     "order.",
     AT(diff.columns), DIFF_COLUMN_NAMES},
    {ONLY(REPORT), 0, OPTION_SET, "by-module", NULL, "Print one table for each module.",
     AT(report.by_module), NULL},
    {ONLY(REPORT), 0, OPTION_SET, "by-process", NULL, "Print one table for each process.",
     AT(report.by_process), NULL},
    {ONLY(REPORT), 0, OPTION_SET, "by-thread", NULL, "Print one table for each thread.",
     AT(report.by_thread), NULL},

    {ONLY(REPORT), 0, OPTION_SET, "stack", NULL,
     "Print a row for each function and each chain of callers that record --stack has found.",
     AT(report.by_stack), NULL},
    {ONLY(REPORT), 0, OPTION_STRING, "group", "EXPR",
     "Print a row for each function and each value of EXPR: an expression of C, as o->kind or ret, "
     "over recorded arguments or the result (record -a, -A, -R). PATTERN/EXPR/ does so for "
     "functions that match PATTERN. Values beyond the first 1000 share the row 'others'.",
     AT(report.group), NULL},

    {CALL_VIEWS | ONLY(VIEW), 0, OPTION_MOMENT, "since", "TIME",
     "Show calls that lasted until TIME or later, counted from the trace's start, as replay --time "
     "prints it; or N%: a part of the trace's duration. Their whole durations count.",
     AT(shown.since_ns), NULL},
    {CALL_VIEWS | ONLY(VIEW), 0, OPTION_MOMENT, "until", "TIME",
     "Show calls that began at TIME, or N%, or earlier. Their whole durations count.",
     AT(shown.until_ns), NULL},
    {CALL_VIEWS | ONLY(VIEW), 0, OPTION_NUMBER, "tid", "TID", "Show only the thread TID.",
     AT(shown.tid), NULL},
    {CALL_VIEWS | ONLY(VIEW), 0, OPTION_NUMBER, "pid", "PID", "Show only the process PID.",
     AT(shown.pid), NULL},
    {CALL_VIEWS | ONLY(VIEW), 0, OPTION_STRINGS, "process", "NAME",
     "Show only processes whose program was started by the file name NAME, a glob. Repeatable.",
     AT(shown.processes), NULL},
    {ONLY(UNWIND), 0, OPTION_STRING, "regs", "NAME=VALUE,...",
     "The registers: at least pc and sp. Some stacks need more. Hexadecimal values begin with 0x.",
     AT(image.registers), NULL},
    {ONLY(UNWIND), 0, OPTION_STRINGS, "stack", "FILE",
     "The dump of the stack. It begins at the stack pointer or below; - is standard input. Its "
     "form is raw bytes, Intel HEX, or hexadecimal text of gdb (x/64xw $sp), xxd, hexdump or a "
     "fault handler. Repeatable.",
     AT(image.stacks), NULL},
    {ONLY(UNWIND), 0, OPTION_ADDRESS, "stack-base", "ADDR",
     "The dump's first byte was at ADDR. Default: the addresses in its lines; if there are none, "
     "or they count from 0, the stack pointer.",
     AT(image.stack_base), NULL},
    {ONLY(SYMBOLIZE) | ONLY(UNWIND), 0, OPTION_ADDRESS, "base", "ADDR",
     "The image is loaded at ADDR (its lowest page, as maps show it). Default: its link address.",
     AT(image.base), NULL},
    {ONLY(SYMBOLIZE), 'r', OPTION_SET, "return", NULL,
     "Take all addresses for return addresses: show the calls, not the code after them. In a log, "
     "addresses behind #1, #2 and so on, and behind lr, x30 and r14, are return addresses anyway.",
     AT(image.returns), NULL},

    {ONLY(VIEW), 0, OPTION_NUMBER, "port", "N",
     "Serve the page at port N of 127.0.0.1. Default: any free port.", AT(page.port), NULL},
    {ONLY(VIEW), 0, OPTION_SET, "no-open", NULL, "Open no browser: only print the page's address.",
     AT(page.no_open), NULL},
    {ONLY(VIEW), 0, OPTION_SET, "stay", NULL,
     "Serve until interrupted. Default: end also a minute after the last page was closed.",
     AT(page.stay), NULL},
    {ONLY(VIEW), 0, OPTION_STRING, "html", "FILE",
     "Write the page with its data to FILE, which any browser opens, without spoor and without a "
     "network; and do not serve. It has all calls if they fit into 20 MB, else the longer ones.",
     AT(page.html), NULL},
    {ONLY(VIEW), 0, OPTION_SET, "values", NULL,
     "With --html: write the arguments and results that were recorded (record -a, -A, -R), too, of "
     "the calls that are listed: they may be secret. Default: the file has none.",
     AT(page.values), NULL},
    {ONLY(VIEW), 0, OPTION_WAIT, "linger", "TIME", NULL, AT(page.linger_ns), NULL},

    {ONLY(REPLAY) | ONLY(REPORT), 0, OPTION_SET, "follow", NULL,
     "Show a recording while it goes on: what is new, or the whole table again and again. Ends "
     "with "
     "the recording.",
     AT(view.follow), NULL},
    {TABLES | ONLY(SYMBOLIZE) | ONLY(UNWIND) | ONLY(CTF), 0, OPTION_SET, "json", NULL,
     "Print JSON.", AT(view.json), NULL},
    {TABLES, 0, OPTION_CHOICE, "color", NULL,
     "Use colour. Default: auto, that is on a terminal unless NO_COLOR is set.", AT(view.color),
     "auto|always|never"},
    {TABLES | ONLY(EXPORT) | ONLY(SYMBOLIZE) | ONLY(UNWIND), 0, OPTION_CHOICE, "names", NULL,
     "How functions are named: short (template arguments and parameters of more than 40 columns "
     "are <...> and (...), with an ellipsis), full, or mangled (as in the symbol table). JSON has "
     "full names, and so have all formats of export but folded. With full and mangled no line is "
     "cut to the terminal's width. Default: short on a terminal, else full.",
     AT(view.names), "short|full|mangled"},
    {TABLES, 0, OPTION_SET, "no-pager", NULL,
     "Do not start a pager ($PAGER, else less) on a terminal.", AT(view.no_pager), NULL},
    {0, 0, OPTION_SET, NULL, NULL, NULL, 0, NULL},
};
