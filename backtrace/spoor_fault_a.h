/* Part of spoor_fault.c: what A32, T32 and A64 have in common. */
#ifndef SPOOR_FAULT_A_H
#define SPOOR_FAULT_A_H

#include "spoor_fault_print.h"

struct named_status {
    uint8_t status;
    char name[24];
};

/* COUNT of them in NAMES; what is under MASK must be alike. */
static void print_named(void (*put)(char c), const struct named_status *names, size_t count,
                        spoor_word status) {
    for (size_t i = 0; i < count; i++)
        if (names[i].status == status) {
            put(' ');
            print(put, names[i].name);
            return;
        }
    print_register(put, " status", status);
}

/* Long descriptors, in both states (Armv8-A Architecture Reference Manual, ESR_EL1.ISS and DFSR
 * with TTBCR.EAE): those that are of a level of the tables have that in their last two bits. */
static void print_long_status(void (*put)(char c), spoor_word status) {
    static const struct named_status of_level[] = {
        {0, "address size"},           {1, "translation"},   {2, "access flag"}, {3, "permission"},
        {5, "external abort of walk"}, {7, "parity of walk"}};
    static const struct named_status others[] = {{0x10, "external abort"}, {0x11, "tag check"},
                                                 {0x18, "parity"},         {0x21, "alignment"},
                                                 {0x22, "debug event"},    {0x30, "TLB conflict"}};
    if (status < 0x20 && (status >> 2 <= 3 || status >> 2 == 5 || status >> 2 == 7)) {
        print_named(put, of_level, sizeof of_level / sizeof *of_level, status >> 2);
        print(put, " level ");
        put((char)('0' + (status & 3)));
    } else {
        print_named(put, others, sizeof others / sizeof *others, status);
    }
}

#endif
