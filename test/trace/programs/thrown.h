/* The functions of thrown.so. */
typedef int thrown_function(int);

int thrown_throw(int n);                            /* throws it */
int thrown_pass(thrown_function *function, int n);  /* calls it with n */
int thrown_twice(thrown_function *function, int n); /* the same, catches what it throws, and once
                                                       more from a function of its own */
