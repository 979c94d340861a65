/*
 * MD5 (RFC 1321). Compilers write it into debugging information, to tell whether a source file is
 * still the one that they read. It is no protection against a file that is made to look like it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { MD5_BYTES = 16 };

void md5(const void *bytes, size_t size, uint8_t ret[MD5_BYTES]);
