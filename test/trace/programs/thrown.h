/* The functions of thrown.so. */
typedef int thrown_function(int);

int thrown_throw(int n);                           /* throws it */
int thrown_pass(thrown_function *function, int n); /* calls FUNCTION with n */
/* The same; catches its exception, and calls it once more from a function of its own. */
int thrown_twice(thrown_function *function, int n);
