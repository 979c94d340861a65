/*
 * What the command line says, as values; filled by options_parse() from the one option table
 * (table.c). A member that belongs to an option its command does not take keeps its default.
 */
#pragma once

#include "analyze/view_filter.h"
#include "select/options.h"

typedef ARRAY(const char *) string_array;
typedef ARRAY(unsigned char) choice_array;

enum { STACK_FRAMES = 32, STACK_FRAMES_MOST = 1000 }; /* --stack: the default, and the most */

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Every view. */
struct view_options {
    bool json;
    bool no_pager;
    enum color_when color;
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
    struct record_options record; /* record and attach; ctl: filter only; explain: tier only */
    struct view_spec shown;       /* views; explain: its -F only */
    struct view_options view;
    struct report_options report;
    struct replay_options replay;
    struct export_options export;
    struct image_options image;
    uint32_t pid;     /* attach -p; 0: not given */
    uint32_t verbose; /* how often -v was given */
    bool quiet;
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
