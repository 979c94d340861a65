/* Copies registers to the library and back, and lets it make one step. */
#include "unwind/code.h"

bool code_step(const struct spoor_image *image, struct machine *m, uint64_t psp,
               struct code_frame *frame) {
    bool is_arm = image->isa != SPOOR_ISA_A64;
    unsigned sp = is_arm ? SPOOR_SP : SPOOR_A64_SP, pc = is_arm ? SPOOR_PC : SPOOR_A64_PC;
    struct spoor_regs regs = {.known = m->known, .psp = psp};
    struct spoor_walk walk;
    struct spoor_frame found;
    for (unsigned i = 0; i < m->count; i++)
        regs.r[i] = m->registers[i];
    regs.r[pc] = frame->pc;
    spoor_walk_begin(&walk, image, &regs, frame->exact ? SPOOR_INTERRUPTED : SPOOR_AT_CALL);
    enum spoor_result result = spoor_walk_next(&walk, &found); /* the frame itself */
    if (result == SPOOR_FRAME)
        result = spoor_walk_next(&walk, &found);
    if (result != SPOOR_FRAME || !(walk.regs.known >> sp & 1))
        return false;
    for (unsigned i = 0; i < m->count; i++)
        m->registers[i] = walk.regs.r[i];
    m->known = walk.regs.known;
    *frame =
        (struct code_frame){found.pc, found.interrupted, found.by, found.trust == SPOOR_PROVEN};
    return true;
}
