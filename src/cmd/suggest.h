/* Guesses what a user meant by a word that is no command, or no program. */
#pragma once

/* TYPED is no command: "spoor record ./prog" for a program, "spoor attach 123" for a process,
 * "spoor report FILE" for a trace. NULL: none of these. To be freed. */
char *suggest_command(const char *typed);
/* TYPED, given to record, is no program that can be run: "./prog" or "spoor record ./prog" for one
 * in this folder, likewise for the source of one; a command for other things. NULL: unknown. To be
 * freed. */
char *suggest_program(const char *typed);
