/*
 * Fills all registers at random, holds them, and compares them. Facts: Intel SDM, volume 1, chapter
 * 13 (XSAVE areas), chapter 18 (AMX); Linux, arch/x86/xstate.rst.
 */
#include "hold.h"

#include <cpuid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    AREA_BYTES = 16384,
    LEGACY_BYTES = 512,
    XSTATE_BV = 512,
    X87_CONTROL = 0,
    X87_TAGS = 4,
    MXCSR = 24,
    X87_REGISTERS = 32,
    XMM_REGISTERS = 160,
    XMM_END = 416,
    TILE_CONFIG = 17,
    TILE_DATA = 18,
    COMPONENTS = 19,
};
/* Carry, parity, adjust, zero, sign, direction, overflow; interrupts and bit 1 are always set. */
enum { FLAGS_SET = 0xed7, FLAGS_CLEAR = 0x202 };

static uint64_t noise(void) {
    static uint64_t x = 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    return x ^= x << 17;
}

static void fill(uint8_t *at, size_t size) {
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)noise();
}

/* x87, SSE, AVX, AVX-512, and AMX WITH_TILES (a process must request it), as far as they exist. */
static uint64_t components(bool with_tiles) {
    enum { ALWAYS = 0xe7, TILES = 3 << TILE_CONFIG, ARCH_REQ_XCOMP_PERM = 0x1023 };
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    bool tiles = with_tiles && (low & TILES) == TILES &&
                 syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0;
    return low & (tiles ? ALWAYS | TILES : ALWAYS);
}

static void component(int number, uint32_t *ret_offset, uint32_t *ret_size) {
    uint32_t ecx, edx;
    __cpuid_count(0xd, number, *ret_size, *ret_offset, ecx, edx);
}

static void put(uint8_t *at, uint32_t value, size_t size) { memcpy(at, &value, size); }

/* Palette 1: all eight tiles of 16 rows of 64 bytes. */
static void configure_tiles(uint8_t *at) {
    put(at, 1, 1);
    for (int i = 0; i < 8; i++) {
        put(at + 16 + 2 * i, 64, 2);
        put(at + 48 + i, 16, 1);
    }
}

/* A state that differs everywhere from the initial one. */
static void make_up(struct held *h) {
    fill((uint8_t *)h->general, sizeof h->general);
    h->flags = FLAGS_SET;
    uint8_t *area = h->extended;
    put(area + X87_CONTROL, 0xb7f, 2); /* round up; all exceptions masked */
    put(area + X87_TAGS, 0xff, 1);     /* all in use */
    put(area + MXCSR, 0xff80, 4);      /* truncate, flush to zero; all masked */
    for (int i = 0; i < 8; i++) {
        fill(area + X87_REGISTERS + 16 * i, 7);
        put(area + X87_REGISTERS + 16 * i + 7, 0x400180, 3); /* a normal number */
    }
    fill(area + XMM_REGISTERS, XMM_END - XMM_REGISTERS);
    memcpy(area + XSTATE_BV, &h->components, sizeof h->components);
    for (int c = 2; c < COMPONENTS; c++) {
        uint32_t offset, size;
        component(c, &offset, &size);
        if (c == TILE_CONFIG && h->components >> c & 1)
            configure_tiles(area + offset);
        else if (h->components >> c & 1)
            fill(area + offset, size);
    }
}

static bool same(const struct held *a, const struct held *b) {
    enum { RCX = 1, RSP = 4 };
    for (int i = 0; i < 16; i++)
        if (i != RCX && i != RSP && a->general[i] != b->general[i])
            return false;
    if (a->flags != b->flags || memcmp(a->extended, b->extended, XMM_END) != 0)
        return false;
    for (int c = 2; c < COMPONENTS; c++) {
        uint32_t offset, size;
        component(c, &offset, &size);
        if (a->components >> c & 1 && memcmp(a->extended + offset, b->extended + offset, size) != 0)
            return false;
    }
    return true;
}

bool hold_all(bool with_tiles) {
    struct held in = {.components = components(with_tiles)}, out = in, own = in;
    in.extended = aligned_alloc(64, AREA_BYTES);
    out.extended = aligned_alloc(64, AREA_BYTES);
    own.extended = aligned_alloc(64, AREA_BYTES);
    memset(in.extended, 0, AREA_BYTES);
    memset(out.extended, 0, AREA_BYTES);
    memset(own.extended, 0, AREA_BYTES);
    make_up(&in);
    __asm__ volatile("xsave64 %0" : "+m"(*own.extended) : "a"(-1), "d"(0) : "memory");
    hold_registers(&in, &out);
    __asm__ volatile("xrstor64 %0" ::"m"(*own.extended), "a"(in.components), "d"(0) : "memory");
    put(in.extended + 28, *(uint32_t *)(out.extended + 28), 4); /* MXCSR_MASK is an output only */
    return same(&in, &out);
}
