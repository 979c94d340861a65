/*
 * The tool changes registers of a stopped thread as kernel and processor would (arch/arm/regs.c,
 * bridge.c). The kernel returns from a signal frame that the tool wrote; the tool recognizes
 * frames that the kernel wrote; code runs on the bridge as in its place.
 */
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "arch/arm/stub.h"
#include "arch/arm_agent.h"
#include "arch/bridge.h"
#include "machine.h"

enum { CALL = CODE_LOW + 0x100, FRAME = STACK + 0x8000, AREA = GROUND + 0x20000 };
enum { FROM = CODE_LOW + 0x400, SAVED = STACK + 0x9000 };

static void *pointer(uint32_t at) { return (void *)(uintptr_t)at; } /* NOLINT: a number given */

/* ---- signal frames ---- */

/* A remote call's `svc #0` at CALL, with the call's registers, returns from FRAME. */
static void check_return(uint32_t seed, bool t32) {
    struct machine frame, call, out;
    static uint8_t bytes[4096];
    const uint32_t svc = 0xef000000;
    const uint64_t mask = UINT64_C(1) << (SIGUSR2 - 1) | UINT64_C(1) << 40, none[6] = {0};
    uint8_t vectors[32 * 8 + 4];
    machine_clear();
    machine_write(CALL, &svc, sizeof svc);
    machine_fill(&frame, seed);
    machine_fill(&call, seed + 1);
    regs_set_pc(&frame.regs, FROM);
    regs_set_state(&frame.regs, t32, 0);
    machine_end(FROM, t32);
    memcpy(vectors, frame.vectors, sizeof frame.vectors);
    memcpy(vectors + sizeof frame.vectors, &frame.vector_control, sizeof frame.vector_control);
    regs_signal_frame(bytes, FRAME, &frame.regs, mask,
                      &(struct regs_extended){vectors, sizeof vectors});
    memcpy(pointer(FRAME), bytes, regs_signal_frame_size(sizeof vectors));
    regs_set_state(&call.regs, true, 0x08);
    regs_set_syscall(&call.regs, CALL, FRAME + REGS_FRAME_SP, SYS_rt_sigreturn, none);
    machine_run(&call, &out);
    machine_compare("a frame that the tool wrote", &frame, &out);
    if (machine_mask() != mask)
        machine_fail("a frame that the tool wrote", "has another mask");
}

static uint32_t known_pc, known_sp, known_link, found;

/* The tool finds the signal frame of this stack among the words above, and the registers in it. */
static void look(const void *frame, size_t offset) {
    const uint32_t *words = frame;
    struct regs_context context;
    for (size_t i = 0; i < 300; i++)
        if (regs_look_like_context(words + i, &context) && context.pc == known_pc &&
            context.sp == known_sp && context.link == known_link)
            found++;
    const uint8_t *at = (const uint8_t *)frame + offset;
    if (memcmp(at + regs_signal_offset(REGS_DWARF_PC), &known_pc, 4) != 0 ||
        memcmp(at + regs_signal_offset(REGS_DWARF_SP), &known_sp, 4) != 0)
        machine_fail("a kernel's frame", "has pc or sp elsewhere");
}

/* The code that a handler returns to, and where that code expects the frame. */
static void check_frame(struct machine_entry entry) {
    size_t offset = 77;
    uint8_t code[REGS_SIGNAL_RETURN_BYTES];
    memcpy(code, pointer(entry.back & ~1U), sizeof code);
    if (!regs_is_signal_return(code, &offset)) {
        machine_fail("a handler's way back", "is not known");
        return;
    }
    look(pointer(entry.sp), offset);
}

static void check_frames(void) {
    struct machine in, out;
    for (int i = 0; i < 4; i++) {
        bool t32 = i & 1, wants_info = i & 2;
        machine_clear();
        machine_fill(&in, (uint32_t)i);
        regs_set_pc(&in.regs, known_pc = FROM);
        regs_set_state(&in.regs, t32, 0);
        machine_end(FROM, t32);
        known_sp = in.regs.raw.uregs[13];
        known_link = in.regs.raw.uregs[14] & ~UINT32_C(1);
        machine_look(wants_info, check_frame);
        machine_run(&in, &out);
    }
    machine_look(true, NULL);
    if (found != 4)
        machine_fail("kernel's frames", "are not found once each");
}

/* ---- system calls ---- */

static void check_results(void) {
    static const struct {
        uint32_t r0;
        int64_t result;
    } all[] = {{0, 0},
               {5, 5},
               {0xfffff000, 0xfffff000},
               {0xfffff001, -4095},
               {0xffffffff, -1},
               {0xb6f00000, 0xb6f00000}};
    struct regs regs = {0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        regs.raw.uregs[0] = all[i].r0;
        if (regs_syscall_result(&regs) != all[i].result)
            machine_fail("a call's result", "is another");
    }
}

static void check_interrupted(void) {
    struct regs regs = {0};
    regs.raw.uregs[7] = SYS_epoll_wait;
    regs.raw.uregs[0] = (uint32_t)-4;
    regs.raw.uregs[15] = FROM;
    regs.raw.uregs[ORIGINAL_R0] = 3;
    if (!regs_is_interrupted(&regs))
        machine_fail("a call that was interrupted", "is not known");
    regs_set_state(&regs, true, 0);
    regs_call_again(&regs);
    if (regs.raw.uregs[0] != 3 || regs.raw.uregs[15] != FROM - 2)
        machine_fail("a call of T32", "is not restarted");
    regs.raw.uregs[0] = (uint32_t)-4;
    regs.raw.uregs[7] = SYS_ioctl;
    if (regs_is_interrupted(&regs))
        machine_fail("a call that is for the program to make again", "is made");
    regs.raw.uregs[1] = (uint32_t)SECCOMP_IOCTL_NOTIF_RECV;
    if (!regs_is_interrupted(&regs))
        machine_fail("a wait for others' calls", "is not known");
    regs.raw.uregs[ORIGINAL_R0] = UINT32_MAX; /* no system call is to be restarted */
    if (regs_is_interrupted(&regs))
        machine_fail("what is no call", "is one");
}

/* ---- the bridge ---- */

struct piece {
    const char *what;
    uint16_t code[12];
    uint8_t halves, fits; /* halves: the piece's size; fits: how many of them run on the bridge */
    bool t32;
    uint8_t block, shift;
};
static const struct piece pieces[] = {
    {"add; mov; b", {0x0001, 0xe080, 0x2003, 0xe1a0, 0xfffe, 0xeaff}, 6, 4, false, 0, 0},
    {"push; movw; bx", {0x0007, 0xe92d, 0x1234, 0xe301, 0xff1e, 0xe12f}, 6, 4, false, 0, 0},
    {"sbc; adr", {0x0001, 0xe0c1, 0x0038, 0xe28f}, 4, 2, false, 0, 0},
    {"svc", {0x0000, 0xef00}, 2, 0, false, 0, 0},
    {"adds; mov; pop", {0x1840, 0x4610, 0xbd10}, 3, 2, true, 0, 0},
    {"the same two bytes on", {0x1840, 0x4610, 0xbd10}, 3, 2, true, 0, 2},
    {"add.w; ite; …", {0xeb00, 0x0001, 0xbf0c, 0x2001, 0x1889, 0x4770}, 6, 5, true, 0, 0},
    {"the rest of a block, eq, ne", {0x2001, 0x1889, 0x4770}, 3, 2, true, 0x0c, 0},
    {"the rest of a block, hi", {0x1c52, 0x4770}, 2, 1, true, 0x88, 2},
    {"a block with a branch", {0x2001, 0x4770}, 2, 0, true, 0x04, 0},
};

/* On the bridge the code has the same effect as at FROM, and continues behind it. */
static void check_crossing(const struct piece *p, uint32_t seed) {
    struct machine in, here, there;
    uint8_t written[BRIDGE_WRITTEN], code[sizeof p->code];
    const uint32_t from = FROM + p->shift, size = 2U * p->fits;
    struct bridge_notes notes = {.mask = 0, .from = from, .saved = SAVED};
    machine_clear();
    memcpy(code, p->code, sizeof code);
    machine_fill(&in, seed);
    regs_set_pc(&in.regs, from);
    regs_set_state(&in.regs, p->t32, p->block);
    if (bridge_fit(&in.regs, code, 2U * p->halves) != size) {
        machine_fail(p->what, "fits in another size");
        return;
    }
    notes.back = regs_code_pointer(&in.regs, from + size);
    machine_write(from, code, size);
    machine_end(from + size, p->t32);
    machine_run(&in, &here);
    machine_write(AREA, arm_agent_bytes, arm_agent_size);
    if (!size || bridge_write(code, &notes, AREA, written) < 0)
        return;
    machine_write((uint32_t)bridge_at(AREA), written, sizeof written);
    machine_write((uint32_t)bridge_notes_at(AREA), &notes, sizeof notes);
    in.regs.raw.uregs[15] = (uint32_t)bridge_at(AREA);
    machine_run(&in, &there);
    machine_compare(p->what, &here, &there);
}

/* A thread at the gate gets back the registers that the gate has saved. */
static void check_leaving(void) {
    const struct arm_agent_labels e = arm_agent_labels();
    const uint32_t words[BRIDGE_WORDS] = {10, 11, 12, 13, 17};
    struct bridge_notes notes = {.from = FROM, .back = (FROM + 6) | 1};
    struct machine m;
    machine_fill(&m, 3);
    regs_set_pc(&m.regs, AREA + e.gate_saved);
    if (!bridge_leave(&m.regs, AREA, &notes, words) || regs_pc(&m.regs) != FROM + 6 ||
        !regs_is_other(&m.regs) || m.regs.raw.uregs[2] != 12 || m.regs.raw.uregs[7] != 17)
        machine_fail("the gate", "is not left");
    regs_set_pc(&m.regs, AREA + e.bridge + 4);
    if (!bridge_leave(&m.regs, AREA, &notes, words) || regs_pc(&m.regs) != FROM + 4)
        machine_fail("the bridge", "is not left");
    regs_set_pc(&m.regs, AREA + e.bridge + 8);
    if (bridge_leave(&m.regs, AREA, &notes, words))
        machine_fail("the bridge", "accepts a pc behind its code");
}

int main(void) {
    machine_open();
    for (uint32_t seed = 0; seed < 16; seed++)
        check_return(seed, seed & 1);
    check_frames();
    check_results();
    check_interrupted();
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        for (uint32_t seed = 0; seed < 16; seed++)
            check_crossing(&pieces[i], seed);
    check_leaving();
    return machine_failures != 0;
}
