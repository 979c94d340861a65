/*
 * The counters (semaphores) of the USDT probes of a patched module: 16 bits each in the program's
 * data, not 0 while a tracer listens. Spoor counts each of them up once while the module's patches
 * are written, and down when they are restored. The module's undo log tells which ones, and how far
 * that has come (wire/undo.h). So a spoor that takes over from a killed one does the same.
 */
#pragma once

#include "patch/patched.h"

/* P's patches were written, or are about to be restored. All threads are stopped. Nothing happens
 * if that was done already. Errors: "memory". */
int counters_raise(const struct patched *p, int memory_fd, struct err *err);
int counters_lower(const struct patched *p, int memory_fd, struct err *err);

/* The link-time addresses of the counters of the probes that are chosen in P's module, each once;
 * to be freed. */
vaddr_t *counters_of(const struct patched *p, size_t *ret_count);
