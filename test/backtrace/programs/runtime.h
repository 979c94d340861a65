/*
 * Functions that the runtimes of test programs share: printing, and stack walks with each walker
 * alone and with all walkers.
 */
#pragma once

#include "../../../backtrace/spoor_backtrace.h"

/* Defined by the runtime. TEXT ends with a zero. */
void put_text(const char *text, unsigned size);
void quit(int status) __attribute__((noreturn));

/* A word, or a number behind a space; printed when the line ends. */
void put_word(const char *word);
void put_number(spoor_word number);

/* The runtime's own scenarios. */
void run_more(void);

/* Runs all scenarios; each fault comes back through walk_all(). */
void run_scenarios(void);

/* Walks from REGS in each way and prints the frames; the runtime has set image. Returns whether the
 * program resumes behind the instruction, not at it. */
int walk_all(const struct spoor_regs *regs);

extern struct spoor_image image;
