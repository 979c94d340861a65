/* The bytes of an item, put together from its parts. Private to the printers. */
#pragma once

#include "values/print.h"

struct image {
    const struct item *item;
    uint8_t *bytes, *states; /* enum image_state of each byte */
    size_t size;
};
enum image_state { IMAGE_LEFT_OUT, IMAGE_THERE, IMAGE_MISSING };

void image_init(struct image *image, const struct item *item);
void image_done(struct image *image);
/* Of SIZE bytes at AT, whether all are there, whether any was asked for. */
bool image_has(const struct image *image, uint64_t at, uint64_t size);
bool image_was_asked(const struct image *image, uint64_t at, uint64_t size);
/* The text that stands for the object of TYPE at AT, or NULL; TYPES tell equal types. */
const struct captured *image_text(const struct image *image, struct types *types, uint64_t at,
                                  type_id type, const struct capture_value **ret);
/* True if the value's own bytes are some of those that were recorded; a bit field that does not
 * fill bytes stays as it was recorded. */
static inline bool image_is_shifted(const struct capture_value *v) {
    return v->width && v->width % 8 == 0 && v->shift % 8 == 0;
}
/* BITS bits from bit AT on, at most 64. */
uint64_t image_bits(const struct image *image, uint64_t at, uint64_t bits);
