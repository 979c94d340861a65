/* A client of debuginfod servers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Fetches the debug file of BUILD_ID from the servers in DEBUGINFOD_URLS. Returns a descriptor, or
 * -1. */
int debuginfod_open(const uint8_t *build_id, size_t size);
