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

/* Forks. The child exits with BODY's result. It is killed when the test ends. */
pid_t child_start(int (*body)(void *arg), void *arg);
/* Waits for the child's end. Returns its exit status, or 128 + N if signal N killed it. */
int child_end(pid_t pid);
void child_kill(pid_t pid);

/* Seizes the child and stops it. */
void child_seize(pid_t pid);
/* Stops a seized child. */
void child_stop(pid_t pid);
/* Waits for the next stop and returns its status. */
struct stop child_await_stop(pid_t pid);
void child_await_signal(pid_t pid, int sig); /* its signal-delivery-stop */

/* Stops a seized child at a pc in [START, END). */
void child_stop_within(pid_t pid, const uint8_t *start, const uint8_t *end);

/* Waits until the child is blocked in system call NUMBER, or in the call by which the kernel
 * continues an interrupted one. */
void child_await_call(pid_t pid, long number);
/* Waits until *WORD, in memory shared with the child, is not 0. */
void await_word(const uint32_t *word);

/* Allocates SIZE bytes that parent and children share. */
void *shared_new(size_t size);

/* The place of remote calls: every child has the agent at the same address. */
struct remote_site child_site(pid_t pid);
