/*
 * A pattern of bytes known beforehand, with which transfers.c and partial_transfers.c check all
 * bytes that they pass on. Each program includes this file once.
 */
#pragma once

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PERIOD = 251 };

static _Atomic bool over; /* no new transfers are begun */
static bool whole;        /* each call does all that it was asked to */

static void fill_pattern(uint8_t *pattern, size_t size) {
    for (size_t i = 0; i < size; i++)
        pattern[i] = (uint8_t)(i % PERIOD);
}

/* Ends the program with the message WHAT and the value GOT unless RIGHT. */
__attribute__((noinline)) static void require(bool right, const char *what, long got) {
    if (right)
        return;
    printf("wrong: %s: %ld: %s\n", what, got, strerror(errno));
    fflush(stdout);
    _Exit(1);
}

static void rest_ms(int ms) {
    const struct timespec nap = {.tv_nsec = ms * 1000000L};
    nanosleep(&nap, NULL);
}
