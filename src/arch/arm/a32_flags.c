/* Which of N, Z, C and V an A32 instruction tests, writes in any case, and may write (Arm ARM, F5.1
 * and F2.2, "Conditional execution"). */
#include "arch/arm/a32.h"

/* rrx reads C. */
static bool is_rrx(uint32_t word) { return (word & 0xff0) == 0x060; }

static uint32_t tested_by_data(uint32_t word, const struct a32_data *d) {
    bool carries = d->opcode == A32_ADC || d->opcode == A32_SBC || d->opcode == A32_RSC;
    return carries || (d->form == A32_FORM_SHIFTED && is_rrx(word)) ? ARM_C : 0;
}

static bool is_logical(uint8_t opcode) {
    return opcode == A32_AND || opcode == A32_EOR || opcode == A32_TST || opcode == A32_TEQ ||
           opcode >= A32_ORR;
}

/* Logical operations set C to the bit that was shifted out; without a shift C stays. */
static uint32_t written_by_data(const struct a32_data *d) {
    if (!d->flags)
        return 0;
    if (!is_logical(d->opcode))
        return ARM_FLAGS;
    bool shifts = d->form == A32_FORM_IMMEDIATE
                      ? d->amount != 0
                      : d->form == A32_FORM_SHIFTED && (d->shift || d->amount);
    return ARM_N | ARM_Z | (shifts ? ARM_C : 0);
}

static bool writes_all(uint32_t word, enum a32_form form) {
    enum { FLAGS_FIELD = 19 };
    return (form == A32_STATUS && arm_bits(word, FLAGS_FIELD, 1)) ||
           (form == A32_VMRS && a32_rd(word) == ARM_PC);
}

uint32_t a32_flags_changed(uint32_t word, const struct a32_insn *in) {
    if (in->form == A32_DATA) {
        struct a32_data d = a32_data_of(word);
        if (!d.flags)
            return 0;
        return is_logical(d.opcode) ? ARM_N | ARM_Z | ARM_C : ARM_FLAGS;
    }
    if (in->form == A32_MULTIPLY && arm_bits(word, 20, 1))
        return ARM_N | ARM_Z;
    return writes_all(word, (enum a32_form)in->form) || in->kind == INSN_BAD ? ARM_FLAGS : 0;
}

static bool reads_status(uint32_t word) { return (word & 0x0fff0fff) == 0x010f0000; } /* mrs */

struct flags_use a32_flags_of(uint32_t word, const struct a32_insn *in) {
    struct flags_use use = {0};
    if (in->form == A32_DATA) {
        struct a32_data d = a32_data_of(word);
        use = (struct flags_use){tested_by_data(word, &d), written_by_data(&d)};
    } else if (in->form == A32_MULTIPLY && arm_bits(word, 20, 1)) {
        use.written = ARM_N | ARM_Z;
    } else if (writes_all(word, (enum a32_form)in->form)) {
        use.written = ARM_FLAGS;
    } else if (in->form == A32_SINGLE || arm_bits(word, 25, 7) == 0x7b) { /* or pld */
        use.tested = arm_bits(word, 25, 1) && is_rrx(word) ? ARM_C : 0;
    } else if (a32_condition(word) != ARM_UNCONDITIONAL && reads_status(word)) {
        use.tested = ARM_FLAGS;
    }
    if (a32_is_conditional(word)) {
        use.tested |= arm_tested_by(a32_condition(word));
        use.written = 0;
    }
    return use;
}

struct flags_use a32_flags(const uint8_t *bytes, size_t size) {
    if (size < A32_BYTES)
        return (struct flags_use){.tested = ARM_FLAGS};
    uint32_t word = a32_word(bytes);
    struct a32_insn in = a32_classify(word);
    return a32_flags_of(word, &in);
}
