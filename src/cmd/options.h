/*
 * What the command line says, as values; filled by options_parse() from the one option table
 * (table.c). A member that belongs to an option its command does not take keeps its default.
 */
#ifndef SPOOR_CMD_OPTIONS_H
#define SPOOR_CMD_OPTIONS_H

#include "base/err.h"
#include "base/glob.h"
#include "base/mem.h"
#include "base/types.h"
#include "plan/plan.h"
#include "record/session.h"
#include "wire/ring.h"

typedef ARRAY(const struct pattern *) pattern_array;
typedef ARRAY(const char *) string_array;
typedef ARRAY(unsigned char) choice_array;
typedef ARRAY(struct trigger) trigger_array;

/* Whose callers, and how many. */
struct stack_options {
    uint32_t frames;       /* 0: none */
    pattern_array filters; /* none: of all functions */
};
enum { STACK_FRAMES = 32, STACK_FRAMES_MOST = 1000 };

/* Which functions and calls. */
struct filter_options {
    pattern_array filters;  /* -F; none: all */
    pattern_array excludes; /* -N */
    string_array modules;   /* -M: globs on a module's file name */
    bool libcalls;
    uint32_t depth;        /* -D; 0: no limit */
    uint64_t threshold_ns; /* -t; 0: none */
};

/* record and attach */
struct record_options {
    const char *output;          /* -o */
    enum overflow overflow;      /* --overflow; default by command */
    trigger_array triggers;      /* --trigger */
    struct stack_options stacks; /* --stack */
    uint32_t snapshot_limit;     /* --snapshots */
    uint64_t snapshot_gap_ns;
    uint64_t ring_bytes;  /* --buffer: a power of two, 4 KiB to 1 GiB; 0: the default */
    uint64_t duration_ns; /* --duration; 0: until interrupted */
    uint32_t events;      /* --events; 0: no limit */
    uint32_t pid;         /* -p; 0: not given */
    bool follow;          /* default true */
    bool quiet;
    uint32_t verbose; /* how often -v was given */
    uint32_t trap_limit;
    enum tier tier; /* --tier: the only one; TIER_NONE: any */
};

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Every view. */
struct view_options {
    bool json;
    bool no_pager;
    enum color_when color;
    uint64_t since_ns; /* since the trace's start */
    uint64_t until_ns; /* UINT64_MAX: to the end */
    uint32_t tid;      /* 0: all threads */
};

/* Columns of report, in the order of --columns' choices in table.c. */
enum report_column {
    REPORT_CALLS,
    REPORT_TOTAL,
    REPORT_SELF,
    REPORT_MIN,
    REPORT_MAX,
    REPORT_P50,
    REPORT_P99,
    REPORT_UNWOUND,
    REPORT_SHARE,
    REPORT_FUNCTION,
    REPORT_MODULE,
    REPORT_TIER,
    REPORT_COLUMNS
};

struct report_options {
    enum report_column sort; /* default REPORT_TOTAL */
    choice_array columns;    /* enum report_column, as typed; none: the default */
    uint32_t limit;          /* 0: all rows */
    bool by_module, by_thread;
    bool by_stack; /* rows are of functions and their callers */
};

struct replay_options {
    bool time;   /* a column of time stamps */
    bool stacks; /* callers, where they were recorded */
};

enum export_format { EXPORT_CHROME, EXPORT_FOLDED, EXPORT_CSV, EXPORT_JSON };

struct export_options {
    enum export_format format;
    const char *output; /* NULL: standard output */
};

/* symbolize and unwind */
struct image_options {
    uint64_t base; /* where the image is loaded; NO_BASE: where it was linked to */
    bool returns;  /* all addresses are return addresses */
    const char *registers;
    string_array stacks; /* files */
    uint64_t stack_base; /* NO_BASE: not given */
};
#define NO_BASE UINT64_MAX

struct options {
    struct filter_options filter;
    struct record_options record;
    struct view_options view;
    struct report_options report;
    struct replay_options replay;
    struct export_options export;
    struct image_options image;
    bool help; /* --help was met: nothing after it was read */
};

struct command;

void options_init(struct options *options);
/* Also of half-parsed options. Strings belong to argv. */
void options_done(struct options *options);

/*
 * Parses the NULL-terminated ARGV[1..] for COMMAND into OPTIONS, which options_init() made. Options
 * and operands may mix, except for commands that start a program, where the first operand ends the
 * options; "--" always does. The operands are moved to the front of ARGV[1..]: *ret_count of them,
 * NULL-terminated.
 *
 * Errors, EINVAL: "unknown-option" (with the nearest one), "missing-value", "unexpected-value",
 * "bad-value", "bad-pattern", "contradiction".
 */
int options_parse(const struct command *command, char **argv, struct options *options,
                  int *ret_count, struct err *err);

#endif
