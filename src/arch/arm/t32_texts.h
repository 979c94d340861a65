/* T32 instructions as text: by which names, and with which operands. For t32_format.c. */
#ifndef SPOOR_ARCH_ARM_T32_TEXTS_H
#define SPOOR_ARCH_ARM_T32_TEXTS_H

#include <stdint.h>

/*
 * NAME: `*` stands for an s outside of blocks, `^` for one where bit 20 is set, `?` for 64 or 32 by
 * bit 8; a condition goes before the first dot.
 * OPERANDS: as it is, but for % and a letter:
 *
 *     a b c e        low registers at bits 0, 3, 6, 8       H M     any, of narrow ones
 *     N T D R        any, at bits 16, 12, 8, 0              L       a list of them
 *     x y v X        vectors and parts: Vd, Vn, Vm, a list  k n g   s, at Vd, Vm, Vn
 *     K O            d, at Vd and Vm
 *     3 5 z 8 4 7    constants of narrow ones               j       where it leads to, or reads
 *     i w p          modified and plain constants           h r     how a register is shifted
 *     l W V u t      fields and widths                      m       a place in memory
 *     !              if the base changes
 */
struct t32_text {
    uint32_t mask, value;
    const char *name, *operands;
};

/* Each ends with a row that fits all, without a name. */
extern const struct t32_text t32_narrow_texts[], t32_wide_texts[];

#endif
