/*
 * The values of the command line. options_parse() fills them by the option table (table.c). A
 * member keeps its default if the command does not have its option.
 */
#pragma once

#include "analyze/compare.h"
#include "analyze/view_filter.h"
#include "select/options.h"

typedef ARRAY(const char *) string_array;
typedef ARRAY(unsigned char) choice_array;

enum { STACK_FRAMES = 32, STACK_FRAMES_MOST = 1000 }; /* callers with --stack: default, limit */

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
/* How functions are named; the default is short on a terminal, else full. */
enum names_form { NAMES_SHORT, NAMES_FULL, NAMES_MANGLED, NAMES_DEFAULT };

/* Options of every view. */
struct view_options {
    bool json;
    bool no_pager;
    bool follow; /* the recording goes on */
    enum color_when color;
    enum names_form names;
};

/* Columns of report, in the order of COLUMNS in table.c. */
enum report_column {
    REPORT_CALLS,
    REPORT_TOTAL,
    REPORT_SELF,
    REPORT_MIN,
    REPORT_MAX,
    REPORT_P50,
    REPORT_P99,
    REPORT_UNWOUND,
    REPORT_CUT,
    REPORT_PAUSED,
    REPORT_AVG,
    REPORT_STDEV,
    REPORT_SHARE,
    REPORT_FUNCTION,
    REPORT_MODULE,
    REPORT_TIER,
    REPORT_LINE,
    REPORT_PROCESS,
    REPORT_GROUP,
    REPORT_COLUMNS
};

struct report_options {
    enum report_column sort; /* default REPORT_TOTAL */
    choice_array columns;    /* enum report_column; empty: the default */
    uint32_t limit;          /* 0: all rows */
    bool ascending;          /* the smallest number first */
    uint32_t slowest;        /* so many calls in place of the table; 0: the table */
    bool by_module, by_thread, by_process;
    bool by_stack;     /* a row for each function and chain of callers */
    const char *group; /* EXPR or PATTERN/EXPR/: a row for each value; NULL: not given */
};

/* Columns of diff, in the order of DIFF_COLUMN_NAMES in table.c. From DIFF_CALLS on, in that of
 * enum compare_number. */
enum diff_column {
    DIFF_DIFF,
    DIFF_CHANGE,
    DIFF_CALLS,
    DIFF_TOTAL,
    DIFF_SELF,
    DIFF_P50,
    DIFF_P99,
    DIFF_FUNCTION,
    DIFF_MODULE,
    DIFF_COLUMNS
};

struct diff_options {
    enum compare_number sort; /* default COMPARE_TOTAL; COMPARE_NUMBERS: by name */
    choice_array columns;     /* enum diff_column; empty: the default */
    bool by_path;
};

/* Columns of replay, in the order of REPLAY_COLUMNS in table.c. */
enum replay_column {
    REPLAY_DURATION,
    REPLAY_ELAPSED,
    REPLAY_DELTA,
    REPLAY_TID,
    REPLAY_THREAD,
    REPLAY_PROCESS,
    REPLAY_MODULE,
    REPLAY_DEPTH,
    REPLAY_ADDRESS,
    REPLAY_LINE,
    REPLAY_COLUMN_COUNT
};

struct replay_options {
    choice_array columns; /* enum replay_column; empty: duration and tid */
    bool time;            /* a column of time stamps */
    bool stacks;          /* recorded callers below each entry */
};

/* In the order of the choices in table.c. */
enum export_format {
    EXPORT_CHROME,
    EXPORT_FOLDED,
    EXPORT_CSV,
    EXPORT_JSON,
    EXPORT_SPOOR,
    EXPORT_CALLGRIND,
    EXPORT_PERFETTO,
    EXPORT_PPROF,
    EXPORT_CTF,
    EXPORT_SPEEDSCOPE,
    EXPORT_FIREFOX,
    EXPORT_PARQUET
};

struct export_options {
    enum export_format format;
    const char *output; /* NULL: standard output */
    const char *host;   /* NULL: not given */
    bool values;        /* recorded values are written, too */
};

/* Options of symbolize and unwind. */
struct image_options {
    uint64_t base; /* the address of the loaded image; NO_BASE: its link address */
    bool returns;  /* all addresses are return addresses */
    const char *registers;
    string_array stacks; /* names of files */
    uint64_t stack_base; /* NO_BASE: not given */
};
#define NO_BASE UINT64_MAX

/* Options of view. */
struct page_options {
    uint32_t port; /* 0: any free one */
    bool no_open, stay;
    const char *html;   /* write this file, and do not serve; or NULL */
    bool values;        /* the file has recorded values, too */
    uint64_t linger_ns; /* the server ends so long after the last page was closed */
};

/* A time that was given without a unit, and what it was taken for. */
struct plain_time {
    const char *option, *value;
    uint64_t ns;
};

struct options {
    struct record_options record; /* record and attach; ctl: filter only; explain: tier only */
    struct view_spec shown;       /* views; explain: -F only */
    struct view_options view;
    struct report_options report;
    struct replay_options replay;
    struct diff_options diff; /* its --limit is that of report */
    struct export_options export;
    struct image_options image;
    struct page_options page;
    char **given;      /* the arguments as they were typed */
    string_array pids; /* attach -p */
    bool tree;         /* attach --tree */
    uint32_t verbose;  /* how often -v was given */
    bool quiet;
    ARRAY(struct plain_time) plain_times; /* other than 0 */
    bool help;                            /* --help was read; parsing ended there */
};

struct command;

void options_init(struct options *options);
/* Frees OPTIONS, also after a parse error. Strings belong to argv. */
void options_done(struct options *options);

/*
 * Parses the NULL-terminated ARGV[1..] for COMMAND into OPTIONS, which options_init() has filled.
 * Operands may stand between options. "--" ends the options; so does the first operand of a command
 * that starts a program. Moves the operands to the front of ARGV[1..]: *RET_COUNT of them and NULL.
 *
 * Errors, EINVAL: "unknown-option" (names the most similar one), "missing-value",
 * "unexpected-value", "bad-value", "bad-pattern", "contradiction".
 */
int options_parse(const struct command *command, char **argv, struct options *options,
                  int *ret_count, struct err *err);
