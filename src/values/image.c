/* Puts parts together. */
#include "values/image.h"

#include "base/mem.h"
#include "values/shape.h"

/* Readers of x87's floats read their padding, too. */
enum { IMAGE_SPARE = 32 };
enum { MOST_IMAGE = 64 * 1024 }; /* parts behind this are ignored */

/* Of a part that lies inside a register, only its own bytes count. */
static uint32_t size_of(const struct item *item, size_t i) {
    const struct capture_value *v = &item->values[i];
    if (image_is_shifted(v))
        return v->width / 8;
    return v->string ? 0 : v->bytes;
}

static bool fits(const struct item *item, size_t i) {
    return (uint64_t)item->values[i].at + size_of(item, i) <= MOST_IMAGE;
}

static void put(struct image *image, size_t i) {
    const struct capture_value *v = &image->item->values[i];
    const struct captured *c = &image->item->captured[i];
    bool there = c->missing == VALUE_THERE && c->length >= v->bytes;
    uint32_t size = size_of(image->item, i), skip = image_is_shifted(v) ? v->shift / 8 : 0;
    there = there && skip + size <= c->length;
    memset(image->states + v->at, there ? IMAGE_THERE : IMAGE_MISSING, size);
    if (there)
        memcpy(image->bytes + v->at, c->bytes + skip, size);
}

void image_init(struct image *image, const struct item *item) {
    *image = (struct image){.item = item};
    for (size_t i = 0; i < item->count; i++)
        if (fits(item, i) && item->values[i].at + size_of(item, i) > image->size)
            image->size = item->values[i].at + size_of(item, i);
    image->bytes = mem_alloc(2 * image->size + IMAGE_SPARE);
    image->states = image->bytes + image->size + IMAGE_SPARE;
    for (size_t i = 0; i < item->count; i++)
        if (size_of(item, i) && fits(item, i))
            put(image, i);
}

void image_done(struct image *image) { free(image->bytes); }

static bool is_inside(const struct image *image, uint64_t at, uint64_t size) {
    return at <= image->size && size <= image->size - at;
}

bool image_has(const struct image *image, uint64_t at, uint64_t size) {
    if (!is_inside(image, at, size))
        return false;
    for (uint64_t i = at; i < at + size; i++)
        if (image->states[i] != IMAGE_THERE)
            return false;
    return true;
}

static bool has_text_in(const struct image *image, uint64_t at, uint64_t size) {
    for (size_t i = 0; i < image->item->count; i++) {
        const struct capture_value *v = &image->item->values[i];
        if (v->string && v->at >= at && v->at - at < size)
            return true;
    }
    return false;
}

bool image_was_asked(const struct image *image, uint64_t at, uint64_t size) {
    for (uint64_t i = at; i < image->size && i - at < size; i++)
        if (image->states[i] != IMAGE_LEFT_OUT)
            return true;
    return has_text_in(image, at, size);
}

const struct captured *image_text(const struct image *image, struct types *types, uint64_t at,
                                  type_id type, const struct capture_value **ret) {
    for (size_t i = 0; i < image->item->count; i++) {
        const struct capture_value *v = &image->item->values[i];
        if (v->string && v->at == at && shape_id(types, v->type) == shape_id(types, type)) {
            *ret = v;
            return &image->item->captured[i];
        }
    }
    return NULL;
}

uint64_t image_bits(const struct image *image, uint64_t at, uint64_t bits) {
    uint64_t value = 0;
    for (uint64_t i = 0; i < bits && i < 64; i++) {
        uint64_t bit = at + i;
        value |= (uint64_t)(image->bytes[bit / 8] >> bit % 8 & 1) << i;
    }
    return value;
}
