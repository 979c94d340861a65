/* Divides 128-bit numbers. */
#include "base/wide.h"

#include <stddef.h>

/* Divides bit by bit. `rest` is below D, so twice `rest` needs at most one bit more. */
struct wide wide_quotient(struct wide n, uint64_t d, uint64_t *ret_rest) {
    struct wide quotient = {0, 0};
    uint64_t rest = 0;
    for (int i = 0; i < 128; i++) {
        uint64_t carry = rest >> 63;
        rest = rest << 1 | n.high >> 63;
        n = (struct wide){n.high << 1 | n.low >> 63, n.low << 1};
        uint64_t bit = carry || rest >= d;
        rest -= bit ? d : 0;
        quotient = (struct wide){quotient.high << 1 | quotient.low >> 63, quotient.low << 1 | bit};
    }
    if (ret_rest)
        *ret_rest = rest;
    return quotient;
}
