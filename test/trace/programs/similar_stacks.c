/* coroutines.c on stacks whose addresses differ from the first one only in the upper half. */
#define PLACE(frame) ((frame) - ((uintptr_t)64 << 32) - ((uintptr_t)4 << 20))
#include "coroutines.c"
