/* The parser against the option tables: the values that it writes, and the tags of its refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/command.h"

#define TESTS                                                                                      \
    TEST(default_options)                                                                          \
    TEST(dash_as_output)                                                                           \
    TEST(record_stacks_option)                                                                     \
    TEST(trigger_option)                                                                           \
    TEST(forms_of_record_options)                                                                  \
    TEST(options_of_the_traced_program)                                                            \
    TEST(view_options_after_the_trace)                                                             \
    TEST(repeated_filters_in_order)                                                                \
    TEST(choices_match_their_enums)                                                                \
    TEST(ring_size_in_powers_of_two)                                                               \
    TEST(follow_and_no_follow)                                                                     \
    TEST(help_ends_reading)                                                                        \
    TEST(unknown_option_suggests_the_nearest)                                                      \
    TEST(wrong_values_have_tags)                                                                   \
    TEST(sound_option_table)

/* One parsed command line; its words are separated by single blanks. */
struct line {
    struct options options;
    char *argv[32];
    char *words;
    int count; /* operands, in argv[1..] */
    int rc;
    struct err err;
};

static void parse(struct line *l, enum command_id id, const char *words) {
    int argc = 0;
    *l = (struct line){.words = mem_strdup(words)};
    l->argv[argc++] = (char *)commands[id].name;
    for (char *p = strtok(l->words, " "); p; p = strtok(NULL, " "))
        l->argv[argc++] = p;
    options_init(&l->options);
    l->rc = options_parse(&commands[id], l->argv, &l->options, &l->count, &l->err);
}

static void done(struct line *l) {
    options_done(&l->options);
    free(l->words);
}

static void assert_refused(enum command_id id, const char *words, const char *tag) {
    struct line l;
    parse(&l, id, words);
    assert_true(l.rc < 0);
    assert_string_equal(l.err.tag, tag);
    done(&l);
}

static void dash_as_output(void **state) {
    struct line l;
    (void)state;
    assert_refused(COMMAND_RECORD, "-o - true", "bad-value");
    assert_refused(COMMAND_ATTACH, "--output=- 1", "bad-value");
    parse(&l, COMMAND_RECORD, "-o ./- true");
    assert_int_equal(l.rc, 0);
    assert_string_equal(l.options.record.output, "./-");
    done(&l);
    parse(&l, COMMAND_EXPORT, "-o - trace");
    assert_int_equal(l.rc, 0);
    assert_null(l.options.export.output); /* standard output */
    done(&l);
    parse(&l, COMMAND_EXPORT, "-o ./- trace");
    assert_string_equal(l.options.export.output, "./-");
    done(&l);
}

static void expect_trigger(const char *words, const char *text, bool at_exit, uint64_t longer_ns) {
    struct line l;
    parse(&l, COMMAND_RECORD, words);
    if (l.rc < 0)
        fail_msg("%s", l.err.text);
    assert_int_equal(l.options.record.overflow, OVERFLOW_OVERWRITE);
    assert_int_equal(l.options.record.triggers.count, 1);
    const struct trigger *t = &l.options.record.triggers.at[0];
    assert_string_equal(pattern_text(t->filter.functions.at[0]), text);
    assert_int_equal(t->at_exit, at_exit);
    assert_int_equal(t->longer_ns, longer_ns);
    done(&l);
}

static void expect_stacks(const char *words, uint32_t frames, const char *pattern) {
    struct line l;
    parse(&l, COMMAND_RECORD, words);
    if (l.rc < 0)
        fail_msg("%s: %s", words, l.err.text);
    const struct stack_options *stacks = &l.options.record.stacks;
    assert_int_equal(stacks->frames, frames);
    assert_int_equal(stacks->filter.functions.count, pattern != NULL);
    if (pattern)
        assert_string_equal(pattern_text(stacks->filter.functions.at[0]), pattern);
    assert_int_equal(l.count, 1); /* the words after that are the program, no value */
    done(&l);
}

static void record_stacks_option(void **state) {
    (void)state;
    expect_stacks("true", 0, NULL);
    expect_stacks("--stack true", STACK_FRAMES, NULL);
    expect_stacks("--stack=7 true", 7, NULL);
    expect_stacks("--stack=mem* true", STACK_FRAMES, "mem*");
    expect_stacks("--stack=mem* --stack=7 true", 7, "mem*");
    expect_stacks("--stack=7 --stack=mem* true", 7, "mem*");
    assert_refused(COMMAND_RECORD, "--stack=0 true", "bad-value");
    assert_refused(COMMAND_RECORD, "--stack=1001 true", "bad-value");
    assert_refused(COMMAND_RECORD, "--stack=7x true", "bad-value");
    assert_refused(COMMAND_RECORD, "--stack=/(/ true", "bad-pattern");
    assert_refused(COMMAND_REPORT, "--stack=7", "unexpected-value");
}

static void trigger_option(void **state) {
    (void)state;
    expect_trigger("--trigger=f p", "f", false, 0);
    expect_trigger("--trigger=f>5ms p", "f", true, 5000000);
    expect_trigger("--trigger=f>100 p", "f", true, 100);
    expect_trigger("--trigger=lib*!f*>1.5s --overflow=overwrite p", "lib*!f*", true, 1500000000);
    expect_trigger("--trigger=std::list<int>::size p", "std::list<int>::size", false, 0);
    expect_trigger("--trigger=std::list<int>::size>1us p", "std::list<int>::size", true, 1000);
    expect_trigger("--trigger=operator>>2us p", "operator>", true, 2000);
    expect_trigger("--trigger=operator> p", "operator>", false, 0);
    expect_trigger("--trigger=operator-> p", "operator->", false, 0);
    assert_refused(COMMAND_RECORD, "--trigger=f>5parsecs p", "bad-value");
    assert_refused(COMMAND_RECORD, "--trigger=f>=5ms p", "bad-value");
    assert_refused(COMMAND_RECORD, "--trigger=>5ms p", "bad-value");
    assert_refused(COMMAND_RECORD, "--trigger= p", "bad-value");
    assert_refused(COMMAND_RECORD, "--trigger=/(/ p", "bad-pattern");
    assert_refused(COMMAND_RECORD, "--trigger=f --overflow=wait p", "contradiction");
    assert_refused(COMMAND_ATTACH, "--trigger=f --overflow=drop 1", "contradiction");
}

static void default_options(void **state) {
    (void)state;
    struct line l;
    parse(&l, COMMAND_RECORD, "prog");
    assert_int_equal(l.rc, 0);
    assert_string_equal(l.options.record.output, "spoor.trace");
    assert_true(l.options.record.follow);
    assert_int_equal(l.options.record.overflow, OVERFLOW_WAIT);
    assert_int_equal(l.options.record.ring_bytes, 0);
    done(&l);
    parse(&l, COMMAND_ATTACH, "1");
    assert_int_equal(l.options.record.overflow, OVERFLOW_DROP);
    done(&l);
    parse(&l, COMMAND_REPORT, "");
    assert_int_equal(l.count, 0);
    assert_int_equal(l.options.report.sort, REPORT_TOTAL);
    assert_true(l.options.shown.until_ns == UINT64_MAX);
    done(&l);
}

static void forms_of_record_options(void **state) {
    (void)state;
    static const char *const forms[] = {"-o f -qvv -D 3 prog", "-of -q -v -v -D3 prog",
                                        "--output=f --quiet -vv --depth=3 -- prog",
                                        "--output f -vvqD3 -- prog"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct line l;
        parse(&l, COMMAND_RECORD, forms[i]);
        assert_int_equal(l.rc, 0);
        assert_string_equal(l.options.record.output, "f");
        assert_true(l.options.quiet);
        assert_int_equal(l.options.verbose, 2);
        assert_int_equal(l.options.record.depth, 3);
        assert_int_equal(l.count, 1);
        assert_string_equal(l.argv[1], "prog");
        assert_null(l.argv[2]);
        done(&l);
    }
}

static void options_of_the_traced_program(void **state) {
    (void)state;
    struct line l;
    parse(&l, COMMAND_RECORD, "-q prog -o x --help -- y");
    assert_int_equal(l.rc, 0);
    assert_false(l.options.help);
    assert_int_equal(l.count, 6);
    assert_string_equal(l.argv[2], "-o");
    assert_string_equal(l.argv[5], "--");
    done(&l);
    parse(&l, COMMAND_RECORD, "-- -odd --");
    assert_int_equal(l.count, 2);
    assert_string_equal(l.argv[1], "-odd");
    done(&l);
}

static void view_options_after_the_trace(void **state) {
    (void)state;
    struct line l;
    parse(&l, COMMAND_REPORT, "t --json --limit 5 --sort=self --columns=calls,p99,function");
    assert_int_equal(l.rc, 0);
    assert_int_equal(l.count, 1);
    assert_string_equal(l.argv[1], "t");
    assert_true(l.options.view.json);
    assert_int_equal(l.options.report.limit, 5);
    assert_int_equal(l.options.report.sort, REPORT_SELF);
    assert_int_equal(l.options.report.columns.count, 3);
    assert_int_equal(l.options.report.columns.at[1], REPORT_P99);
    assert_int_equal(l.options.report.columns.at[2], REPORT_FUNCTION);
    done(&l);
    parse(&l, COMMAND_REPLAY, "-- --json");
    assert_false(l.options.view.json);
    assert_string_equal(l.argv[1], "--json");
    done(&l);
}

static void repeated_filters_in_order(void **state) {
    (void)state;
    struct line l;
    parse(&l, COMMAND_RECORD, "-F a* -F libc.so*!b -N c --module=x -M y p");
    assert_int_equal(l.rc, 0);
    const struct filter *f = &l.options.record.filter;
    assert_int_equal(f->functions.count, 2);
    assert_true(pattern_match(f->functions.at[0], "m", "abc"));
    assert_true(pattern_match(f->functions.at[1], "libc.so.6", "b"));
    assert_int_equal(f->excluded.count, 1);
    assert_int_equal(f->modules.count, 2);
    assert_string_equal(f->modules.at[1], "y");
    done(&l);
}

static void choices_match_their_enums(void **state) {
    (void)state;
    struct line l;
    parse(&l, COMMAND_RECORD, "--overflow=overwrite p");
    assert_int_equal(l.options.record.overflow, OVERFLOW_OVERWRITE);
    done(&l);
    parse(&l, COMMAND_RECORD, "--overflow=drop p");
    assert_int_equal(l.options.record.overflow, OVERFLOW_DROP);
    done(&l);
    parse(&l, COMMAND_EXPORT, "--format=json");
    assert_int_equal(l.options.export.format, EXPORT_JSON);
    done(&l);
    parse(&l, COMMAND_EXPORT, "-f folded");
    assert_int_equal(l.options.export.format, EXPORT_FOLDED);
    done(&l);
    parse(&l, COMMAND_GRAPH, "--color=never");
    assert_int_equal(l.options.view.color, COLOR_NEVER);
    done(&l);
    parse(&l, COMMAND_REPORT, "--sort=group");
    assert_int_equal(l.options.report.sort, REPORT_COLUMNS - 1);
    done(&l);
}

static void ring_size_in_powers_of_two(void **state) {
    (void)state;
    static const struct {
        const char *words;
        uint64_t bytes;
    } cases[] = {{"--buffer=1 p", 4096},
                 {"--buffer=4097 p", 8192},
                 {"--buffer 64K p", 65536},
                 {"--buffer=1G p", 1 << 30},
                 {"--buffer=1.5M p", 2 << 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct line l;
        parse(&l, COMMAND_RECORD, cases[i].words);
        assert_int_equal(l.rc, 0);
        assert_int_equal(l.options.record.ring_bytes, cases[i].bytes);
        done(&l);
    }
    assert_refused(COMMAND_RECORD, "--buffer=0 p", "bad-value");
    assert_refused(COMMAND_RECORD, "--buffer=1025M p", "bad-value");
}

static void follow_and_no_follow(void **state) {
    (void)state;
    struct line l;
    parse(&l, COMMAND_RECORD, "--no-follow p");
    assert_false(l.options.record.follow);
    done(&l);
    parse(&l, COMMAND_RECORD, "--no-follow -f p");
    assert_true(l.options.record.follow);
    done(&l);
}

static void help_ends_reading(void **state) {
    (void)state;
    struct line l;
    parse(&l, COMMAND_RECORD, "-q --help --nonsense");
    assert_int_equal(l.rc, 0);
    assert_true(l.options.help);
    done(&l);
    parse(&l, COMMAND_INFO, "-h --nonsense");
    assert_int_equal(l.rc, 0);
    assert_true(l.options.help);
    done(&l);
}

static void unknown_option_suggests_the_nearest(void **state) {
    (void)state;
    struct line l;
    parse(&l, COMMAND_RECORD, "--ouput=x p");
    assert_string_equal(l.err.tag, "unknown-option");
    assert_non_null(strstr(l.err.text, "'--ouput'"));
    assert_non_null(strstr(l.err.text, "'--output'"));
    done(&l);
    parse(&l, COMMAND_RECORD, "--xyzzy p");
    assert_string_equal(l.err.tag, "unknown-option");
    assert_null(strstr(l.err.text, "did you mean"));
    done(&l);
    assert_refused(COMMAND_RECORD, "-x p", "unknown-option");
    assert_refused(COMMAND_REPORT, "-q", "unknown-option");
    assert_refused(COMMAND_RECORD, "--json p", "unknown-option");
    assert_refused(COMMAND_INFO, "-F x", "unknown-option");
}

static void wrong_values_have_tags(void **state) {
    (void)state;
    assert_refused(COMMAND_RECORD, "-o", "missing-value");
    assert_refused(COMMAND_RECORD, "--output", "missing-value");
    assert_refused(COMMAND_RECORD, "--output= p", "bad-value");
    assert_refused(COMMAND_RECORD, "--quiet=yes p", "unexpected-value");
    assert_refused(COMMAND_RECORD, "-D 0 p", "bad-value");
    assert_refused(COMMAND_RECORD, "-D x p", "bad-value");
    assert_refused(COMMAND_RECORD, "-t 5parsecs p", "bad-value");
    assert_refused(COMMAND_RECORD, "--overflow=maybe p", "bad-value");
    assert_refused(COMMAND_RECORD, "--overflow= p", "bad-value");
    assert_refused(COMMAND_REPORT, "--columns=calls,,self", "bad-value");
    assert_refused(COMMAND_REPORT, "--sort=calls,self", "bad-value");
    assert_refused(COMMAND_RECORD, "-F /(/ p", "bad-pattern");
    assert_refused(COMMAND_RECORD, "-F ok -N /[/ p", "bad-pattern");
}

/* The table can be the only source: no row shadows another, and no value lies outside struct
 * options. */
static void sound_option_table(void **state) {
    (void)state;
    for (const struct option_spec *o = option_table; o->name; o++) {
        assert_true(o->commands != 0 && o->commands < 1u << COMMAND_COUNT);
        assert_true(o->offset < sizeof(struct options));
        assert_true(!option_takes_value(o) == (!o->value && !o->choices));
        assert_true((o->type == OPTION_CHOICE || o->type == OPTION_CHOICES) ==
                    (o->choices != NULL));
        assert_true(o->letter != 'h' && strcmp(o->name, "help") != 0);
        assert_true(!o->help || (o->help[0] && o->help[strlen(o->help) - 1] == '.'));
        for (const struct option_spec *p = o + 1; p->name; p++) {
            if (!(o->commands & p->commands))
                continue;
            assert_true(strcmp(o->name, p->name) != 0);
            assert_true(!o->letter || o->letter != p->letter);
        }
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
