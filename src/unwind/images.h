/* The executable memory of a process, and what its files say about calls: call-frame information
 * and Arm's unwind tables. Private to src/unwind. */
#pragma once

#include <elfutils/libdw.h>

#include "base/mem.h"
#include "unwind/frame.h"

struct image_cfi; /* one file, mapped at one bias */

struct code { /* an executable map */
    const struct map *map;
    struct image_cfi *cfi; /* NULL: not opened yet */
};

struct images {
    struct unwind_files files;
    ARRAY(struct code) code; /* ascending */
    ARRAY(struct image_cfi *) open;
};

void images_init(struct images *images, const struct maps *maps, const struct unwind_files *files);
void images_done(struct images *images);
void images_open(struct images *images); /* opens all files now */
/* The executable map around PC; NULL: there is none. */
struct code *images_at(const struct images *images, taddr_t pc);
/* Copies SIZE bytes at PC, which is in CODE, from CODE's file. False: it has none. */
bool images_bytes(struct images *images, struct code *code, taddr_t pc, void *ret, size_t size);
/* The call-frame information for PC, which is in CODE, and PC's link-time address there. SECOND:
 * .debug_frame instead of .eh_frame. NULL: the file has none. */
Dwarf_CFI *images_cfi(struct images *images, struct code *code, taddr_t pc, bool second,
                      vaddr_t *ret_addr);

/* What else a file says, as run-time addresses. */
struct image_facts {
    struct span exidx; /* Arm's unwind tables (.ARM.exidx); empty: none */
    taddr_t entry;     /* the ELF entry point; 0: none */
};
struct image_facts images_facts(struct images *images, struct code *code);
/* Copies SIZE bytes at AT from the read-only segments of CODE's file, such as constants beside the
 * code. False: no such segment holds them. */
bool images_constants(struct images *images, struct code *code, taddr_t at, void *ret, size_t size);
