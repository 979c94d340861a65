/* Prints the help texts of the tables; at most 80 columns wide. */
#pragma once

#include <stdio.h>

#include "cmd/command.h"

void help_print(FILE *out);
void help_print_command(const struct command *command, FILE *out);
