/* Shows the processes of a recording that signals have ended. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "trace/reader.h"

/* What a shell prints of a command that SIGNAL has ended ("Segmentation fault"), on standard error.
 * Nothing if it prints nothing. */
void death_print_as_shell(int signal, bool core_dumped);
/* Notes on standard error: the ends of PROGRAM and of crashed processes. */
void deaths_show(const struct trace_death *deaths, size_t count, uint32_t program);
/* One line, without the calls. To be freed. */
char *death_text(const struct trace_death *death);
/* All of a trace, with all calls, for 'spoor info'. */
void deaths_print(const struct trace_reader *r);
/* The member "deaths", with a comma behind it. */
void deaths_print_json(FILE *out, const struct trace_reader *r);
