/* Demangles C++ (Itanium) and Rust (legacy and v0) names, as c++filt does. */
#pragma once

/* Returns a newly allocated readable name, or a copy of NAME if it is not mangled. Keeps clone
 * suffixes (.constprop.0, .isra.0, .part.0, [clone …]). Never NULL. */
char *demangle(const char *name);
