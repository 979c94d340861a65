/* Short jumps and puns: what is written, and what stands behind it, is a jump to where it should
 * lead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "oracle.h"

enum { MACHINE = 62 /* EM_X86_64 */, AT = 0x7f120000 };

static const struct arch *arch;

static int open_arch(void **state) {
    (void)state;
    arch = arch_for_machine(MACHINE);
    return !arch;
}

static struct oracle_insn jump_at(const uint8_t *bytes, size_t size) {
    struct oracle_insn in;
    assert_true(oracle_decode(bytes, size, AT, &in));
    assert_true(in.jump && in.direct);
    return in;
}

static void a_hop_leads_to_each_byte_within_its_reach(void **state) {
    (void)state;
    for (int distance = arch->hop_back; distance <= arch->hop_on; distance++) {
        uint8_t bytes[8];
        assert_int_equal(arch->hop(bytes, AT, AT + (vaddr_t)(int64_t)distance), 0);
        struct oracle_insn in = jump_at(bytes, arch->hop_bytes);
        assert_int_equal(in.size, arch->hop_bytes);
        assert_int_equal(in.target, AT + (vaddr_t)(int64_t)distance);
    }
}

static void a_hop_leads_no_further(void **state) {
    (void)state;
    uint8_t bytes[8];
    assert_int_equal(arch->hop(bytes, AT, AT + (vaddr_t)(int64_t)arch->hop_back - 1), -ERANGE);
    assert_int_equal(arch->hop(bytes, AT, AT + (vaddr_t)arch->hop_on + 1), -ERANGE);
}

/* Writes the pun to TO over its own bytes only; the others stay. */
static void assert_leads_to(const uint8_t *bytes, uint8_t own, uint8_t form, const struct pun *pun,
                            vaddr_t to) {
    uint8_t patched[PUN_MAX_BYTES], written[PUN_MAX_BYTES + 1];
    memset(written, 0xa5, sizeof written);
    arch->pun_write(written, AT, own, form, to);
    assert_int_equal(written[own], 0xa5);
    memcpy(patched, bytes, sizeof patched);
    memcpy(patched, written, own);
    struct oracle_insn in = jump_at(patched, sizeof patched);
    assert_int_equal(in.size, pun->size);
    assert_int_equal(in.target, to);
}

static void check_form(const uint8_t *bytes, uint8_t own, uint8_t form) {
    struct pun pun;
    bool any = arch->pun(bytes, AT, own, form, &pun);
    assert_int_equal(any, form < own); /* the jump's first byte must be one of its own */
    if (!any)
        return;
    assert_int_equal(pun.size, arch->jump_bytes + form);
    assert_int_equal(pun.span, UINT64_C(1) << 8 * (own - 1 - form));
    assert_leads_to(bytes, own, form, &pun, pun.low);
    assert_leads_to(bytes, own, form, &pun, pun.low + pun.span / 2);
    assert_leads_to(bytes, own, form, &pun, pun.low + pun.span - 1);
}

static void puns_of_each_form_lead_where_they_say(void **state) {
    (void)state;
    static const uint8_t behind[][PUN_MAX_BYTES] = {
        {0x53, 0x48, 0x89, 0xfb, 0x48, 0x83, 0xec, 0x10}, /* upwards */
        {0x31, 0xc0, 0xc3, 0xe9, 0x85, 0xff, 0x90, 0xc3}, /* downwards */
        {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00}, /* as near as can be */
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
        {0x55, 0x00, 0x00, 0x80, 0x00, 0x00, 0x80, 0x7f}, /* as far as can be */
    };
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++)
        for (uint8_t own = 1; own < arch->jump_bytes; own++)
            for (uint8_t form = 0; form < PUN_FORMS; form++)
                check_form(behind[i], own, form);
}

static void what_has_room_for_a_jump_is_no_pun(void **state) {
    (void)state;
    struct pun pun;
    static const uint8_t bytes[PUN_MAX_BYTES];
    assert_false(arch->pun(bytes, AT, arch->jump_bytes, 0, &pun));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hop_leads_to_each_byte_within_its_reach),
        cmocka_unit_test(a_hop_leads_no_further),
        cmocka_unit_test(puns_of_each_form_lead_where_they_say),
        cmocka_unit_test(what_has_room_for_a_jump_is_no_pun),
    };
    return cmocka_run_group_tests(tests, open_arch, NULL);
}
