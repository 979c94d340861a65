/* The functions of called_library.so. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef int called_function(int);

called_function called_leaf;    /* n + 1 */
called_function called_work;    /* calls called_leaf n times */
called_function called_tail;    /* ends by a jump to called_leaf */
called_function called_pick;    /* an indirect function */
called_function called_old;     /* of two versions */
called_function called_bad;     /* cannot be traced */
called_function called_unasked; /* exported; called only through called_table */
called_function called_nowhere __attribute__((weak)); /* defined nowhere */

double called_sum(int n, ...);                     /* of n doubles */
int called_back(called_function *function, int n); /* calls it with 0, 1, … n − 1 */
/* Ends by a jump to a hidden function, which calls FUNCTION. */
int called_inside(called_function *function, int n);
called_function *const *called_table(void);

#ifdef __cplusplus
}
#endif
