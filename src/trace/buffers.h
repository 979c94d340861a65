/*
 * A list of free buffers for the columns of blocks. A column takes tens to hundreds of kilobytes,
 * for a millisecond; fresh pages from the kernel would cost more than filling them. Any thread.
 */
#pragma once

#include <stddef.h>

enum { BUFFER_LEAST = 32 * 1024 }; /* smaller ones are not kept */

/* Returns a buffer of at least SIZE bytes, to be freed by free() or buffer_put(). Its contents are
 * undefined. */
void *buffer_get(size_t size, size_t *ret_size);
/* Takes back a buffer of malloc() of SIZE bytes, and keeps or frees it. NULL is allowed. */
void buffer_put(void *buffer, size_t size);
