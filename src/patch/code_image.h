/*
 * The code of an area as a file (a memfd), for processes that have the module as far from the area
 * as others. Such a process maps it. That is one series of calls, where writing takes a page fault
 * for each page; and pages in which no thread comes to run take no memory of their own.
 *
 * The area is mapped privately: what differs between processes (words with addresses, the undo log,
 * tables) is written to it as to anonymous memory. Nobody can write to the file (it is sealed), and
 * it lives as long as it is mapped. A process opens it as a file of spoor in /proc, and only if it
 * sees the same file there as spoor does.
 */
#pragma once

#include "patch/patched.h"

/* Maps P's area from the file of its code, which is made if need be. False: that is not possible,
 * or not worth it, and nothing is mapped. */
bool code_image_map(struct patched *p, const struct patch_request *request);
/* P's area was mapped so: writes the words that hold addresses. Errors: "memory". */
int code_image_correct(const struct patched *p, int memory_fd, struct err *err);
