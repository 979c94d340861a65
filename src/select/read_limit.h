/* Counts how often the reads of a function's values fault, in all processes together. A function
 * whose reads fault too often loses those that do. */
#pragma once

#include "select/options.h"
#include "select/traced_module.h"

/* Counts one fault of function NUMBER of M. Returns true if the read is to be withdrawn. */
bool read_limit_count(struct traced_module *m, uint32_t number);
/* Such a read was withdrawn. */
void read_limit_withdrawn(struct traced_module *m, uint32_t number);
/* Tells the user which functions of M have lost reads. */
void read_limit_report(const struct record_options *options, const struct traced_module *m);
