/*
 * Child processes of a test: copies of it that run one of its functions. The code under test
 * stops, changes and resumes them. Nothing here sleeps for a guessed time: it waits for
 * conditions.
 */
#pragma once

/* cmocka.h needs these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/types.h>

#include "target/thread.h"

/* Forks; the child exits with what BODY returns. It is killed when the test ends. */
pid_t child_start(int (*body)(void *arg), void *arg);
/* Waits for its end: its exit status, 128 + N when signal N has killed it. */
int child_end(pid_t pid);
void child_kill(pid_t pid);

/* Seizes the child and stops it where it is. */
void child_seize(pid_t pid);
/* Stops a seized child where it is. */
void child_stop(pid_t pid);
/* Waits for the next stop and returns its status. */
int child_await_stop(pid_t pid);

/* Stops a seized child when it stands in [START, END). */
void child_stop_within(pid_t pid, const uint8_t *start, const uint8_t *end);

/* Waits until the child, running, is blocked in system call NUMBER, or in one that the kernel
 * continues after an interruption. */
void child_await_call(pid_t pid, long number);
/* Waits until *WORD, in memory shared with the child, is not 0. */
void await_word(const uint32_t *word);

/* SIZE bytes that parent and children share. */
void *shared_new(size_t size);

/* Where children make remote calls: every child has the agent at the same address. */
struct remote_site child_site(pid_t pid);
