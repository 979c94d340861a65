/* What stubs of AArch64 put on the stack (stub.h). */
#pragma once

#include "arch/stub.h"
#include "wire/lane_lookup.h"

enum { A64_CAPTURE_SAVED = 10, A64_CAPTURE_LENGTHS = 10 }; /* words of a capture's frame */

/* How many registers a stub saves, from x0 on. */
static inline uint32_t a64_stub_saved(uint8_t variant) {
    return stub_slices(variant) || stub_stores_values(variant) ? A64_CAPTURE_SAVED : 4;
}
/* What a stub takes of the stack. */
static inline uint32_t a64_stub_frame(uint8_t variant) {
    const uint32_t more = stub_stores_values(variant) ? A64_CAPTURE_LENGTHS : 0;
    return 8 * (a64_stub_saved(variant) + more);
}
