/* Finds memory near a module's text for its trampolines. */
#pragma once

#include "patch/patched.h"
#include "target/thread.h"

/* Sets P's area, its room and the place of its log, and reserves them in the request's maps. If
 * there is no room for all of NEED within reach of all, the area serves some of the functions.
 * Errors: "no-room". */
int area_choose(struct patched *p, const struct patch_request *request, struct plan_need need,
                struct err *err);
/* The call that maps executable memory exactly at [START, START + SIZE). */
struct remote_call area_mapping(taddr_t start, size_t size);
/* The request's caller makes it. Errors: "no-room", "too-many-maps", "memory-limit",
 * "remote-call". */
int area_map(const struct patched *p, const struct patch_request *request, taddr_t start,
             size_t size, struct err *err);
