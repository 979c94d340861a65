/* C++ (Itanium) and Rust (legacy and v0) names, as c++filt prints them. */
#pragma once

/* Returns a newly allocated readable name, or a copy of NAME when it is not mangled. Clone suffixes
 * (.constprop.0, .isra.0, .part.0, [clone …]) are kept. Never NULL. */
char *demangle(const char *name);
