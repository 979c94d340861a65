/* coroutines.c with stacks that lie in a variable of main, on the thread's own stack. */
#include <alloca.h>

#define INSIDE
#include "coroutines.c"
