/* The parts of the x86-64 backend, for src/arch/x86_64 and machines.c only. All other code uses
 * arch.h. */
#pragma once

#include "arch/arch.h"

extern const struct arch arch_x86_64;

enum { X86_JUMP_BYTES = 5, X86_HOP_BYTES = 2 };
enum { X86_FLAGS = 0x8d5 }; /* CF PF AF ZF SF OF, as in rflags */

bool x86_64_decode(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                   struct insn_constants *constants);
/* Its two ways. The first decodes any instruction. The second decodes the instructions that most
 * code consists of, with the same results; for others it returns false and leaves *RET alone. */
bool x86_64_decode_any(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                       struct insn_constants *constants);
bool x86_64_decode_common(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                          struct insn_constants *constants);
/* The values of insn.reads_flags and insn.writes_flags for an opcode. MAP: 0 for one-byte opcodes,
 * 1 for those after 0F, more for others. REG: of the ModRM byte; 0 without. Readers are adc, sbb,
 * cmovcc, setcc, jcc and the like, which follow calls that return flags. Writers are all but moves,
 * pushes, pops and address arithmetic. */
bool x86_64_reads_flags(uint8_t map, uint8_t op, uint8_t reg);
bool x86_64_writes_flags(uint8_t map, uint8_t op);
bool x86_64_is_return(const uint8_t *bytes, size_t room);
bool x86_64_is_barred(const uint8_t *bytes, size_t size);
bool x86_64_writes_lane(const uint8_t *bytes, size_t size);
bool x86_64_may_write_lane(const uint8_t *bytes, size_t size);
bool x86_64_asks_for_lane(const uint8_t *bytes, size_t size);
size_t x86_64_landing(const uint8_t *bytes, size_t room);
size_t x86_64_sled(const uint8_t *bytes, size_t room, enum sled_kind kind);
size_t x86_64_format(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]);
/* SIZE is the instruction's. The second always asks Zydis, with the same result. */
struct flags_use x86_64_flags(const uint8_t *bytes, size_t size);
struct flags_use x86_64_flags_any(const uint8_t *bytes, size_t size);
size_t x86_64_stack(const uint8_t *bytes, size_t size, struct stack_effect ret[STACK_MAX_EFFECTS]);
/* Its two ways, for an instruction of SIZE bytes. The second knows the instructions that most code
 * consists of; for others it returns false. */
struct stack_effect x86_64_stack_any(const uint8_t *bytes, size_t size);
bool x86_64_stack_common(const uint8_t *bytes, size_t size, struct stack_effect *ret);
bool x86_64_data(const uint8_t *bytes, size_t size, struct data_use *ret);
void x86_64_find_uses(const uint8_t *bytes, size_t size, vaddr_t addr,
                      void (*see)(void *ctx, vaddr_t at, vaddr_t target, enum code_use use),
                      void *ctx);
struct dispatch x86_64_dispatch(struct code_bytes jump, const struct code_bytes *past,
                                size_t count);
int x86_64_relocate(const struct insn *insn, const uint8_t *bytes, vaddr_t to,
                    struct relocated *ret);
bool x86_64_can_call(const struct insn *insn, const uint8_t *bytes);
size_t x86_64_relocated_bytes(const struct insn *insn);
size_t x86_64_skip_unless(const struct insn *insn, const uint8_t *bytes, uint32_t skip,
                          uint8_t out[RELOCATED_MAX_BYTES]);
int x86_64_jump(uint8_t *out, vaddr_t at, vaddr_t to);
int x86_64_hop(uint8_t *out, vaddr_t at, vaddr_t to);
bool x86_64_pun(const uint8_t *bytes, vaddr_t at, uint8_t own, uint8_t form, struct pun *ret);
void x86_64_pun_write(uint8_t *out, vaddr_t at, uint8_t own, uint8_t form, vaddr_t to);
/* The 32-bit displacement from END to TO; 0 or −ERANGE. */
int x86_64_displacement(vaddr_t end, vaddr_t to, uint8_t out[4]);
