/* Reads values for conditions. */
#include "ring/operand_values.h"

#include <stdlib.h>

#include "base/mem.h"
#include "trace/recorded_values.h"

struct plain_value *operand_values_new(const struct condition *c) {
    return mem_alloc((condition_operand_count(c) + 1) * sizeof(struct plain_value));
}

void operand_values_free(const struct condition *c, struct plain_value *values) {
    condition_forget(c, values);
    free(values);
}

void operand_values_read(const struct condition *c, const struct operand_reader *readers,
                         const struct event_values *v, struct plain_value *values) {
    const struct numbered_capture *n = v->capture;
    const struct recorded recorded = {&n->capture, v->words, v->there};
    AUTO_FREE struct captured *captured = mem_alloc((n->capture.count + 1) * sizeof *captured);
    AUTO_FREE uint8_t *store = mem_alloc(recorded_store_bytes(&n->capture) + 1);
    recorded_values(&recorded, captured, store);
    condition_read(c, readers, &n->capture, captured, values);
    condition_keep(c, values);
}

enum truth operand_values_test(const struct condition *c, const struct plain_value *entry,
                               const struct plain_value *results) {
    const size_t count = condition_operand_count(c);
    AUTO_FREE struct plain_value *values = operand_values_new(c);
    for (size_t i = 0; i < count; i++)
        values[i] = results[i].kind != PLAIN_NOTHING ? results[i] : entry[i];
    return condition_test(c, values);
}
