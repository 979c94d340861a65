/*
 * Stage 2 for stripped files of 32-bit Arm: which state each piece of code is in, where data stands
 * between, and where functions begin. Mapping symbols would tell it.
 */
#pragma once

#include "plan/code/states.h"

struct states states_infer(const struct texts *texts);
