/*
 * What stays the same of a name when a program is built anew. Optimizers make copies of a function
 * and parts of it, and name them by suffixes; libraries have their version in the file name.
 */
#pragma once

/*
 * The readable NAME without the suffixes of copies and parts: .isra, .constprop, .part, .cold,
 * .lto_priv, .localalias, .llvm, .specialized, each with its numbers, and the same in brackets
 * ("f(int) [clone .isra.0]"). Others stay: "[clone .actor]" is a coroutine's own function. To be
 * freed.
 */
char *stem_of_name(const char *name);

/* A module's file name without version: "libfoo.so" of libfoo.so.1.2, "libc.so" of libc-2.36.so.
 * To be freed. */
char *stem_of_module(const char *name);
