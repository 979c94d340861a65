/* Applies effects of instructions (arch.stack()) to a frame, and merges frames. */
#include "plan/depth/frame.h"

enum { FARTHEST = 1 << 30 };
static const struct frame_place nowhere = {BASE_UNKNOWN, 0};

static struct frame_place displaced(struct frame_place place, int64_t displacement) {
    int64_t offset = displacement > FARTHEST || displacement < -FARTHEST
                         ? INT64_MAX
                         : place.offset + displacement;
    if (place.base == BASE_UNKNOWN || offset > FARTHEST || offset < -FARTHEST)
        return nowhere;
    return (struct frame_place){place.base, (int32_t)offset};
}

void frame_enter(struct frame *frame, const struct arch *arch) {
    *frame = (struct frame){.word = arch->word_bytes};
    frame->regs[arch->sp_register] = (struct frame_place){BASE_CFA, -arch->entry_cfa};
}

static void drop_saved(struct frame *frame, size_t i) {
    frame->saved[i] = frame->saved[--frame->saved_count];
}

/* The SIZE bytes at PLACE get an unknown value. */
static void overwrite(struct frame *frame, struct frame_place place, int32_t size) {
    for (size_t i = frame->saved_count; i-- > 0;) {
        struct frame_place at = frame->saved[i].at;
        if (at.base == place.base && at.offset < place.offset + size &&
            place.offset < at.offset + frame->word)
            drop_saved(frame, i);
    }
}

static void store(struct frame *frame, struct frame_place at, struct frame_place value) {
    overwrite(frame, at, frame->word);
    if (at.base == BASE_UNKNOWN || value.base == BASE_UNKNOWN || frame->saved_count == FRAME_SAVED)
        return;
    frame->saved[frame->saved_count].at = at;
    frame->saved[frame->saved_count++].value = value;
}

static struct frame_place load(const struct frame *frame, struct frame_place at) {
    for (size_t i = 0; at.base != BASE_UNKNOWN && i < frame->saved_count; i++) {
        if (frame_place_same(frame->saved[i].at, at))
            return frame->saved[i].value;
    }
    return nowhere;
}

/* A callee may use the memory below the stack pointer. */
static void forget_below(struct frame *frame, struct frame_place sp) {
    for (size_t i = frame->saved_count; i-- > 0;) {
        if (frame->saved[i].at.base == sp.base && frame->saved[i].at.offset < sp.offset)
            drop_saved(frame, i);
    }
}

/* An instruction rounds again and makes BASE anew. Places of the old base become unknown. */
static void forget_base(struct frame *frame, uint32_t base) {
    for (size_t i = 0; i < STACK_REGISTERS; i++) {
        if (frame->regs[i].base == base)
            frame->regs[i] = nowhere;
    }
    for (size_t i = frame->saved_count; i-- > 0;) {
        if (frame->saved[i].at.base == base || frame->saved[i].value.base == base)
            drop_saved(frame, i);
    }
}

static struct frame_place reg_of(const struct frame *frame, uint8_t reg) {
    return reg < STACK_REGISTERS ? frame->regs[reg] : nowhere;
}

static void pop_into(struct frame *frame, struct frame_place *sp, uint8_t reg) {
    struct frame_place value = load(frame, *sp);
    *sp = displaced(*sp, frame->word);
    if (reg < STACK_REGISTERS)
        frame->regs[reg] = value;
}

static void round_down(struct frame *frame, const struct stack_effect *e, uint32_t rounded) {
    bool known = reg_of(frame, e->base).base != BASE_UNKNOWN;
    forget_base(frame, rounded);
    frame->regs[e->reg] = known ? (struct frame_place){rounded, 0} : nowhere;
}

void frame_step(struct frame *frame, const struct arch *arch, const struct stack_effect *e,
                uint32_t rounded) {
    struct frame_place *sp = &frame->regs[arch->sp_register];
    struct frame_place base = reg_of(frame, e->base), value = reg_of(frame, e->reg);
    for (uint32_t i = 0, changed = e->changed; changed; i++, changed >>= 1) {
        if (changed & 1)
            frame->regs[i] = nowhere;
    }
    switch ((enum stack_op)e->op) {
    case STACK_NONE:
        return;
    case STACK_SET:
        frame->regs[e->reg] = displaced(base, e->displacement);
        return;
    case STACK_ALIGN:
        round_down(frame, e, rounded);
        return;
    case STACK_LOAD:
        frame->regs[e->reg] = load(frame, displaced(base, e->displacement));
        return;
    case STACK_STORE:
        if (e->size == frame->word)
            store(frame, displaced(base, e->displacement), value);
        else
            overwrite(frame, displaced(base, e->displacement), e->size);
        return;
    case STACK_PUSH:
        *sp = displaced(*sp, -frame->word);
        store(frame, *sp, value);
        return;
    case STACK_POP:
        pop_into(frame, sp, e->reg);
        return;
    case STACK_LEAVE:
        *sp = value;
        pop_into(frame, sp, e->reg);
        return;
    case STACK_CALL:
        forget_below(frame, *sp);
        return;
    }
}

bool frame_merge(struct frame *frame, const struct frame *other) {
    bool changed = false;
    for (size_t i = 0; i < STACK_REGISTERS; i++) {
        if (frame->regs[i].base != BASE_UNKNOWN &&
            !frame_place_same(frame->regs[i], other->regs[i])) {
            frame->regs[i] = nowhere;
            changed = true;
        }
    }
    for (size_t i = frame->saved_count; i-- > 0;) {
        if (frame_place_same(load(other, frame->saved[i].at), frame->saved[i].value))
            continue;
        drop_saved(frame, i);
        changed = true;
    }
    return changed;
}
