/*
 * The undo log in a target (wire/undo.h): written here step by step while modules are patched and
 * restored, read again by the tool that takes over (leftovers.h).
 */
#pragma once

#include "patch/space.h"
#include "wire/undo.h"

/* The head for SPACE's agent's page, with nothing in the chain. */
struct undo_head undolog_head(const struct space *space);
/* How many bytes the log of a module takes at most: without sites, and for each more. */
size_t undolog_bytes(void);
size_t undolog_site_bytes(void);
/* P's code is emitted: makes its log, and says where it will be in its area and how large that is.
 */
void undolog_make(struct patched *p);
/* P's area is about to be mapped. */
int undolog_announce(const struct space *space, const struct patched *p, struct err *err);
/* P's area is mapped: puts the log there, and into the chain. */
int undolog_link(const struct space *space, const struct patched *p, struct err *err);
/* P's text is restored, or gone, or was never changed: what it has mapped is about to be unmapped;
 * and has been. */
int undolog_unlink(const struct space *space, const struct patched *p, struct err *err);
int undolog_end(const struct space *space, struct err *err);

/* Reads the log of a module at AT. Its code has patches, islands (without bytes) and ways only.
 * Returns false when there is none (any more). */
bool undolog_read(int memory_fd, taddr_t at, struct patched *ret, taddr_t *ret_next,
                  struct err *err);
