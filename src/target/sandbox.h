/*
 * Predicts how a thread's seccomp filters will answer system calls.
 *
 * A filter sees a call's number, its arguments and its address. For remote calls some arguments
 * (addresses, sizes, descriptors) and the call's address are not known beforehand. They count as
 * any value, and the worst possible answer is the result.
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/types.h"

enum sandbox_answer { /* ascending: best to worst */
                      SANDBOX_ALLOWS,
                      SANDBOX_FAILS, /* the call is not made, and returns an error */
                      SANDBOX_HARMS  /* the thread dies, gets a signal or waits */
};

struct sandbox_call {
    long number;
    uint64_t args[6];
    uint8_t unknown; /* bit i: args[i] is not known */
};

/* The answer of one filter, given as seccomp(2) takes it. */
enum sandbox_answer filter_answer(const struct sock_filter *code, size_t count,
                                  const struct sandbox_call *call);

struct sandbox {
    bool strict; /* strict mode: only read, write, exit and sigreturn are allowed */
    ARRAY(struct sock_fprog) filters;
};

/* Reads the filters of TID, a stopped tracee. Errors: "sandbox-unknown": spoor needs root's rights
 * and no filter of its own for that. */
int sandbox_read(pid_t tid, struct sandbox *ret, struct err *err);
void sandbox_done(struct sandbox *sandbox);
/* The worst answer of all filters. */
enum sandbox_answer sandbox_answer(const struct sandbox *sandbox, const struct sandbox_call *call);
