/*
 * Stage 2 for stripped files of 32-bit Arm: which state each piece of code is in, where data stands
 * between, and where functions begin. Mapping symbols would tell it.
 */
#ifndef SPOOR_PLAN_STRIPPED_STRIPPED_H
#define SPOOR_PLAN_STRIPPED_STRIPPED_H

#include "plan/code/states.h"

struct states states_infer(const struct texts *texts);

#endif
