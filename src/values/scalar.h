/* A number, a character, a truth value, an enum, a pointer, as text or JSON. Private to printers.
 */
#pragma once

#include "values/print.h"

struct scalar {
    type_id type;
    const uint8_t *bytes;
    uint64_t size;
    unsigned bits; /* of a bit field: it is in the lower bits; else 0 */
    char format;   /* as in struct capture_value */
};
void scalar_write(const struct printer *p, const struct scalar *s, bool json, struct words *out);
