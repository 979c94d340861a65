/*
 * Stage 2 for stripped files of 32-bit Arm, which have no mapping symbols: infers the state of
 * each piece of code, the data between code, and where functions begin.
 */
#pragma once

#include "plan/code/states.h"

struct states states_infer(const struct texts *texts);
