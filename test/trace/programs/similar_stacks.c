/* coroutines.c on stacks that differ from the first one in the upper half of their addresses only.
 */
#define PLACE(frame) ((frame) - ((uintptr_t)64 << 32) - ((uintptr_t)4 << 20))
#include "coroutines.c"
