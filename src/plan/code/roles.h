/* What the names of symbols tell of functions. */
#pragma once

#include <stdbool.h>

#include "plan/tier.h"

/* Functions that are not called like others. REFUSED_NOT for ordinary ones. */
enum refusal role_refusal(const char *name);
bool role_returns_twice(const char *name);
/* Does it stand for an indirect jump through a register? */
bool role_is_thunk(const char *name);
/* Does it return with a word less on the stack than there was when it was called? */
bool role_pops_word(const char *name);
/* Does the symbol name a part that was split off a function? */
bool role_is_part(const char *name);
