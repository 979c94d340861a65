/* The parameters of requests: all are numbers or words, and anything else is an error. */
#pragma once

#include "page/answer.h"

/* The number NAME; OTHERWISE if it is not given. -EINVAL "bad-value". */
int parameter_number(const struct request *r, const char *name, uint64_t otherwise, uint64_t *ret,
                     struct err *err);
/* The function FUNCTION. -EINVAL "bad-value". */
int parameter_function(const struct request *r, uint32_t *ret, struct err *err);
/* One of WORDS, "slowest|time": its number. Not given: the first one. -EINVAL "bad-value". */
int parameter_choice(const struct request *r, const char *name, const char *words, unsigned *ret,
                     struct err *err);
/* Sets the range of since, until and streams. The caller frees *RET_STREAMS, which the range has.
 * The names of the first two end with SUFFIX. -EINVAL "bad-value". */
int parameter_range(const struct request *r, const char *suffix, struct summary_range *ret,
                    uint8_t **ret_streams, struct err *err);
