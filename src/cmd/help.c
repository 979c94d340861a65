/* Formats the tables of commands and options for --help. */
#include "cmd/help.h"

#include <string.h>

enum { WIDTH = 79, OPTION_INDENT = 8, COMMAND_INDENT = 12 };

/* Prints TEXT from COLUMN on, and wraps it. Further lines begin at column INDENT. */
static void print_wrapped(const char *text, int column, int indent, FILE *out) {
    bool first = true;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (!first && column + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", length, text);
        column += length;
        first = false;
        text += length;
        text += *text == ' ';
    }
    fputc('\n', out);
}

static void print_option(const struct option_spec *o, FILE *out) {
    const char *value = o->value ? o->value : o->choices;
    if (o->letter)
        fprintf(out, "  -%c, --%s", o->letter, o->name);
    else
        fprintf(out, "      --%s", o->name);
    if (value)
        fprintf(out, option_needs_value(o) ? "=%s" : "[=%s]", value);
    fprintf(out, "\n%*s", OPTION_INDENT, "");
    print_wrapped(o->help, OPTION_INDENT, OPTION_INDENT, out);
}

void help_print_command(const struct command *command, FILE *out) {
    fprintf(out, "usage: spoor %s [OPTION...] %s\n\n", command->name, command->operands);
    fprintf(out, "spoor %s: %s.\n\nOptions:\n", command->name, command->summary);
    for (const struct option_spec *o = option_table; o->name; o++)
        if (option_is_shown(o, command))
            print_option(o, out);
    fprintf(out, "  -h, --help\n%*sPrint this.\n", OPTION_INDENT, "");
    fprintf(out, "\nMore: man spoor-%s\n", command->name);
}

void help_print(FILE *out) {
    fputs("usage: spoor COMMAND [OPTION...] [OPERAND...]\n\n"
          "Traces functions of native programs without recompiling them.\n\n"
          "Commands:\n",
          out);
    for (const struct command *c = commands; c < commands + COMMAND_COUNT; c++) {
        fprintf(out, "  %-*s", COMMAND_INDENT - 2, c->name);
        print_wrapped(c->summary, COMMAND_INDENT, COMMAND_INDENT, out);
    }
    fputs("\nBegin with:\n"
          "  spoor record -- PROGRAM [ARGUMENT...]    writes spoor.trace\n"
          "  spoor report                             reads it\n"
          "  spoor view                               shows it in the browser\n\n"
          "spoor COMMAND --help lists a command's options, spoor --version the version.\n"
          "More: man spoor\n",
          out);
}
