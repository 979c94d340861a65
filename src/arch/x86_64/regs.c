/*
 * Registers of stopped x86-64 threads. Facts: System V ABI, AMD64; Intel SDM, volume 1, chapter 13
 * (XSAVE areas); Linux arch/x86/kernel/signal.c (restart of system calls, signal frames) and
 * arch/x86/include/uapi/asm/sigcontext.h.
 */
#include "arch/regs.h"

#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "arch/interrupted.h"
#include "arch/remainder.h"
#include "arch/x86_64/stub.h"

/* Linux include/linux/errno.h: seen by tracers only. */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516 };
enum { SYSCALL_BYTES = 2, NO_SYSCALL = -1 };

taddr_t regs_pc(const struct regs *regs) { return regs->raw.rip; }
void regs_set_pc(struct regs *regs, taddr_t pc) { regs->raw.rip = pc; }
taddr_t regs_sp(const struct regs *regs) { return regs->raw.rsp; }
void regs_set_sp(struct regs *regs, taddr_t sp) { regs->raw.rsp = sp; }

void regs_set_slice(struct regs *regs, const uint64_t values[SLICE_REGISTERS], taddr_t sp,
                    uint64_t top) {
    struct user_regs_struct *r = &regs->raw;
    r->rip = top;
    r->rsp = sp + sizeof top;
    r->rbx = values[0], r->rbp = values[1], r->r12 = values[2];
    r->r13 = values[3], r->r14 = values[4], r->r15 = values[5];
}

taddr_t regs_lane(const struct regs *regs) { return regs->raw.gs_base; }

/* System V ABI, AMD64, figure 3.36 "DWARF Register Number Mapping". */
void regs_dwarf(const struct regs *regs, uint64_t ret[REGS_DWARF_COUNT]) {
    const struct user_regs_struct *r = &regs->raw;
    const uint64_t order[REGS_DWARF_COUNT] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
                                              r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
                                              r->r12, r->r13, r->r14, r->r15, r->rip};
    memcpy(ret, order, sizeof order);
}

bool regs_link(const uint64_t registers[REGS_DWARF_COUNT], uint64_t *ret) {
    (void)registers, (void)ret;
    return false;
}

taddr_t regs_plain_address(uint64_t kept) { return kept; }
taddr_t regs_kept_address(uint64_t kept) { return regs_plain_address(kept); }

void regs_set_syscall(struct regs *regs, taddr_t code, taddr_t sp, long number,
                      const uint64_t args[6]) {
    enum { CODE = 0x33, STACK = 0x2b }; /* __USER_CS, __USER_DS: the thread may be in 32-bit code */
    struct user_regs_struct *r = &regs->raw;
    r->cs = CODE;
    r->ss = STACK;
    r->rip = code;
    r->rsp = sp;
    r->rax = (uint64_t)number;
    r->orig_rax = (uint64_t)NO_SYSCALL;
    r->rdi = args[0];
    r->rsi = args[1];
    r->rdx = args[2];
    r->r10 = args[3];
    r->r8 = args[4];
    r->r9 = args[5];
}

void regs_set_series(struct regs *regs, taddr_t code, taddr_t sp, taddr_t table, size_t count) {
    static const uint64_t none[6];
    regs_set_syscall(regs, code, sp, 0, none);
    regs->raw.rbx = table;
    regs->raw.rbp = count;
}

taddr_t regs_series_entry(const struct regs *regs) { return regs->raw.rbx; }

/* The call's registers, with the result in place of the number. */
void regs_set_syscall_result(struct regs *regs, int64_t result, const uint64_t args[6]) {
    regs_set_syscall(regs, regs->raw.rip, regs->raw.rsp, result, args);
}

int64_t regs_syscall_result(const struct regs *regs) { return (int64_t)regs->raw.rax; }

bool regs_call(const struct regs *regs, long *ret_number, uint64_t *ret_argument) {
    *ret_number = (long)regs->raw.orig_rax;
    *ret_argument = regs->raw.rdi;
    return *ret_number >= 0;
}

bool regs_past_call(const struct regs *regs, struct past_call *ret) {
    const struct user_regs_struct *r = &regs->raw;
    *ret = (struct past_call){.number = (long)r->orig_rax,
                              .args = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9},
                              .result = (int64_t)r->rax};
    return ret->number >= 0;
}

/* Makes the thread issue its call once more. */
static void repeat_call(struct user_regs_struct *r, uint64_t number) {
    r->rax = number;
    r->rip -= SYSCALL_BYTES;
    r->orig_rax = (uint64_t)NO_SYSCALL;
}

void regs_postpone_syscall(struct regs *regs) { repeat_call(&regs->raw, regs->raw.orig_rax); }

bool regs_lane_taken(const struct regs *regs) { return regs->raw.gs_base || regs->raw.gs; }

bool regs_call_sets_lane(long number, uint64_t argument) {
    return number == SYS_arch_prctl && argument == ARCH_SET_GS;
}

/* orig_rax is negative outside of calls. */
bool regs_would_restart(const struct regs *regs) {
    const struct user_regs_struct *r = &regs->raw;
    const int64_t result = (int64_t)r->rax;
    return (int64_t)r->orig_rax >= 0 &&
           (result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
            result == -ERESTART_RESTARTBLOCK);
}

void regs_finish_restart(struct regs *regs) {
    struct user_regs_struct *r = &regs->raw;
    if (regs_would_restart(regs))
        repeat_call(r, r->orig_rax);
    else if ((int64_t)r->orig_rax >= 0)
        r->orig_rax = (uint64_t)NO_SYSCALL;
}

bool regs_restart_interrupted(struct regs *regs) {
    struct user_regs_struct *r = &regs->raw;
    struct past_call past;
    if (regs_past_call(regs, &past) && call_can_be_repeated(&past)) {
        r->rax = (uint64_t)-ERESTARTSYS;
        return true;
    }
    if ((int64_t)r->rax != -4 /* EINTR */)
        return false;
    bool found = is_interrupted_by_stops(r->orig_rax, r->rsi);
    if (found)
        r->rax = (uint64_t)-ERESTARTNOHAND;
    return found;
}

bool regs_restart_interrupted_32(struct regs *regs) {
    /* Linux arch/x86/entry/syscalls/syscall_32.tbl: the calls of interrupted.h, and those that
     * multiplex them (ipc, socketcall). */
    enum { IOCTL = 54 };
    static const uint16_t calls[] = {3,   4,   102, 117, 145, 146, 177, 247, 256,
                                     319, 337, 345, 362, 364, 369, 370, 371, 372,
                                     385, 416, 417, 420, 421, 426, 441};
    struct user_regs_struct *r = &regs->raw;
    if ((int32_t)r->rax != -4 /* EINTR */)
        return false;
    bool found = r->orig_rax == IOCTL && is_notification_wait(SYS_ioctl, (uint32_t)r->rcx);
    for (size_t i = 0; i < sizeof calls / sizeof *calls && !found; i++)
        found = r->orig_rax == calls[i];
    if (found)
        r->rax = (uint64_t)-ERESTARTNOHAND;
    return found;
}

enum { TRAP_FLAG = 0x100 };
bool regs_trap_flag(const struct regs *regs) { return regs->raw.eflags & TRAP_FLAG; }
void regs_set_trap_flag(struct regs *regs, bool set) {
    regs->raw.eflags = (regs->raw.eflags & ~(uint64_t)TRAP_FLAG) | (set ? TRAP_FLAG : 0);
}

enum agent_place regs_agent_place(const struct regs *regs, taddr_t area) {
    struct agent_entries entries = agent_entries();
    uint64_t offset = regs->raw.rip - area;
    if (offset >= entries.bridge && offset < entries.gate_end)
        return AGENT_BRIDGE;
    if (offset >= entries.room && offset < entries.captures_end)
        return AGENT_RELEASED;
    if (offset < entries.wait || offset >= entries.syscall)
        return AGENT_OUTSIDE;
    if (offset >= entries.hook)
        return AGENT_HOOK;
    if (offset >= entries.slice)
        return AGENT_RELEASED;
    if (offset >= entries.drop_counted)
        return AGENT_DROPPED;
    bool reserved = (offset >= entries.wait && offset < entries.wait_released) ||
                    (offset >= entries.drop && offset < entries.drop_released);
    return reserved ? AGENT_RESERVED : AGENT_RELEASED;
}

taddr_t regs_agent_return(const struct regs *regs, taddr_t area, bool *ret_other) {
    struct agent_entries entries = agent_entries();
    uint64_t offset = regs->raw.rip - area;
    *ret_other = false;
    return offset >= entries.hook_clock && offset < entries.hook_clocked ? regs->raw.rcx
                                                                         : regs->raw.rdx;
}

bool regs_read_fault(const struct regs *regs, taddr_t area, taddr_t *ret_back) {
    const struct agent_entries entries = agent_entries();
    const uint64_t offset = regs->raw.rip - area;
    *ret_back = regs->raw.rdx;
    return offset >= entries.text && offset < entries.captures_end;
}

bool regs_skip_agent_clock(struct regs *regs, taddr_t area) {
    enum { RDTSC_BYTES = 2 };
    if (regs->raw.rip - area != agent_entries().hook_clock)
        return false;
    regs->raw.rip += RDTSC_BYTES;
    regs->raw.rax = regs->raw.rdx = 0;
    return true;
}

/* The slot is reserved by a single instruction, so the state is never unsure. */
bool regs_slot_is_reserved(const struct regs *regs) {
    (void)regs;
    return true;
}

void regs_arguments(const struct regs *regs, uint64_t ret[REGS_ARGUMENTS]) {
    ret[0] = regs->raw.rdi;
    ret[1] = regs->raw.rsi;
    ret[2] = regs->raw.rdx;
}

/* The gs base holds the lane, and each thread has its own. */
bool regs_has_lane(const struct regs *regs, taddr_t at) {
    (void)regs, (void)at;
    return true;
}

bool regs_return_address(const struct regs *regs, taddr_t *ret) {
    (void)regs, (void)ret;
    return false;
}

taddr_t regs_stub_value(const struct regs *regs, uint8_t variant, uint32_t site) {
    (void)site;
    if (stub_is_plain(variant))
        return regs->raw.rsp;
    if (variant & STUB_GO_FIRST)
        return regs->raw.rax;
    return variant & STUB_GO_SECOND ? regs->raw.rbx : regs->raw.rsp;
}

void regs_leave_stub(struct regs *regs, uint8_t variant, const struct stub_state *state,
                     const uint64_t *words) {
    struct user_regs_struct *r = &regs->raw;
    unsigned long long *order[7];
    int n = 0;
    unsigned long long flags = r->eflags;
    if (variant & STUB_SAVE_FLAGS)
        order[n++] = &flags;
    order[n++] = &r->rax;
    order[n++] = &r->rdx;
    order[n++] = &r->rcx;
    if ((variant & STUB_SLICE || stub_captures(variant)) && !stub_judges(variant))
        order[n++] = &r->rsi;
    if (stub_stores_values(variant)) {
        order[n++] = &r->rdi;
        order[n++] = &r->r8;
    }
    for (int i = 0; i < state->pushed && i < n; i++)
        *order[i] = words[state->pushed - 1 - i];
    /* The trap flag belongs to the tracer that steps the thread now. */
    r->eflags = (flags & ~(uint64_t)TRAP_FLAG) | (r->eflags & TRAP_FLAG);
    r->rsp += state->pushed * 8u + (state->skipped ? 128u : 0u);
}

bool regs_is_stub_code(bool other, const uint8_t *code, size_t size) {
    (void)other, (void)code, (void)size;
    return false;
}

bool regs_find_stub_end(bool other, const uint8_t *code, size_t size, size_t *ret) {
    (void)other, (void)code, (void)size, (void)ret;
    return false;
}

/* struct rt_sigframe, arch/x86/include/asm/sigframe.h */
struct signal_frame {
    uint64_t return_address;
    struct {
        uint64_t flags, link;
        stack_t stack;
        struct {
            uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip;
            uint64_t flags;
            uint16_t cs, gs, fs, ss;
            uint64_t error, trap, oldmask, cr2, fpstate, reserved[8];
        } mc;
        uint64_t sigmask;
    } uc;
};

_Static_assert(offsetof(struct signal_frame, uc.mc.sp) - offsetof(struct signal_frame, uc.stack) ==
                   REGS_CONTEXT_STACK * sizeof(regs_word_t),
               "words from struct sigaltstack to the context words");

bool regs_is_signal_return(const uint8_t bytes[REGS_SIGNAL_RETURN_BYTES], size_t *ret_frame) {
    static const uint8_t wide[] = {0x48, 0xc7, 0xc0, SYS_rt_sigreturn, 0, 0, 0, 0x0f, 0x05};
    static const uint8_t narrow[] = {0xb8, SYS_rt_sigreturn, 0, 0, 0, 0x0f, 0x05};
    *ret_frame = 0;
    return memcmp(bytes, wide, sizeof wide) == 0 || memcmp(bytes, narrow, sizeof narrow) == 0;
}

/* Not needed: call-frame information marks the outermost frame. */
bool regs_is_thread_end(const uint8_t bytes[REGS_SIGNAL_RETURN_BYTES]) {
    (void)bytes;
    return false;
}

taddr_t regs_in_state(taddr_t pc, uint64_t state) {
    (void)state;
    return pc;
}

size_t regs_signal_offset(int number) {
#define OF(reg) offsetof(struct signal_frame, uc.mc.reg)
    static const uint16_t order[REGS_DWARF_COUNT] = {
        OF(ax), OF(dx),  OF(cx),  OF(bx),  OF(si),  OF(di),  OF(bp),  OF(sp), OF(r8),
        OF(r9), OF(r10), OF(r11), OF(r12), OF(r13), OF(r14), OF(r15), OF(ip)};
#undef OF
    return order[number] - sizeof(uint64_t); /* the return address is gone */
}

enum { XSTATE_ALIGN = 64, SW_RESERVED = 464, XFEATURES = 512, XSTATE_LEAST = 576 };
enum { FIRST_EXTENDED = 2, COMPONENTS = 63 };                   /* before the first: x87 and SSE */
static const uint32_t MAGIC1 = 0x46505853, MAGIC2 = 0x46505845; /* asm/sigcontext.h */
enum { UC_FP_XSTATE = 1, UC_SIGCONTEXT_SS = 2, UC_STRICT_RESTORE_SS = 4 };

static size_t xstate_offset(void) {
    return (sizeof(struct signal_frame) + 128 + XSTATE_ALIGN - 1) & ~(size_t)(XSTATE_ALIGN - 1);
}

size_t regs_signal_frame_size(size_t extended_size) { return xstate_offset() + extended_size + 64; }

/* Ends of the components of an XSAVE area, by number; 0: no such component. The processor is asked
 * once: in a virtual machine each answer takes microseconds, and each remote call needs a frame,
 * while the program is stopped. */
static const size_t *component_ends(void) {
    enum { STATE = 0xd };
    static size_t ends[COMPONENTS];
    static bool known;
    uint32_t low, high, size, offset, unused;
    if (known)
        return ends;
    known = true;
    __cpuid_count(STATE, 0, low, unused, unused, high);
    const uint64_t user_components = (uint64_t)high << 32 | low;
    for (int i = FIRST_EXTENDED; i < COMPONENTS; i++) {
        if (!(user_components >> i & 1))
            continue;
        __cpuid_count(STATE, i, size, offset, unused, unused);
        ends[i] = (size_t)offset + size;
    }
    return ends;
}

/* How much of an XSAVE area is in use. */
static size_t xstate_used(const uint8_t *xstate, size_t size) {
    const size_t *ends = component_ends();
    uint64_t in_use;
    size_t used = XSTATE_LEAST;
    memcpy(&in_use, xstate + XFEATURES, sizeof in_use);
    for (int i = FIRST_EXTENDED; i < COMPONENTS; i++) {
        size_t end = in_use >> i & 1 ? ends[i] : 0;
        if (end > used && end <= size)
            used = end;
    }
    return used;
}

/*
 * XSTATE has room for all components of the processor. A thread's own state is smaller until it has
 * asked for AMX. From a frame that claims to be larger the kernel restores only the x87 and SSE
 * registers (check_xstate_in_sigframe() in arch/x86/kernel/fpu/signal.c). The size of the thread's
 * state is not known, only that it ends with some component. So the frame claims only the
 * components in use. Some kernels look for the second mark at the claimed end, others at the end of
 * the thread's own state. So it stands at all these ends; there it is in unused components, which
 * are not read.
 */
static void frame_xstate(uint8_t *out, const uint8_t *xstate, size_t size) {
    const uint64_t legacy = 3;
    const size_t *ends = component_ends();
    const size_t used = xstate_used(xstate, size);
    struct {
        uint32_t magic1, extended_size;
        uint64_t xfeatures;
        uint32_t xstate_size, padding[7];
    } sw = {MAGIC1, (uint32_t)(used + sizeof MAGIC2), 0, (uint32_t)used, {0}};
    memcpy(&sw.xfeatures, xstate + XFEATURES, sizeof sw.xfeatures);
    sw.xfeatures |= legacy;
    memcpy(out, xstate, size);
    memcpy(out + SW_RESERVED, &sw, sizeof sw);
    memcpy(out + used, &MAGIC2, sizeof MAGIC2);
    memcpy(out + size, &MAGIC2, sizeof MAGIC2);
    for (int i = FIRST_EXTENDED; i < COMPONENTS; i++) {
        if (ends[i] > used && ends[i] < size)
            memcpy(out + ends[i], &MAGIC2, sizeof MAGIC2);
    }
}

void regs_signal_frame(uint8_t *out, taddr_t at, const struct regs *regs, uint64_t signal_mask,
                       const struct regs_extended *extended) {
    const struct user_regs_struct *r = &regs->raw;
    struct signal_frame f = {0};
    f.uc.flags = UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS;
    /* uc.stack stays zero: an impossible size, so the kernel keeps the thread's own stack. */
    f.uc.mc.r8 = r->r8, f.uc.mc.r9 = r->r9, f.uc.mc.r10 = r->r10, f.uc.mc.r11 = r->r11;
    f.uc.mc.r12 = r->r12, f.uc.mc.r13 = r->r13, f.uc.mc.r14 = r->r14, f.uc.mc.r15 = r->r15;
    f.uc.mc.di = r->rdi, f.uc.mc.si = r->rsi, f.uc.mc.bp = r->rbp, f.uc.mc.bx = r->rbx;
    f.uc.mc.dx = r->rdx, f.uc.mc.ax = r->rax, f.uc.mc.cx = r->rcx, f.uc.mc.sp = r->rsp;
    f.uc.mc.ip = r->rip, f.uc.mc.flags = r->eflags;
    f.uc.mc.cs = (uint16_t)r->cs, f.uc.mc.ss = (uint16_t)r->ss;
    f.uc.sigmask = signal_mask;
    if (extended->size >= XSTATE_LEAST) {
        f.uc.flags |= UC_FP_XSTATE;
        f.uc.mc.fpstate = at + xstate_offset();
        frame_xstate(out + xstate_offset(), extended->bytes, extended->size);
    }
    memcpy(out, &f, sizeof f);
}

/* The words are rsp, rip, eflags, and cs, gs, fs, ss of 16 bits each (struct sigcontext). 64-bit
 * programs have one code and one stack segment; gs and fs are stored as 0. */
bool regs_look_like_context(const regs_word_t words[REGS_CONTEXT_WORDS], struct regs_context *ret) {
    const uint64_t segments = UINT64_C(0x002b000000000033);
    const uint64_t always = 1 << 1, possible = (1 << 22) - 1; /* of eflags */
    if (words[3] != segments || !(words[2] & always) || words[2] & ~possible)
        return false;
    *ret = (struct regs_context){words[1], words[0], 0};
    return true;
}
