/* Marks for C++: a Traced in a function's outermost block sets the mark of its entry, and that of
 * its end whichever way it ends. Inlined always, so that it is no function of its own. */
#pragma once

#include "expect.h"
#include <exception>

class Traced {
    const char *name;
    int exceptions;

  public:
    [[gnu::always_inline]] inline explicit Traced(const char *function)
        : name(function), exceptions(std::uncaught_exceptions()) {
        expect('>', name);
    }
    Traced(const Traced &) = delete;
    Traced &operator=(const Traced &) = delete;
    [[gnu::always_inline]] inline ~Traced() {
        expect(std::uncaught_exceptions() > exceptions ? '!' : '<', name);
    }
};
