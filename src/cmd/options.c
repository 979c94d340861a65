/* Parses command lines. The parser knows types of options (command.h); table.c has the options. */
#include "cmd/options.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/near.h"
#include "cmd/command.h"
#include "cmd/trigger.h"
#include "cmd/values.h"
#include "values/condition.h"
#include "values/formats.h"
#include "values/operands.h"

enum { MEMORY_LEAST = 1 << 20 };
enum {
    RING_LEAST = 4 << 10,
    RING_MOST = 1 << 30,
    TRAP_LIMIT = 5000,
    SNAPSHOTS = 100,
    STRING_BYTES = 64
};
static const uint64_t CACHE_BYTES = 512 << 20;
static const uint64_t LINGER_NS = 60000000000;
static const uint64_t SNAPSHOT_GAP_NS = 100 * 1000 * 1000;
static const char DEFAULT_TRACE[] = "spoor.trace";
static const enum overflow NOT_GIVEN = (enum overflow)7; /* there was no --overflow */

void options_init(struct options *options) {
    *options = (struct options){0};
    options->record.output = DEFAULT_TRACE;
    options->record.follow = true;
    options->record.cache = true;
    options->record.cache_bytes = CACHE_BYTES;
    options->record.trap_limit = TRAP_LIMIT;
    options->record.snapshot_limit = SNAPSHOTS;
    options->record.strings = STRING_BYTES;
    options->record.snapshot_gap_ns = SNAPSHOT_GAP_NS;
    options->report.sort = REPORT_TOTAL;
    options->diff.sort = COMPARE_TOTAL;
    options->shown.until_ns = UINT64_MAX;
    options->view.names = NAMES_DEFAULT;
    options->page.linger_ns = LINGER_NS;
    options->image.base = options->image.stack_base = NO_BASE;
}

void options_done(struct options *options) {
    struct record_options *record = &options->record;
    for (size_t i = 0; i < record->triggers.count; i++)
        filter_done(&record->triggers.at[i].filter);
    for (size_t i = 0; i < record->during.count; i++)
        filter_done(&record->during.at[i].filter);
    formats_free(record->formats);
    ARRAY_FREE(&record->during);
    ARRAY_FREE(&record->triggers);
    filter_done(&record->stacks.filter);
    filter_done(&record->filter);
    filter_done(&options->shown.filter);
    ARRAY_FREE(&options->pids);
    patterns_done(&options->shown.ways);
    patterns_done(&options->shown.hidden);
    ARRAY_FREE(&options->shown.processes);
    ARRAY_FREE(&options->report.columns);
    ARRAY_FREE(&options->replay.columns);
    ARRAY_FREE(&options->diff.columns);
    ARRAY_FREE(&options->image.stacks);
    ARRAY_FREE(&options->plain_times);
}

/* ---- values ---- */

static int bad_value(const struct option_spec *o, const char *value, const char *wanted,
                     struct err *err) {
    return err_set(err, EINVAL, "bad-value", "option '--%s': '%s' is not %s", o->name, value,
                   wanted);
}

static int bad_choice(const struct option_spec *o, const char *value, size_t length,
                      struct err *err) {
    return err_set(err, EINVAL, "bad-value", "option '--%s': '%.*s' is not one of %s", o->name,
                   (int)length, value, o->choices);
}

/* Rounds up to a power of two: the kernel maps whole pages, and stubs mask offsets. */
static bool ring_size(const char *value, uint64_t *ret_bytes) {
    uint64_t wanted, bytes = RING_LEAST;
    if (!value_size(value, &wanted) || wanted == 0 || wanted > RING_MOST)
        return false;
    while (bytes < wanted)
        bytes *= 2;
    *ret_bytes = bytes;
    return true;
}

static bool memory_size(const char *value, uint64_t *ret_bytes) {
    uint64_t bytes;
    if (!value_size(value, &bytes) || bytes < MEMORY_LEAST)
        return false;
    *ret_bytes = bytes;
    return true;
}

static int add_choices(const struct option_spec *o, const char *value, choice_array *array,
                       struct err *err) {
    for (;; value++) {
        size_t length = strcspn(value, ",");
        int choice = value_choice(value, length, o->choices);
        if (choice < 0)
            return bad_choice(o, value, length, err);
        ARRAY_PUSH(array, (unsigned char)choice);
        value += length;
        if (!*value)
            return 0;
    }
}

static int add_trigger(struct options *options, const struct option_spec *o, const char *value,
                       struct err *err) {
    struct trigger trigger;
    int rc = trigger_parse(value, &trigger, err);
    if (rc < 0)
        return rc;
    trigger_list *list = (trigger_list *)((char *)options + o->offset);
    ARRAY_PUSH(list, trigger);
    if (trigger.longer_ns && isdigit((unsigned char)value[strlen(value) - 1]))
        ARRAY_PUSH(&options->plain_times, ((struct plain_time){o->name, value, trigger.longer_ns}));
    return 0;
}

/* VALUE is a number of callers, or a pattern for functions. NULL: neither was given. */
static int add_stacks(const struct option_spec *o, const char *value, struct stack_options *at,
                      struct err *err) {
    uint32_t frames = at->frames ? at->frames : STACK_FRAMES;
    if (value && isdigit((unsigned char)*value)) {
        if (!value_number(value, &frames) || frames > STACK_FRAMES_MOST)
            return bad_value(o, value, "a number from 1 to 1000, nor a pattern", err);
    } else if (value) {
        int rc = filter_add(&at->filter, 'F', value, err);
        if (rc < 0)
            return rc;
    }
    at->frames = frames;
    return 0;
}

static void store_flag(struct options *options, const struct option_spec *o) {
    void *at = (char *)options + o->offset;
    if (o->type == OPTION_TALLY)
        ++*(uint32_t *)at;
    else
        *(bool *)at = o->type == OPTION_SET;
}

static int store_choice(const struct option_spec *o, const char *value, unsigned *at,
                        struct err *err) {
    int choice = value_choice(value, strlen(value), o->choices);
    if (choice < 0)
        return bad_choice(o, value, strlen(value), err);
    *at = (unsigned)choice;
    return 0;
}

static int store_time(struct options *options, const struct option_spec *o, const char *value,
                      struct err *err) {
    uint64_t *at = (uint64_t *)((char *)options + o->offset);
    if (o->type == OPTION_TIME && !value_time(value, at))
        return bad_value(o, value, "a time, like 10us, 1.5ms or 2s", err);
    if (o->type == OPTION_MOMENT && value_percent(value, at)) {
        *at += VIEW_PERCENT;
        return 0;
    }
    if (o->type == OPTION_MOMENT && !value_time(value, at))
        return bad_value(o, value, "a time, like 10us, 1.5ms or 2s, or a part, like 99%", err);
    if (o->type == OPTION_WAIT && !value_wait(value, at))
        return bad_value(o, value, "a time to wait, like 500ms or 2s", err);
    if (value_is_plain(value) && *at)
        ARRAY_PUSH(&options->plain_times, ((struct plain_time){o->name, value, *at}));
    return 0;
}

/* A condition is checked as far as that takes no types. */
static int check_condition(const char *value, struct err *err) {
    AUTO_FREE char *pattern = NULL;
    const char *text;
    struct condition *condition = NULL;
    int rc = condition_split(value, &pattern, &text, err);
    rc = rc ? rc : condition_parse(text, &condition, err);
    condition_free(condition);
    return rc;
}

static int add_condition(condition_texts *list, const char *value, struct err *err) {
    int rc = check_condition(value, err);
    if (rc == 0)
        ARRAY_PUSH(list, value);
    return rc;
}

static int add_probe(struct filter *filter, const char *value, struct err *err) {
    const char *at = strrchr(value, '@');
    int rc = at ? operands_check_spec(at + 1, err) : 0;
    return rc < 0 ? rc : filter_add(filter, 'U', value, err);
}

/* Of -A and -R the SPEC is checked as far as that takes no types. */
static int add_to_filter(struct filter *filter, const struct option_spec *o, const char *value,
                         struct err *err) {
    const bool where = strcmp(o->name, "where") == 0;
    if (where) {
        int rc = check_condition(value, err);
        return rc ? rc : filter_add(filter, 'W', value, err);
    }
    if (strcmp(o->name, "usdt") == 0)
        return add_probe(filter, value, err);
    const bool captures = o->letter == 'A' || o->letter == 'R';
    const char *at = captures ? strrchr(value, '@') : NULL;
    struct spec spec;
    int rc = at ? spec_parse(at + 1, &spec, err) : 0;
    if (rc < 0)
        return rc;
    if (at)
        spec_done(&spec);
    return filter_add(filter, o->letter, value, err);
}

static int store_value(struct options *options, const struct option_spec *o, const char *value,
                       struct err *err) {
    void *at = (char *)options + o->offset;
    switch (o->type) {
    case OPTION_NUMBER:
        return value_number(value, at) ? 0 : bad_value(o, value, "a number from 1 on", err);
    case OPTION_LENGTH:
        return value_number(value, at) && *(uint32_t *)at <= CAPTURE_MOST_STRING
                   ? 0
                   : bad_value(o, value, "a number of bytes from 1 to 4096", err);
    case OPTION_SIZE:
        return ring_size(value, at) ? 0 : bad_value(o, value, "a size up to 1G, like 64K", err);
    case OPTION_MEMORY:
        return memory_size(value, at) ? 0 : bad_value(o, value, "a size from 1M on, like 2G", err);
    case OPTION_BYTES:
        return value_size(value, at) && *(uint64_t *)at
                   ? 0
                   : bad_value(o, value, "a size, like 512M", err);
    case OPTION_ADDRESS:
        return value_address(value, at) ? 0
                                        : bad_value(o, value, "an address, like 0x8000000", err);
    case OPTION_TIME:
    case OPTION_MOMENT:
    case OPTION_WAIT:
        return store_time(options, o, value, err);
    case OPTION_STRING:
        *(const char **)at = value;
        return *value ? 0 : bad_value(o, value, "a name", err);
    case OPTION_CHOICE:
        return store_choice(o, value, at, err);
    case OPTION_CHOICES:
        return add_choices(o, value, at, err);
    case OPTION_STRINGS:
        ARRAY_PUSH((string_array *)at, value);
        return 0;
    case OPTION_FILTER:
        return add_to_filter(at, o, value, err);
    case OPTION_PATTERNS:
        return patterns_add(at, value, err);
    case OPTION_CONDITION:
        return add_condition(at, value, err);
    case OPTION_TRIGGER:
        return add_trigger(options, o, value, err);
    case OPTION_STACKS:
        return add_stacks(o, value, at, err);
    default:
        __builtin_unreachable();
    }
}

/* ---- names ---- */

static const struct option_spec *find_letter(const struct command *command, char letter) {
    for (const struct option_spec *o = option_table; o->name; o++)
        if (option_belongs(o, command) && o->letter == letter)
            return o;
    return NULL;
}

static const struct option_spec *find_name(const struct command *command, const char *name,
                                           size_t length) {
    for (const struct option_spec *o = option_table; o->name; o++)
        if (option_belongs(o, command) && strlen(o->name) == length &&
            memcmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

static int unknown_name(const struct command *command, const char *name, size_t length,
                        struct err *err) {
    AUTO_FREE char *typed = mem_printf("%.*s", (int)length, name);
    const char *nearest = "help";
    unsigned best = near_distance(typed, nearest);
    for (const struct option_spec *o = option_table; o->name; o++) {
        unsigned distance = near_distance(typed, o->name);
        if (option_is_shown(o, command) && distance < best) {
            best = distance;
            nearest = o->name;
        }
    }
    if (best > length / 3 + 1)
        return err_set(err, EINVAL, "unknown-option", "unknown option '--%s'", typed);
    return err_set(err, EINVAL, "unknown-option", "unknown option '--%s' (did you mean '--%s'?)",
                   typed, nearest);
}

/* ---- arguments ---- */

struct parser {
    const struct command *command;
    struct options *options;
    char **next; /* the next argument */
};

static int missing_value(const struct option_spec *o, struct err *err) {
    return err_set(err, EINVAL, "missing-value", "option '--%s' needs a value (%s)", o->name,
                   o->value ? o->value : o->choices);
}

static int unexpected_value(const struct option_spec *o, struct err *err) {
    return err_set(err, EINVAL, "unexpected-value", "option '--%s' takes no value", o->name);
}

/* ARG is "--name" or "--name=value". */
static int parse_long(struct parser *parser, const char *arg, struct err *err) {
    const char *name = arg + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    if (strcmp(name, "help") == 0) {
        parser->options->help = true;
        return 0;
    }
    const struct option_spec *o = find_name(parser->command, name, length);
    if (!o)
        return unknown_name(parser->command, name, length, err);
    if (!option_takes_value(o)) {
        store_flag(parser->options, o);
        return equals ? unexpected_value(o, err) : 0;
    }
    const char *value = equals ? equals + 1 : *parser->next;
    if (!equals && !option_needs_value(o))
        return store_value(parser->options, o, NULL, err);
    if (!value)
        return missing_value(o, err);
    parser->next += !equals;
    return store_value(parser->options, o, value, err);
}

/* ARG is letters, "-abc". The value of a letter is the rest of ARG, or the next argument. */
static int parse_letters(struct parser *parser, const char *arg, struct err *err) {
    for (const char *p = arg + 1; *p; p++) {
        if (*p == 'h') {
            parser->options->help = true;
            return 0;
        }
        const struct option_spec *o = find_letter(parser->command, *p);
        if (!o)
            return err_set(err, EINVAL, "unknown-option", "unknown option '-%c'", *p);
        if (!option_takes_value(o)) {
            store_flag(parser->options, o);
            continue;
        }
        const char *value = p[1] ? p + 1 : *parser->next;
        if (!value)
            return missing_value(o, err);
        parser->next += !p[1];
        return store_value(parser->options, o, value, err);
    }
    return 0;
}

static int check_during(const struct record_options *o, struct err *err) {
    for (size_t i = 0; i < o->during.count; i++)
        if (o->during.at[i].at_exit || o->during.at[i].filter.captures.count)
            return err_set(err, EINVAL, "bad-value", "option '--while': '%s' is not a function",
                           o->during.at[i].text);
    if (o->during.count && o->overflow == OVERFLOW_OVERWRITE)
        return err_set(err, EINVAL, "contradiction",
                       "option '--while' does not go with --overflow=overwrite, which keeps the "
                       "newest events of all calls");
    return 0;
}

/* The default of --overflow depends on the command and on --trigger. */
static int choose_overflow(const struct command *command, struct record_options *o,
                           struct err *err) {
    static const char *const names[] = {"wait", "drop", "overwrite"};
    bool attach = command == &commands[COMMAND_ATTACH];
    if (o->overflow == NOT_GIVEN && o->triggers.count)
        o->overflow = OVERFLOW_OVERWRITE;
    if (o->overflow == NOT_GIVEN)
        o->overflow = attach ? OVERFLOW_DROP : OVERFLOW_WAIT;
    if (o->triggers.count && o->overflow != OVERFLOW_OVERWRITE)
        return err_set(err, EINVAL, "contradiction",
                       "option '--trigger' goes with --overflow=overwrite, and not with "
                       "--overflow=%s, which writes all events anyway",
                       names[o->overflow]);
    if (o->max_bytes && o->overflow == OVERFLOW_OVERWRITE)
        return err_set(err, EINVAL, "contradiction",
                       "option '--max-size' does not go with --overflow=overwrite, which keeps "
                       "the newest events in memory: --buffer is its limit");
    return check_during(o, err);
}

static int check_views(const struct options *o, struct err *err) {
    const struct report_options *report = &o->report;
    const struct filter *filter = &o->shown.filter;
    if (o->shown.callees && !filter->functions.count && !filter->files.count)
        return err_set(err, EINVAL, "contradiction",
                       "option '--callees' goes with -F or -L, which choose the functions");
    if (report->slowest && (report->by_module || report->by_thread || report->by_process ||
                            report->by_stack || report->columns.count || report->group))
        return err_set(err, EINVAL, "contradiction",
                       "option '--slowest' lists single calls: it goes with no --by-... option, "
                       "--stack, --group or --columns");
    if (report->group && report->by_stack)
        return err_set(err, EINVAL, "contradiction",
                       "options '--group' and '--stack' make different rows: give one of them");
    return 0;
}

/* What "-" means as the name of an output. The views of a trace need a file that they can map, and
 * a recorded program's own output goes to standard output. */
static int check_outputs(const struct command *command, struct options *o, struct err *err) {
    const char *exported = o->export.output;
    if (command == &commands[COMMAND_EXPORT] && exported && strcmp(exported, "-") == 0)
        o->export.output = NULL;
    if (strcmp(o->record.output, "-") != 0)
        return 0;
    return err_set(err, EINVAL, "bad-value",
                   "option '--output=-': a trace is not written to standard output: give the name "
                   "of a file or of a FIFO (./- for a file named -)");
}

int options_parse(const struct command *command, char **argv, struct options *options,
                  int *ret_count, struct err *err) {
    struct parser p = {command, options, argv + 1};
    char **operand = argv + 1;
    bool options_follow = true;
    int rc = 0;
    options->record.overflow = NOT_GIVEN;
    while (*p.next && !options->help) {
        char *arg = *p.next++;
        if (!options_follow || arg[0] != '-' || !arg[1]) {
            *operand++ = arg;
            options_follow = options_follow && command->most >= 0;
        } else if (strcmp(arg, "--") == 0) {
            options_follow = false;
        } else {
            rc = arg[1] == '-' ? parse_long(&p, arg, err) : parse_letters(&p, arg, err);
        }
        if (rc < 0)
            return rc;
    }
    *ret_count = (int)(operand - (argv + 1));
    *operand = NULL;
    options->record.output_given = options->record.output != DEFAULT_TRACE;
    rc = check_outputs(command, options, err);
    rc = rc ? rc : check_views(options, err);
    return rc ? rc : choose_overflow(command, &options->record, err);
}
