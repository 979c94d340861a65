/*
 * Capstone's opinion of code of 32-bit Arm, as far as plans depend on it, in the terms of oracle.h.
 * An IT instruction and those that it governs are one.
 */
#pragma once

#include "oracle.h"

/* T32, or A32. Returns false if Capstone knows no such instruction; the size is set in any case. */
bool oracle_arm_decode(bool t32, const uint8_t *bytes, size_t room, uint64_t addr,
                       struct oracle_insn *ret);
