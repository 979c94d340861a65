/*
 * Least-significant-digit radix sort over (address, index) pairs, then one gather of the records.
 * Digits that all addresses share are skipped: a module's addresses differ in three or four bytes.
 * If only a few records at the end are out of order, these are sorted and merged.
 */
#include "elf/sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/types.h"

struct key {
    vaddr_t addr;
    size_t index;
};

/* Fills KEYS. Returns the bits in which addresses differ; 0: the records are in order. */
static uint64_t read_keys(const uint8_t *records, size_t count, size_t size, struct key *keys) {
    uint64_t differ = 0;
    bool ordered = true;
    for (size_t i = 0; i < count; i++) {
        memcpy(&keys[i].addr, records + i * size, sizeof keys[i].addr);
        keys[i].index = i;
        differ |= keys[i].addr ^ keys[0].addr;
        ordered &= i == 0 || keys[i - 1].addr <= keys[i].addr;
    }
    return ordered ? 0 : differ;
}

static void sort_digit(const struct key *from, struct key *to, size_t count, unsigned shift) {
    size_t start[256] = {0};
    for (size_t i = 0; i < count; i++)
        start[from[i].addr >> shift & 0xff]++;
    size_t sum = 0;
    for (size_t digit = 0; digit < 256; digit++) {
        size_t here = start[digit];
        start[digit] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++)
        to[start[from[i].addr >> shift & 0xff]++] = from[i];
}

static void gather(uint8_t *records, const struct key *keys, size_t count, size_t size) {
    AUTO_FREE uint8_t *copy = mem_resize(NULL, count, size);
    for (size_t i = 0; i < count; i++)
        memcpy(copy + i * size, records + keys[i].index * size, size);
    memcpy(records, copy, count * size);
}

static void sort_all(uint8_t *records, size_t count, size_t size) {
    if (count < 2)
        return;
    AUTO_FREE struct key *a = mem_resize(NULL, count, sizeof *a);
    uint64_t differ = read_keys(records, count, size, a);
    if (!differ)
        return;
    AUTO_FREE struct key *b = mem_resize(NULL, count, sizeof *b);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (!(differ >> shift & 0xff))
            continue;
        sort_digit(a, b, count, shift);
        struct key *swap = a;
        a = b;
        b = swap;
    }
    gather(records, a, count, size);
}

static vaddr_t address_of(const uint8_t *record) {
    vaddr_t addr;
    memcpy(&addr, record, sizeof addr);
    return addr;
}

/* The number of records at the start that are in order. */
static size_t count_ordered(const uint8_t *records, size_t count, size_t size) {
    size_t n = count ? 1 : 0;
    while (n < count && address_of(records + (n - 1) * size) <= address_of(records + n * size))
        n++;
    return n;
}

/* Merges the first COUNT records with the ADDED ones behind them, from the end. Both are in order.
 */
static void merge(uint8_t *records, size_t count, size_t added, size_t size) {
    AUTO_FREE uint8_t *copy = mem_resize(NULL, added, size);
    memcpy(copy, records + count * size, added * size);
    uint8_t *to = records + (count + added) * size;
    while (added) {
        vaddr_t addr = address_of(copy + (added - 1) * size);
        size_t stay = count;
        while (stay && address_of(records + (stay - 1) * size) > addr)
            stay--;
        to -= (count - stay) * size;
        memmove(to, records + stay * size, (count - stay) * size);
        count = stay;
        to -= size;
        memcpy(to, copy + --added * size, size);
    }
}

void sort_by_address(void *records, size_t count, size_t size) {
    size_t in_order = count_ordered(records, count, size), added = count - in_order;
    if (added > count / 4) {
        sort_all(records, count, size);
    } else if (added) {
        sort_all((uint8_t *)records + in_order * size, added, size);
        merge(records, in_order, added, size);
    }
}

/* ---- words, in place ---- */

static void sort_few(uint64_t *words, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint64_t word = words[i];
        size_t to = i;
        for (; to && words[to - 1] > word; to--)
            words[to] = words[to - 1];
        words[to] = word;
    }
}

/* Where the words of each digit begin in the order; the last number is COUNT. */
static void find_starts(const uint64_t *words, size_t count, unsigned shift, size_t start[257]) {
    memset(start, 0, 257 * sizeof *start);
    for (size_t i = 0; i < count; i++)
        start[(words[i] >> shift & 0xff) + 1]++;
    for (size_t digit = 0; digit < 256; digit++)
        start[digit + 1] += start[digit];
}

/* Each word goes to the next place of its digit, and the word there goes on in its stead. */
static void place_words(uint64_t *words, unsigned shift, const size_t start[257]) {
    size_t next[256];
    memcpy(next, start, sizeof next);
    for (size_t digit = 0; digit < 256; digit++)
        while (next[digit] < start[digit + 1]) {
            uint64_t word = words[next[digit]];
            for (size_t own; (own = word >> shift & 0xff) != digit;) {
                uint64_t there = words[next[own]];
                words[next[own]++] = word;
                word = there;
            }
            words[next[digit]++] = word;
        }
}

/* By the digit at SHIFT and those below it. */
static void sort_words_by(uint64_t *words, size_t count, unsigned shift) {
    enum { FEW = 32 };
    size_t start[257];
    if (count <= FEW) {
        sort_few(words, count);
        return;
    }
    find_starts(words, count, shift, start);
    place_words(words, shift, start);
    for (size_t digit = 0; shift && digit < 256; digit++)
        sort_words_by(words + start[digit], start[digit + 1] - start[digit], shift - 8);
}

void sort_words(uint64_t *words, size_t count) { sort_words_by(words, count, 56); }
