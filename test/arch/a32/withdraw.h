/* Withdraws reads of captures, as the tool does. For captures.c, behind its variables. */
#pragma once

static uint32_t read_switch(uint32_t at, uint8_t *ret_byte) {
    return (t32 ? t32_stub_read_switch : a32_stub_read_switch)(pointer(stub_at), at, ret_byte);
}

/* As withdraw() in patch/value_faults.c. AT: the read, or what follows its value. */
static void withdraw(uint32_t at) {
    uint8_t byte;
    const uint32_t found = read_switch(at, &byte);
    if (!found)
        ground_fail("a read", at, "cannot be withdrawn");
    else if (*(uint8_t *)pointer(stub_at + found) == byte)
        ground_fail("a read", at, "was withdrawn, and is made");
    else
        ground_write_bytes(stub_at + found, &byte, 1);
}
