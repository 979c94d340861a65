/*
 * Commands and options as tables: table.c is the only place that lists them. Parsing, --help, the
 * manual pages and shell completion are all made from it.
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
    COMMAND_INFO,
    COMMAND_EXPORT,
    COMMAND_EXPLAIN,
    COMMAND_SYMBOLIZE,
    COMMAND_UNWIND,
    COMMAND_COUNT
};

/* How spoor ends. record passes on the traced program's status instead of STATUS_OK. */
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
    const char *operands; /* as the synopsis shows them */
    const char *summary;  /* one line, no full stop */
    int usage_status;     /* for wrong usage */
    const char *needs;    /* what its required operand is called; NULL: none is required */
    int most;             /* operands; < 0: any number, options end at the first */
};

extern const struct command commands[COMMAND_COUNT];

enum option_type {                 /* the first three take no value */
                   OPTION_SET,     /* bool: true */
                   OPTION_CLEAR,   /* bool: false */
                   OPTION_TALLY,   /* uint32_t: how often it was given */
                   OPTION_NUMBER,  /* uint32_t, from 1 */
                   OPTION_STRING,  /* const char * */
                   OPTION_ADDRESS, /* uint64_t: hexadecimal */
                   OPTION_SIZE,    /* uint64_t bytes: 64K, 1M; a power of two is made of it */
                   OPTION_TIME,    /* uint64_t ns: 10us, 1.5ms, 2s */
                   OPTION_WAIT,    /* uint64_t ns, not 0: 500ms, 2s; 2 is 2s */
                   OPTION_CHOICE,  /* an enum, numbered as in choices */
                   OPTION_CHOICES, /* ARRAY(unsigned char) of such numbers, separated by commas */
                   OPTION_STRINGS, /* ARRAY(const char *), one each time it is given */
                   OPTION_FILTER,  /* struct filter: adds to what its letter says */
                   OPTION_TRIGGER, /* trigger_list, one each time it is given */
                   OPTION_STACKS,  /* struct stack_options; its value may be missing */
};

struct option_spec {
    unsigned commands; /* bit set of 1 << enum command_id */
    char letter;       /* 0: none */
    enum option_type type;
    const char *name;
    const char *value;   /* what --help calls its value; NULL: takes none */
    const char *help;    /* NULL: for tests, not shown to users */
    size_t offset;       /* of the value in struct options */
    const char *choices; /* "a|b|c"; NULL: none */
};

/* Ends with name == NULL. A name or letter may stand in several rows, for different commands. */
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

/*
 * Each command is one file, CMD.c. ARGV holds ARGC operands and a NULL; their number has been
 * checked. Returns spoor's exit status.
 */
int cmd_attach(struct options *options, int argc, char **argv);
int cmd_ctl(struct options *options, int argc, char **argv);
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
