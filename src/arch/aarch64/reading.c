/* Writes the code that reads values (capture.h has a list of it). */
#include "arch/aarch64/reading.h"

enum { LOWEST_BITS = 12 /* no program has memory below 1 << LOWEST_BITS */ };

void a64_jump_to(struct reading *r, uint32_t insn, int label) {
    labels_add(&r->labels, (struct label_jump){.at = r->w->size, .to = label});
    put(r->w, insn);
}

void a64_set_label(struct reading *r, int label, size_t far) {
    struct label_jump j;
    while (labels_take(&r->labels, label, &j))
        set_target(r->w, j.at, (int64_t)(r->w->size + far));
}

static void otherwise(struct reading *r, uint32_t insn) { a64_jump_to(r, insn, r->otherwise); }

/* ---- where values begin ---- */

void a64_stack_address(const struct reading *r, uint32_t to, int64_t offset) {
    const int64_t at = a64_stub_frame(r->stub->variant) + r->stub->pops + offset;
    const uint32_t far = (uint32_t)(at < 0 ? -at : at), down = at < 0 ? 1U << 30 : 0;
    put(r->w, add_constant(to, A64_SP, far & 0xfff) | down);
    put(r->w, add_pages(to, to, far >> 12) | down);
}

/* The register with number REG in DWARF (AADWARF64, 4.1) as it was at the site. */
static void load_register(const struct reading *r, uint32_t to, uint8_t reg) {
    const uint8_t variant = r->stub->variant;
    if (reg < a64_stub_saved(variant))
        put(r->w, ldr(to, A64_SP, reg * 8));
    else if (reg == A64_SP)
        put(r->w, add_constant(to, A64_SP, a64_stub_frame(variant)));
    else
        put(r->w, move(to, reg));
}

static void load_sum(const struct reading *r, uint32_t to, const struct capture_value *v) {
    load_register(r, r->free, capture_index_register(v));
    load_register(r, to, v->reg);
    put(r->w, shifted_left(add(to, to, r->free), capture_index_shift(v)));
}

static void begin(void *ctx, const struct capture_value *v, unsigned part, bool address) {
    struct reading *r = ctx;
    const uint32_t to = address ? r->address : r->word;
    switch (v->from) {
    case FROM_REGISTER:
        load_register(r, to, v->reg);
        break;
    case FROM_VECTOR: /* fmov xd, dn; or of its upper half */
        put(r->w, with_registers(v->part ? 0x9eae0000 : 0x9e660000, to, v->reg, 0));
        break;
    case FROM_INDEXED:
        load_sum(r, to, v);
        break;
    default:
        a64_stack_address(r, to, v->stack_offset + 8 * (int64_t)part);
        if (v->from == FROM_STACK)
            put(r->w, ldr(to, to, 0));
    }
}

/* ---- memory ---- */

static void load_owner(struct writer *w, uint32_t to) {
    put(w, ldr(to, A64_LANE, LANE_CONTROL));
    put(w, with_registers(0xb9400000, to, to, 0)); /* ldr wd, [xd] */
}

/* Distances of the `b` that decides, in instructions. */
enum { READS = 2, READS_NOT = 1 };

static void check_owner(void *ctx) {
    struct reading *r = ctx;
    enum { DIED = __builtin_ctz(CONTROL_OWNER_DIED) };
    load_owner(r->w, r->free);
    otherwise(r, branch_by_bit(r->free, DIED, true));
    put(r->w, over(branch(), READS * A64_BYTES));
    otherwise(r, branch());
}

static void check_address(void *ctx) {
    struct reading *r = ctx;
    enum { USER_BITS = 52, TAG_AT = 56 };
    put(r->w, bits(r->free, r->address, USER_BITS, TAG_AT - USER_BITS));
    otherwise(r, branch_by_value(r->free, true));
    put(r->w, bits(r->free, r->address, LOWEST_BITS, TAG_AT - LOWEST_BITS));
    otherwise(r, branch_by_value(r->free, false));
    otherwise(r, adr(A64_BACK));
}

static void add_offset(void *ctx, int32_t offset) {
    const struct reading *r = ctx;
    const uint32_t far = offset < 0 ? -(uint32_t)offset : (uint32_t)offset;
    put_constant(r->w, r->free, far, 2);
    put(r->w, (offset < 0 ? sub : add)(r->address, r->address, r->free));
}

static void follow(void *ctx) {
    const struct reading *r = ctx;
    put(r->w, ldr(r->address, r->address, 0));
}

/* ldur and its kin: AT is less than 256. Only the sizes 3, 5, 6 and 7 need a word apart from the
 * address. */
static void load(void *ctx, unsigned size, unsigned at) {
    const struct reading *r = ctx;
    static const uint32_t loads[] = {0x38400000, 0x78400000, 0xb8400000, 0xf8400000};
    const unsigned log = size == 8 ? 3 : size & 4 ? 2 : size & 2 ? 1 : 0;
    put(r->w, with_registers(loads[log], r->word, r->address, 0) | at << 12);
    for (unsigned done = 1U << log; done < size; done++) {
        put(r->w, with_registers(loads[0], r->free, r->address, 0) | (at + done) << 12);
        put(r->w, shifted_left(orr(r->word, r->word, r->free), 8 * done));
    }
}

const struct value_reader a64_reader = {begin,      check_owner, check_address,
                                        add_offset, follow,      load};

uint32_t a64_read_switch(const uint8_t *stub, uint32_t at, uint8_t *ret_byte) {
    enum { LOADS = 2 * A64_BYTES, BRANCH_AT = LOADS + A64_BYTES };
    uint8_t loads[LOADS];
    *ret_byte = READS_NOT;
    for (uint32_t i = at - at % A64_BYTES; i >= A64_BYTES; i -= A64_BYTES) {
        const uint32_t from = i - A64_BYTES;
        struct writer w = {.out = loads};
        load_owner(&w, a64_rd(a64_word(stub + from)));
        if (from + BRANCH_AT < at && memcmp(stub + from, loads, LOADS) == 0)
            return from + BRANCH_AT;
    }
    return 0;
}
