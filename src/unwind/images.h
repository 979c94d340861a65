/* The executable memory of a process, and what the files behind it say of its calls: call-frame
 * information and Arm's unwind tables. Private to src/unwind. */
#pragma once

#include <elfutils/libdw.h>

#include "base/mem.h"
#include "unwind/frame.h"

struct image_cfi; /* of one file at one place */

struct code { /* an executable map */
    const struct map *map;
    struct image_cfi *cfi; /* NULL: not looked at yet */
};

struct images {
    struct unwind_files files;
    ARRAY(struct code) code; /* ascending */
    ARRAY(struct image_cfi *) open;
};

void images_init(struct images *images, const struct maps *maps, const struct unwind_files *files);
void images_done(struct images *images);
void images_open(struct images *images); /* all */
/* NULL: PC is not in executable memory. */
struct code *images_at(const struct images *images, taddr_t pc);
/* SIZE bytes at PC, which is in CODE, as its file has them. False: they are not known. */
bool images_bytes(struct images *images, struct code *code, taddr_t pc, void *ret, size_t size);
/* The call-frame information for PC, which is in CODE, and the link-time address of PC there. NULL:
 * there is none. SECOND: what the file has in second place, .debug_frame. */
Dwarf_CFI *images_cfi(struct images *images, struct code *code, taddr_t pc, bool second,
                      vaddr_t *ret_addr);

/* What else the file says; run-time addresses. */
struct image_facts {
    struct span exidx; /* Arm's unwind tables; empty: there are none */
    taddr_t entry;     /* where its program begins, as the file has it; 0: it says nothing */
};
struct image_facts images_facts(struct images *images, struct code *code);
/* SIZE bytes at AT of what the file of CODE has mapped, constants beside the code among it, as the
 * file has them. False: it maps nothing there, or what may be written to. */
bool images_constants(struct images *images, struct code *code, taddr_t at, void *ret, size_t size);
