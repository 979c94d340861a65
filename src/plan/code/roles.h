/* Special functions, recognized by the names of their symbols. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plan/tier.h"

/* The refusal for functions with a calling convention of their own; else REFUSED_NOT. */
enum refusal role_refusal(const char *name);
bool role_returns_twice(const char *name);
/* The function's code is an indirect jump through a register. */
bool role_is_thunk(const char *name);
/* The function returns with one word less on the stack than at its call. */
bool role_pops_word(const char *name);
/* The symbol names a part that was split off a function. */
bool role_is_part(const char *name);
/* The length of the function's name at the start of NAME, which names a part of it. */
size_t role_whole_length(const char *name);
