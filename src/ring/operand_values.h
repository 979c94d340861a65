/* The values of a condition's operands for one call, as rings have them. Drainer only. */
#pragma once

#include "trace/value_log.h"

/* By the numbers of operands; all unknown. */
struct plain_value *operand_values_new(const struct condition *c);
void operand_values_free(const struct condition *c, struct plain_value *values);
/* Reads those of VALUES that V has. READERS are those for its capture. */
void operand_values_read(const struct condition *c, const struct operand_reader *readers,
                         const struct event_values *v, struct plain_value *values);
/* Tests C with the values of an entry; those of RESULTS that are known take their places. */
enum truth operand_values_test(const struct condition *c, const struct plain_value *entry,
                               const struct plain_value *results);
