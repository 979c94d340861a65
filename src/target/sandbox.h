/*
 * What a thread's seccomp filters would answer to system calls that it has not made yet.
 *
 * A filter sees a call's number, its arguments and where it is made from. Of the calls that we have
 * a thread make, some arguments are not known beforehand (addresses, sizes, descriptors), nor is
 * where they are made from: they count as anything, and the worst answer that may come is what
 * counts.
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/types.h"

enum sandbox_answer { /* from good to bad */
                      SANDBOX_ALLOWS,
                      SANDBOX_FAILS, /* the call is not made, and says so */
                      SANDBOX_HARMS  /* the thread dies, gets a signal, waits for somebody, or the
                                        like */
};

struct sandbox_call {
    long number;
    uint64_t args[6];
    uint8_t unknown; /* bit I: argument I may be anything */
};

/* What one filter, as its program has handed it to the kernel, answers. */
enum sandbox_answer filter_answer(const struct sock_filter *code, size_t count,
                                  const struct sandbox_call *call);

struct sandbox {
    bool strict; /* read, write, exit and sigreturn are all that there is */
    ARRAY(struct sock_fprog) filters;
};

/* Those of TID, which is stopped and traced by us. Errors: "sandbox-unknown": to read filters takes
 * root's rights and having none oneself. */
int sandbox_read(pid_t tid, struct sandbox *ret, struct err *err);
void sandbox_done(struct sandbox *sandbox);
/* What all of them together answer. */
enum sandbox_answer sandbox_answer(const struct sandbox *sandbox, const struct sandbox_call *call);
