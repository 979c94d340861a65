/* Completion of spoor's command line, made from the tables of src/cmd. */
#include "completion.h"

#include <stdio.h>
#include <string.h>

#include "cmd/command.h"

/* ---- bash ---- */

static void print_option_words(const struct command *command) {
    for (const struct option_spec *o = option_table; o->name; o++)
        if (option_is_shown(o, command))
            printf("--%s%s ", o->name, option_takes_value(o) ? "=" : "");
    fputs("--help", stdout);
}

/* Values of a command's options: words to choose from, or files. */
static void print_value_cases(const struct command *command) {
    for (const struct option_spec *o = option_table; o->name; o++) {
        if (!option_is_shown(o, command) || !option_takes_value(o))
            continue;
        bool is_file = o->value && strcmp(o->value, "FILE") == 0;
        if (!o->choices && !is_file)
            continue;
        printf("    %s:--%s", command->name, o->name);
        if (o->letter)
            printf(" | %s:-%c", command->name, o->letter);
        fputs(") ", stdout);
        if (is_file) {
            puts("_spoor_files ;;");
            continue;
        }
        fputs("COMPREPLY=($(compgen -W '", stdout);
        for (const char *p = o->choices; *p; p++)
            putchar(*p == '|' ? ' ' : *p);
        puts("' -- \"$word\")) ;;");
    }
}

/* Commands whose first operand is a process: processes, and the words of the second operand. */
static void print_operand_cases(const struct command *command) {
    if (strncmp(command->operands, "PID", 3) != 0)
        return;
    const char *words = strchr(command->operands, ' ');
    printf("        %s) COMPREPLY=($(compgen -W \"$(cd /proc && echo [1-9]*)", command->name);
    for (; words && *words; words++)
        putchar(*words == '|' ? ' ' : *words);
    puts("\" -- \"$word\")) ;;");
}

static void print_command_words(void) {
    fputs("    local commands='", stdout);
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++)
        printf("%s ", c->name);
    puts("help --help --version'");
}

void completion_for_bash(void) {
    puts("# Completion of spoor's command line for bash, made from the option table.\n"
         "_spoor_files() {\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "    compopt -o filenames 2>/dev/null\n"
         "}\n"
         "_spoor() {\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    local command=${COMP_WORDS[1]} options=\n"
         "    COMPREPLY=()");
    print_command_words();
    puts("    if ((COMP_CWORD == 1)); then\n"
         "        COMPREPLY=($(compgen -W \"$commands\" -- \"$word\"))\n"
         "        return\n"
         "    fi\n"
         "    # \"=\" is a word of its own to bash.\n"
         "    [[ $word == = ]] && word=\n"
         "    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
         "    case $command:$before in");
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++)
        print_value_cases(c);
    puts("    esac\n"
         "    [[ ${#COMPREPLY[@]} -gt 0 ]] && return\n"
         "    case $command in");
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++) {
        printf("    %s) options='", c->name);
        print_option_words(c);
        puts("' ;;");
    }
    puts("    esac\n"
         "    if [[ $word == -* ]]; then\n"
         "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
         "    else\n"
         "        case $command in");
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++)
        print_operand_cases(c);
    puts("        *) _spoor_files ;;\n"
         "        esac\n"
         "        [[ $command == record ]] && COMPREPLY+=($(compgen -c -- \"$word\"))\n"
         "    fi\n"
         "}\n"
         "complete -F _spoor spoor");
}

/* ---- zsh ---- */

/* Prints TEXT, COUNT bytes, within a word in single quotes, and with a backslash before each of
 * SPECIAL. */
static void print_quoted(const char *text, size_t count, const char *special) {
    for (const char *end = text + count; text < end; text++) {
        if (strchr(special, *text))
            putchar('\\');
        fputs(*text == '\'' ? "'\\''" : (char[]){*text, 0}, stdout);
    }
}

static bool is_repeatable(const struct option_spec *o) {
    return o->type == OPTION_TALLY || o->type == OPTION_STRINGS || o->type == OPTION_FILTER ||
           o->type == OPTION_TRIGGER;
}

/* What may stand for a word of a synopsis, or for an option's value: words, processes or files. */
static void print_action(const char *name, size_t count) {
    bool is_choice = memchr(name, '|', count) && *name >= 'a' && *name <= 'z';
    if (is_choice) {
        putchar('(');
        for (size_t i = 0; i < count; i++)
            putchar(name[i] == '|' ? ' ' : name[i]);
        putchar(')');
    } else {
        fputs(count == 3 && memcmp(name, "PID", 3) == 0 ? "_pids" : "_files", stdout);
    }
}

static void print_value(const struct option_spec *o) {
    const char *name = o->value ? o->value : o->choices;
    bool is_file = strcmp(name, "FILE") == 0, is_pid = strcmp(name, "PID") == 0;
    fputs(option_needs_value(o) ? ":" : "::", stdout);
    print_quoted(o->value ? name : o->name, strlen(o->value ? name : o->name), ":");
    putchar(':');
    if (o->choices || is_file || is_pid)
        print_action(o->choices ? o->choices : name, strlen(o->choices ? o->choices : name));
}

/* The first sentence of an option's help stands beside it. */
static void print_option_spec(const struct option_spec *o) {
    const char *stop = strstr(o->help, ". "), *value = option_takes_value(o) ? "=" : "";
    size_t count = stop ? (size_t)(stop - o->help) : strlen(o->help) - 1;
    if (!option_needs_value(o) && *value)
        value = "=-";
    fputs("        ", stdout);
    if (is_repeatable(o))
        fputs("'*'", stdout);
    else if (o->letter)
        printf("'(-%c --%s)'", o->letter, o->name);
    if (o->letter)
        printf("{-%c%s,--%s%s}", o->letter, *value ? "+" : "", o->name, value);
    else
        printf("--%s%s", o->name, value);
    fputs("'[", stdout);
    print_quoted(o->help, count, "[]\\");
    putchar(']');
    if (*value)
        print_value(o);
    puts("' \\");
}

/* The operands of a synopsis, such as "[TRACE [FUNCTION]]". */
static void print_operand_specs(const struct command *command) {
    if (command->most < 0) {
        puts("        '(-):program:_command_names -e' '*::argument:_normal'");
        return;
    }
    fputs("       ", stdout);
    for (const char *p = command->operands; *p;) {
        size_t count = strcspn(p, " []");
        bool repeats = count > 3 && memcmp(p + count - 3, "...", 3) == 0;
        if (count)
            printf(" '%s:", repeats ? "*" : "");
        print_quoted(p, repeats ? count - 3 : count, ":");
        if (count) {
            putchar(':');
            print_action(p, repeats ? count - 3 : count);
            putchar('\'');
        }
        p += count ? count : 1;
    }
    putchar('\n');
}

void completion_for_zsh(void) {
    puts("#compdef spoor\n"
         "# Completion of spoor's command line for zsh, made from the option table.\n"
         "_spoor() {\n"
         "    local -a commands=(");
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++) {
        printf("        '%s:", c->name);
        print_quoted(c->summary, strlen(c->summary), "");
        puts("'");
    }
    puts("        'help:show how to use a command')\n"
         "    if ((CURRENT == 2)); then\n"
         "        _describe command commands\n"
         "        return\n"
         "    fi\n"
         "    local command=$words[2]\n"
         "    shift words\n"
         "    ((CURRENT--))\n"
         "    case $command in\n"
         "    help) _describe command commands ;;");
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++) {
        printf("    %s)\n        _arguments -s -S %s\\\n", c->name, c->most < 0 ? "-A '-*' " : "");
        for (const struct option_spec *o = option_table; o->name; o++)
            if (option_is_shown(o, c))
                print_option_spec(o);
        puts("        '(-h --help)'{-h,--help}'[List the options]' \\");
        print_operand_specs(c);
        puts("        ;;");
    }
    puts("    esac\n"
         "}\n"
         "_spoor \"$@\"");
}
