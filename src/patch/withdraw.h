/* Restores single patches of a module, with those that depend on them. */
#pragma once

#include "patch/pieces.h"

/* Whether TEXT holds patch Q, or a part of it: a tool may have been killed while it wrote. */
bool withdraw_is_patch(const struct patch *q, const uint8_t *text);
/* Restores patch number I, and first the patches that depend on it: puns below it that borrow its
 * bytes, and hops whose holes are in its window. Errors: "memory". */
int withdraw_patch(const struct patched *p, int memory_fd, size_t i, struct err *err);
/* Text of SHARE below run-time address AT is restored at another time than text above. Restores the
 * sites of SHARE near AT one by one, so that nothing leads from one to the other. */
int withdraw_around(const struct patched *p, int memory_fd, struct piece share, taddr_t at,
                    struct err *err);
