/*
 * Commands and options as tables. Only table.c lists them: parsing, --help, the manual pages and
 * shell completion are all made from it.
 */
#pragma once

#include "cmd/options.h"

enum command_id {
    COMMAND_RECORD,
    COMMAND_ATTACH,
    COMMAND_CTL,
    COMMAND_DETACH,
    COMMAND_REPLAY,
    COMMAND_REPORT,
    COMMAND_GRAPH,
    COMMAND_DIFF,
    COMMAND_INFO,
    COMMAND_VIEW,
    COMMAND_EXPORT,
    COMMAND_EXPLAIN,
    COMMAND_SYMBOLIZE,
    COMMAND_UNWIND,
    COMMAND_CTF,
    COMMAND_COUNT
};

/* spoor's exit status. In place of STATUS_OK, record passes on the status of the program. */
enum {
    STATUS_OK = 0,
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,
    STATUS_RECORD_FAILED = 125, /* spoor record: spoor itself failed, or wrong usage */
    STATUS_NOT_EXECUTABLE = 126,
    STATUS_NOT_FOUND = 127,
};

struct command {
    const char *name;
    const char *operands; /* as in the synopsis */
    const char *summary;  /* one line, no full stop */
    int usage_status;     /* exit status for wrong usage */
    const char *needs;    /* the name of the required operand; NULL: none is required */
    int most;             /* most operands; < 0: any number, and the first one ends the options */
};

extern const struct command commands[COMMAND_COUNT];

enum option_type {                  /* the first three take no value */
                   OPTION_SET,      /* bool: true */
                   OPTION_CLEAR,    /* bool: false */
                   OPTION_TALLY,    /* uint32_t: how often it was given */
                   OPTION_NUMBER,   /* uint32_t, from 1 */
                   OPTION_LENGTH,   /* uint32_t, bytes of a text: from 1 to CAPTURE_MOST_STRING */
                   OPTION_STRING,   /* const char * */
                   OPTION_ADDRESS,  /* uint64_t: hexadecimal */
                   OPTION_SIZE,     /* uint64_t bytes: 64K, 1M; rounded up to a power of two */
                   OPTION_MEMORY,   /* uint64_t bytes, from 1M: 64M, 2G */
                   OPTION_BYTES,    /* uint64_t bytes: 64K, 1M; as they are */
                   OPTION_TIME,     /* uint64_t ns: 10us, 1.5ms, 2s */
                   OPTION_MOMENT,   /* the same, or 12.5%: VIEW_PERCENT + millionths of a percent */
                   OPTION_WAIT,     /* uint64_t ns, not 0: 500ms, 2s; 2 is 2s */
                   OPTION_CHOICE,   /* an enum, numbered as in choices */
                   OPTION_CHOICES,  /* ARRAY(unsigned char) of such numbers; typed with commas */
                   OPTION_STRINGS,  /* ARRAY(const char *); repeatable */
                   OPTION_FILTER,   /* struct filter; the letter says what is added: F, N, M; none:
                                       --usdt */
                   OPTION_PATTERNS, /* pattern_list; repeatable */
                   OPTION_CONDITION, /* condition_texts; repeatable */
                   OPTION_TRIGGER,   /* trigger_list; repeatable */
                   OPTION_STACKS,    /* struct stack_options; the value is optional */
};

struct option_spec {
    unsigned commands; /* bit set of 1 << enum command_id */
    char letter;       /* 0: none */
    enum option_type type;
    const char *name;
    const char *value;   /* the name of its value in --help; NULL: none, or choices */
    const char *help;    /* NULL: hidden, for tests */
    size_t offset;       /* of its member in struct options */
    const char *choices; /* "a|b|c"; NULL: none */
};

/* Ends with name == NULL. Several rows may have the same name or letter, for different commands. */
extern const struct option_spec option_table[];

static inline enum command_id command_id(const struct command *command) {
    return (enum command_id)(command - commands);
}
static inline bool option_belongs(const struct option_spec *o, const struct command *command) {
    return o->commands >> command_id(command) & 1;
}
static inline bool option_is_shown(const struct option_spec *o, const struct command *command) {
    return option_belongs(o, command) && o->help;
}
static inline bool option_needs_value(const struct option_spec *o) {
    return o->type > OPTION_TALLY && o->type != OPTION_STACKS;
}
static inline bool option_takes_value(const struct option_spec *o) {
    return o->type > OPTION_TALLY;
}

/* Each command is one file, COMMAND.c. ARGV holds ARGC operands and a NULL; the caller has checked
 * their number. Returns spoor's exit status. */
int cmd_attach(struct options *options, int argc, char **argv);
int cmd_ctl(struct options *options, int argc, char **argv);
int cmd_ctf(struct options *options, int argc, char **argv);
int cmd_diff(struct options *options, int argc, char **argv);
int cmd_detach(struct options *options, int argc, char **argv);
int cmd_explain(struct options *options, int argc, char **argv);
int cmd_export(struct options *options, int argc, char **argv);
int cmd_graph(struct options *options, int argc, char **argv);
int cmd_info(struct options *options, int argc, char **argv);
int cmd_record(struct options *options, int argc, char **argv);
int cmd_replay(struct options *options, int argc, char **argv);
int cmd_report(struct options *options, int argc, char **argv);
int cmd_symbolize(struct options *options, int argc, char **argv);
int cmd_unwind(struct options *options, int argc, char **argv);
int cmd_view(struct options *options, int argc, char **argv);
