/* Demangles C++ (Itanium), Rust (legacy and v0) and D names. C++ is shown as c++filt does; Rust as
 * nm -C does, without hashes. */
#pragma once

enum language { LANGUAGE_PLAIN, LANGUAGE_CXX, LANGUAGE_RUST, LANGUAGE_D };

/* Returns a newly allocated readable name, or a copy of NAME if it is not mangled. Keeps clone
 * suffixes (.constprop.0, .isra.0, .part.0, [clone …]). Never NULL. */
char *demangle(const char *name);
/* The same. *RET: the language that NAME is mangled for; LANGUAGE_PLAIN: none. */
char *demangle_as(const char *name, enum language *ret);
/* The readable form of the mangled Rust NAME with its hashes; NULL: NAME is no such name. To be
 * freed. */
char *demangle_with_hash(const char *name);
