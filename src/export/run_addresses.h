/* Where functions were in the memory of the processes. */
#pragma once

#include "analyze/names.h"

struct run_addresses;
/* R and NAMES must outlive the result. */
struct run_addresses *run_addresses_new(const struct trace_reader *r, struct names *names);
void run_addresses_free(struct run_addresses *a);
/* The address of FUNCTION in process PID at NS (since the trace's start). If the trace does not
 * tell where its module was, as in another process; else its address in its file. */
uint64_t run_address(const struct run_addresses *a, uint32_t function, uint32_t pid, uint64_t ns);
