/* Parses values on a command line: sizes, times, numbers, words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "512", "64K", "1M", "2G", also "64k", "64KB", "64KiB"; K is 1024. False: not a size, or ≥ 2^63.
 */
bool value_size(const char *text, uint64_t *ret_bytes);
/* "10us", "1.5ms", "24.28 ms", "2s", "1m", "1h", "100ns", "100". False: not a time, or ≥ 2^63 ns.
 */
bool value_time(const char *text, uint64_t *ret_ns);
/* Like value_time(), but a plain number is seconds, as for sleep(1) and timeout(1). False also: 0.
 */
bool value_wait(const char *text, uint64_t *ret_ns);
/* "99%", "12.5%": up to 100, and 6 digits behind the point. False: not such a part. */
bool value_percent(const char *text, uint64_t *ret_millionths);
/* True if TEXT has no unit. */
bool value_is_plain(const char *text);
/* A decimal number from 1 to UINT32_MAX. */
bool value_number(const char *text, uint32_t *ret);
/* Hexadecimal, with or without 0x; below 2^64. */
bool value_address(const char *text, uint64_t *ret);
/* The index of the LENGTH bytes at TEXT in CHOICES ("a|b|c"); −1: not there. */
int value_choice(const char *text, size_t length, const char *choices);
