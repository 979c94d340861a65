/* Texts of VFP instructions, and printers of operands that A32 and T32 share. */
#include "arch/arm/disasm.h"

#include <inttypes.h>

#include "arch/arm/arm.h"

const struct opcode arm_vfp_opcodes[] = {
    {0x0fb00e10, 0x0e000a00, "vml<6:a|s>%F %x, %y, %v"},
    {0x0fb00e10, 0x0e100a00, "vnml<6:s|a>%F %x, %y, %v"},
    {0x0fb00e10, 0x0e200a00, "v<6:|n>mul%F %x, %y, %v"},
    {0x0fb00e10, 0x0e300a00, "v<6:add|sub>%F %x, %y, %v"},
    {0x0fb00e50, 0x0e800a00, "vdiv%F %x, %y, %v"},
    {0x0fb00e10, 0x0e900a00, "vfnm<6:s|a>%F %x, %y, %v"},
    {0x0fb00e10, 0x0ea00a00, "vfm<6:a|s>%F %x, %y, %v"},
    {0x0fbf0e50, 0x0eb00a40, "v<7:mov|abs>%F %x, %v"},
    {0x0fbf0e50, 0x0eb10a40, "v<7:neg|sqrt>%F %x, %v"},
    {0x0fbf0e50, 0x0eb40a40, "vcmp<7:|e>%F %x, %v"},
    {0x0fbf0e7f, 0x0eb50a40, "vcmp<7:|e>%F %x, #0"},
    {0x0fbf0ed0, 0x0eb70ac0, "vcvt.f<8:64.f32|32.f64> %P, %v"},
    {0x0fbf0e50, 0x0eb80a40, "vcvt%F.<7:u|s>32 %x, %Q"},
    {0x0fbe0ed0, 0x0ebc0ac0, "vcvt.<16:u|s>32%F %k, %v"},
    {0x0fe00f7f, 0x0e000a10, "vmov <20:%y, %d|%d, %y>"},
    {0x0fe00fd0, 0x0c400b10, "vmov <20:%v, %d, %n|%d, %n, %v>"},
    {0x0fffffff, 0x0ef1fa10, "vmrs apsr_nzcv, fpscr"},
    {0x0fff0fff, 0x0ef10a10, "vmrs %d, fpscr"},
    {0x0fff0fff, 0x0ee10a10, "vmsr fpscr, %d"},
    {0x0f200e00, 0x0d000a00, "v<20:st|ld>r %x, %A"},
    {0x0fbf0e00, 0x0cbd0a00, "vpop %X"},
    {0x0fbf0e00, 0x0d2d0a00, "vpush %X"},
    {0x0f800e00, 0x0c800a00, "v<20:st|ld>mia %n<21:|!>, %X"},
    {0x0f800e00, 0x0d000a00, "v<20:st|ld>mdb %n<21:|!>, %X"},
    {0, 0, NULL},
};

/* Number of a vector register: four bits from FIELD on, and bit EXTRA, which is the lowest bit in
 * single precision and the highest in double precision. */
static unsigned vector_number(uint32_t word, unsigned field, unsigned extra, bool wide) {
    uint32_t four = arm_bits(word, field, 4), one = arm_bits(word, extra, 1);
    return wide ? one << 4 | four : four << 1 | one;
}

static void add_vectors(struct disasm *d, bool wide) {
    unsigned count = arm_bits(d->word, 0, 8) >> wide;
    disasm_expand(d, "{%x");
    if (count > 1)
        disasm_add(d, "-%c%u", wide ? 'd' : 's', vector_number(d->word, 12, 22, wide) + count - 1);
    disasm_add(d, "}");
}

size_t arm_print_vector(struct disasm *d, const char *letter) {
    enum precision { BY_BIT_8, OTHER, SINGLE };
    static const struct vector {
        char letter;
        uint8_t field, extra, precision;
    } vectors[] = {{'x', 12, 22, BY_BIT_8}, {'y', 16, 7, BY_BIT_8}, {'v', 0, 5, BY_BIT_8},
                   {'P', 12, 22, OTHER},    {'k', 12, 22, SINGLE},  {'Q', 0, 5, SINGLE}};
    const bool is_double = arm_bits(d->word, 8, 1);
    if (*letter == 'X')
        add_vectors(d, is_double);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct vector *v = &vectors[i];
        bool wide = v->precision == BY_BIT_8 ? is_double : v->precision == OTHER && !is_double;
        if (v->letter != *letter)
            continue;
        disasm_add(d, "%c%u", wide ? 'd' : 's', vector_number(d->word, v->field, v->extra, wide));
        return 1;
    }
    return *letter == 'X';
}

void arm_add_shift(struct disasm *d, uint32_t type, uint32_t amount) {
    static const char *const shifts[] = {"lsl", "lsr", "asr", "ror"};
    if (!amount && type == 3)
        disasm_add(d, ", rrx");
    else if (amount || type)
        disasm_add(d, ", %s #%u", shifts[type], amount ? amount : 32);
}

void arm_add_target(struct disasm *d) { disasm_add(d, "%" PRIx64, d->target); }
