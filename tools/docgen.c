/*
 * Prints what is made from the tables of src/cmd and src/plan:
 *
 *   docgen man PAGE.in [COMMAND]   a manual page: spoor(1), or spoor-COMMAND(1)
 *   docgen completion SHELL        the completion for bash or zsh (completion.h)
 *
 * PAGE.in is the page's prose, as man(7) source. A line of it that is one of these words stands for
 * what a table says: @SYNOPSIS@ (of each command), @COMMANDS@, @OPTIONS@ (of COMMAND), @REFUSALS@.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "completion.h"
#include "plan/plan.h"

/* TEXT as man(7) source that shows just that. */
static void print_roff(const char *text) {
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '-' || *text == '\\')
            fputs(*text == '-' ? "\\-" : "\\e", stdout);
        else
            putchar(*text);
    }
}

static void print_commands(void) {
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++) {
        printf(".TP\n.BR spoor\\-%s (1)\n", c->name);
        print_roff(c->summary);
        puts(".");
    }
}

/* A synopsis in which words in capitals are to be replaced. */
static void print_operands(const char *operands) {
    while (*operands) {
        size_t length = strcspn(operands, " "), plain = strspn(operands, "[.-]");
        if (plain == length || length == 0) {
            for (; length; length--, operands++)
                fputs(*operands == '-' ? "\\-" : (char[]){*operands, 0}, stdout);
        } else {
            printf("\\fI%.*s\\fR", (int)length, operands);
            operands += length;
        }
        if (*operands)
            putchar(*operands++);
    }
    putchar('\n');
}

static void print_synopsis(const struct command *command) {
    printf("\\fBspoor %s\\fR [\\fIOPTION\\fR...] ", command->name);
    print_operands(command->operands);
}

static void print_each_synopsis(void) {
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++) {
        print_synopsis(c);
        puts(".br");
    }
}

static void print_option_head(const struct option_spec *o) {
    fputs(".TP\n", stdout);
    if (o->letter)
        printf("\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", stdout);
    print_roff(o->name);
    fputs("\\fR", stdout);
    if (option_takes_value(o))
        printf(option_needs_value(o) ? "=\\fI%s\\fR" : "[=\\fI%s\\fR]",
               o->value ? o->value : o->choices);
    putchar('\n');
}

static void print_options(const struct command *command) {
    for (const struct option_spec *o = option_table; o->name; o++) {
        if (!option_is_shown(o, command))
            continue;
        print_option_head(o);
        print_roff(o->help);
        putchar('\n');
    }
    puts(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nList the options.");
}

static void print_refusals(void) {
    for (enum refusal r = REFUSED_NOT + 1; r < REFUSED_COUNT; r++) {
        fputs(".TP\n.B ", stdout);
        print_roff(refusal_tag(r));
        putchar('\n');
        print_roff(refusal_meaning(r));
        putchar('\n');
    }
}

static void print_head(const struct command *command) {
    puts(".\\\" Made from the option table; the prose is in man/*.in.");
    if (!command) {
        puts(".TH SPOOR 1 \"\" \"spoor " SPOOR_VERSION "\" \"User Commands\"");
        return;
    }
    fputs(".TH SPOOR\\-", stdout);
    for (const char *p = command->name; *p; p++)
        putchar(*p - 'a' + 'A');
    puts(" 1 \"\" \"spoor " SPOOR_VERSION "\" \"User Commands\"");
    printf(".SH NAME\nspoor\\-%s \\- %s\n", command->name, command->summary);
    puts(".SH SYNOPSIS");
    print_synopsis(command);
}

static int print_page(const char *path, const struct command *command) {
    FILE *in = fopen(path, "re");
    if (!in)
        return -errno;
    char line[1024];
    print_head(command);
    while (fgets(line, sizeof line, in)) {
        if (strcmp(line, "@SYNOPSIS@\n") == 0)
            print_each_synopsis();
        else if (strcmp(line, "@COMMANDS@\n") == 0)
            print_commands();
        else if (strcmp(line, "@OPTIONS@\n") == 0 && command)
            print_options(command);
        else if (strcmp(line, "@REFUSALS@\n") == 0)
            print_refusals();
        else
            fputs(line, stdout);
    }
    int rc = ferror(in) ? -EIO : 0;
    fclose(in);
    return rc;
}

static const struct command *find_command(const char *name) {
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static int fail(const char *why) {
    fprintf(stderr, "docgen: %s\n", why);
    return 1;
}

int main(int argc, char **argv) {
    bool completes = argc == 3 && strcmp(argv[1], "completion") == 0;
    if (completes && strcmp(argv[2], "bash") == 0) {
        completion_for_bash();
    } else if (completes && strcmp(argv[2], "zsh") == 0) {
        completion_for_zsh();
    } else if ((argc == 3 || argc == 4) && strcmp(argv[1], "man") == 0) {
        const struct command *command = argc == 4 ? find_command(argv[3]) : NULL;
        if (argc == 4 && !command)
            return fail("no such command");
        int rc = print_page(argv[2], command);
        if (rc < 0)
            return fail(strerror(-rc));
    } else {
        return fail("usage: docgen man PAGE.in [COMMAND] | docgen completion bash|zsh");
    }
    return fflush(stdout) == 0 ? 0 : fail("cannot write");
}
