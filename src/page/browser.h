/* Shows the page to the user. */
#pragma once

#include <stdbool.h>

/* Opens URL in the user's browser, as a program of its own. Its failure is no error of spoor's.
 * Where no browser can show it (under ssh, without a display), tells on standard error how to see
 * it from another machine. */
void browser_open(const char *url, unsigned port);
