/* What the tests of src/summary share: random traces whose threads run at the same time, and the
 * calls of a range as a plain walk finds them. */
#pragma once

#include "../analyze/programs.h"

#include "summary/summary.h"

enum { EVENTS = 10000, BLOCK = 750 };

extern struct lab lab;
extern struct machine machine;

int set_up(void **state);
int tear_down(void **state);
/* Runs P in all streams at the same time, in blocks of BLOCK steps. */
void run_all(const struct program *p);
void run_in_blocks(const struct program *p, unsigned block);
/* Opens the trace, and starts its summary. OPTIONS may be NULL. */
struct summary *must_start(const struct summary_options *options);
/* All calls that a walk shows in the range, by the order of their ends. */
typedef ARRAY(struct walk_call) walk_call_list;
walk_call_list walked_calls(uint64_t since_ns, uint64_t until_ns);
/* A random range of the trace, some of them at times of events, some empty or all. */
struct summary_range random_range(uint64_t *dice);
