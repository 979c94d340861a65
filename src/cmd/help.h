/* What --help prints, made from the tables; at most 80 columns wide. */
#ifndef SPOOR_CMD_HELP_H
#define SPOOR_CMD_HELP_H

#include <stdio.h>

#include "cmd/command.h"

void help_print(FILE *out);
void help_print_command(const struct command *command, FILE *out);

#endif
