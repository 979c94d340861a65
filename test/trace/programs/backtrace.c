/* What a program sees of its own stack: backtrace(), _Unwind_Backtrace, return addresses, from
 * ordinary calls and from a signal handler. Prints names from a table of its own. */
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#include "expect.h"

NOINLINE int bottom(int how);
NOINLINE int middle(int how);
NOINLINE int top(int how);
int main(void);

static volatile int zero;

static const char *name_of(void *pc) {
    static const struct {
        const char *name;
        void *start;
    } functions[] = {{"bottom", (void *)bottom},
                     {"middle", (void *)middle},
                     {"top", (void *)top},
                     {"main", (void *)main}};
    const char *best = "?";
    uintptr_t nearest = 4096;
    for (int i = 0; i < 4; i++) {
        uintptr_t distance = (uintptr_t)pc - (uintptr_t)functions[i].start;
        if (distance < nearest) {
            nearest = distance;
            best = functions[i].name;
        }
    }
    return best;
}

static _Unwind_Reason_Code print_frame(struct _Unwind_Context *context, void *argument) {
    (void)argument;
    const char *name = name_of((void *)_Unwind_GetIP(context));
    if (*name != '?')
        printf(" %s", name);
    return _URC_NO_REASON;
}

static void print_backtrace(void) {
    void *frames[64];
    int count = backtrace(frames, 64);
    printf("%d frames:", count);
    for (int i = 0; i < count; i++)
        if (*name_of(frames[i]) != '?')
            printf(" %s", name_of(frames[i]));
    printf("\n");
}

static void on_signal(int signal) {
    printf("signal %d ", signal);
    print_backtrace();
}

NOINLINE int bottom(int how) {
    if (how == 0)
        print_backtrace();
    if (how == 1) {
        _Unwind_Backtrace(print_frame, NULL);
        printf("\n");
    }
    if (how == 2)
        raise(SIGUSR1);
    printf("called from %s\n", name_of(__builtin_return_address(0)));
    return how + zero;
}

NOINLINE int middle(int how) { return bottom(how + zero) + 1; }
NOINLINE int top(int how) { return middle(how + zero) * 2; }

int main(void) {
    signal(SIGUSR1, on_signal);
    for (int how = 0; how < 3; how++)
        printf("%d\n", top(how));
    puts("calls: bottom 3\ncalls: middle 3\ncalls: top 3");
    return 0;
}
