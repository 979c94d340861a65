/*
 * The name of a trace file. In the user's name, %p stands for the id of the recorded process, %c
 * for the name of its program; %t for the local time (20261128-183000), %% for a percent sign.
 * Other uses of % stand for themselves.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* To be freed. COMMAND: its first argument; NULL: unknown. UNIX_S: the time. */
char *output_name(const char *given, pid_t pid, const char *command, int64_t unix_s);
/* NAME with "-N" before the extension: "spoor-2.trace". To be freed. */
char *output_name_numbered(const char *name, unsigned number);
