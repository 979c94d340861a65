/* Where the trampolines of a module can be. */
#pragma once

#include "patch/patched.h"

/* Says in P where its area can be, with its log, and what room it has there; from now on nothing
 * else is taken to fit there. Where there is no room for all that NEED tells of, or not within
 * reach of all, as much as there is, for some of the functions. Errors: area_no_room(). */
int area_choose(struct patched *p, const struct patch_request *request, struct plan_need need,
                struct err *err);
/* "no-room", with the error number CODE. */
int area_no_room(const struct patched *p, int code, struct err *err);
