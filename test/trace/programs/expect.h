/*
 * A test program's account of its own calls. It is printed to standard output among the program's
 * other output. run.py compares it with spoor's trace:
 *
 *     |THREAD[.STACK[@ORDER]] MARK FUNCTION
 *
 * MARK is > for an entry, < for an exit by return or tail jump, ! for a call that ended otherwise
 * (exception, longjmp, end of the thread), + for a call that a forked process begins with. Marks of
 * one thread are in the order of time.
 *
 * STACK distinguishes the stacks of one thread; 0 (left out) is its own. Stacks from EXPECT_SHARED
 * on belong to the program. ORDER gives the order of their marks over all threads.
 *
 * FUNCTION may be MODULE!NAME for functions of other modules, which only -M traces. NAME is as
 * spoor shows it: demangled, with parameters.
 *
 * Marks may be set in signal handlers and in any thread. The functions of this file are not
 * compared.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum { EXPECT_THREADS = 256, EXPECT_MARKS = 6000, EXPECT_SHARED = 200 };

/* FUNCTION must stay valid. */
void expect(char mark, const char *function);
/* Several marks, each a string like "> name"; ends with NULL. */
void expect_all(const char *first, ...) __attribute__((sentinel));
/* From now on the calling thread's marks count as those of THREAD; the first thread is 0. */
void expect_thread(int thread);
/* From now on the calling thread's marks are of STACK. */
void expect_stack(int stack);
/* In a forked child: forgets all marks and becomes THREAD, which begins with the open calls. */
void expect_forget(int thread);
/* In a child of vfork: becomes THREAD, which begins with the open calls. */
void expect_forked(int thread);
/* Prints all marks and forgets them. */
void expect_print(void);

#ifdef __cplusplus
}
#endif

#define NOINLINE __attribute__((noinline))
#define ENTER expect('>', __func__)
#define LEAVE expect('<', __func__)
#define UNWOUND expect('!', __func__)

/* Calls FUNCTION, which is too small to set marks itself, and sets its marks. */
#define LEAF(function, ...)                                                                        \
    __extension__({                                                                                \
        expect('>', #function);                                                                    \
        __auto_type leaf_result = function(__VA_ARGS__);                                           \
        expect('<', #function);                                                                    \
        leaf_result;                                                                               \
    })
