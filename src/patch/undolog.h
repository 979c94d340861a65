/*
 * The undo log in a target (wire/undo.h). It is written step by step while modules are patched and
 * restored. The tool that takes over reads it (leftovers.h).
 */
#pragma once

#include "patch/space.h"
#include "wire/undo.h"

/* The log's head, for SPACE's agent's page, with an empty chain. */
struct undo_head undolog_head(const struct space *space);
/* The most bytes that a module's log takes: without sites, and for each site. */
size_t undolog_bytes(const struct patched *p);
size_t undolog_site_bytes(void);
/* P's code is emitted: makes its log, and sets its place and size in the area. */
void undolog_make(struct patched *p);
/* P's area is about to be mapped. */
int undolog_announce(const struct space *space, const struct patched *p, struct err *err);
/* P's area is mapped: writes the log there and links it into the chain. */
int undolog_link(const struct space *space, struct patched *p, struct err *err);
/* P's text is restored, gone, or was never changed. undolog_unlink(): its mappings are about to be
 * unmapped; undolog_end(): they are unmapped. */
int undolog_unlink(const struct space *space, const struct patched *p, struct err *err);
int undolog_end(const struct space *space, struct err *err);

/* Reads the log of a module at AT. RET's code has only patches, islands (without bytes) and ways.
 * False: there is no log (any more). */
bool undolog_read(int memory_fd, taddr_t at, struct patched *ret, taddr_t *ret_next,
                  struct err *err);
