#!/usr/bin/env python3
"""The starts and states of functions in stripped files of 32-bit Arm, where the file says little about them."""
import os
import shutil
import subprocess
import sys
import unittest

import arm

# Functions that are only in unwind tables, beside code of the other state. The first of .text, behind A32 code of
# .init, is too short to look like either state; words have the states of the others.
NEIGHBOURS = """
.syntax unified
.section .init, "ax"
.arm
.type starts, %function
.global starts
.hidden starts
starts:
    push {r3, lr}
    pop {r3, pc}
.size starts, . - starts
.text
.macro function name, state
.balign 4
.\\state
.type \\name, %function
\\name:
    .fnstart
    .save {r4, lr}
    push {r4, lr}
.endm
.macro end name
    pop {r4, pc}
    .fnend
.size \\name, . - \\name
.endm
function first, thumb
    movs r4, #1
end first
.global known
function known, thumb
    adds r0, r0, r1
end known
function behind_t32, arm
    .pad #8
    sub sp, sp, #8
    mov r4, r0
    cmp r0, r1
    bleq out
    ldr r2, [r4]
    str r2, [sp]
    add r0, r4, r2
    add sp, sp, #8
end behind_t32
function has_words, arm
    ldr r0, 1f
    bl out
    pop {r4, pc}
1:  .rept 32
    .word 0x12345678
    .endr
    .fnend
.size has_words, . - has_words
function behind_a32, thumb
    .pad #16
    sub sp, #16
    mov r4, r0
    ldr.w r2, [r4, #4]
    str r2, [sp, #4]
    bl out
    ldr.w r2, [r4, #8]
    str r2, [sp, #8]
    bl out
    adds r0, r0, r4
    add sp, #16
end behind_a32
"""

# A function without a name jumps to labels whose addresses are only in words. Behind it two functions begin whose
# addresses are only in words, too.
LABELS_IN_WORDS = """
.syntax unified
.arm
.text
.type begins, %function
.global begins
begins:
    .fnstart
    .save {r4, lr}
    push {r4, lr}
    bl runs
    pop {r4, pc}
    .fnend
.size begins, . - begins
.type runs, %function
runs:
    .fnstart
    .save {r3, r4, r5, lr}
    push {r3, r4, r5, lr}
    mov r4, r0
    ldr r3, 6f
7:  add r3, pc, r3
    str r3, [sp]
1:  ldr r2, [r4], #4
    ldr r3, [sp]
    ldr r2, [r3, r2, lsl #2]
    mov pc, r2
2:  bl out
    cmp r0, #0
    bne 4f
    b 1b
3:  bl out
    pop {r3, r4, r5, pc}
5:  ldr r0, [r4]
    cmp r0, #9
    beq 2b
4:  mov r0, #1
    pop {r3, r4, r5, pc}
6:  .word table - 7b - 8
    .fnend
.size runs, . - runs
.type one, %function
one:
    push {r4, lr}
    cmp r0, #0
    beq 1f
    bl out
1:  pop {r4, pc}
.size one, . - one
.type other, %function
other:
    cmp r0, #0
    bxeq lr
    b out
.size other, . - other
.section .data.rel.ro, "aw"
.balign 4
table: .word 2b, 3b, 5b
.word 0, one, other
"""

# The shape of an end in python's interpreter: the compiler knows that control does not pass the store.
UNREACHABLE = """
.syntax unified
.\\state
.text
.type begins, %function
.global begins
begins:
    push {r4, lr}
    mov r4, r0
    cmp r0, #9
    beq 2f
    ldr r0, 1f
    bl out
    mov r0, r4
    pop {r4, pc}
2:  str r0, [r4, #28]
    .balign 4
1:  .word 0x12345678
.size begins, . - begins
"""

# Constants of SHA-1 between hand-written functions, whose address is in a word, as in libgcrypt.
CONSTANTS = """
.syntax unified
.arm
.text
.balign 16
.macro function name
.global \\name
.type \\name, %function
\\name:
    push {r4, lr}
    ldr r4, 2f
1:  add r4, pc, r4
    ldr r4, [r4]
    bl out
    pop {r4, pc}
    .balign 4
2:  .word place - 1b - 8
.size \\name, . - \\name
.endm
function before
.balign 16
constants:
.rept 4
.word 0x5a827999
.endr
.rept 4
.word 0x6ed9eba1
.endr
.rept 4
.word 0x8f1bbcdc
.endr
.rept 4
.word 0xca62c1d6
.endr
function behind
.section .data.rel.ro, "aw"
.balign 4
place: .word constants
"""

# Words in a program at a fixed address, which may be numbers or addresses: of functions, of the second word of a
# constant, of constants in an unreachable function. All their targets look like code.
NUMBERS = """
.syntax unified
.text
.macro function name
.balign 4
.\\state
.type \\name, %function
\\name:
.endm
.macro end name
.size \\name, . - \\name
.endm
.global begins
function begins
    push {r4, lr}
    bl called
    pop {r4, pc}
end begins
function called
    mov r0, r1
    bx lr
end called
function listed
    ldrd r2, r3, 1f
    adds r0, r0, r1
    bx lr
    .balign 4
1:  .word 1, \\second
.set behind, 1b + 4
end listed
function lonely
    push {r4, r5, r6, lr}
    ldr r3, 1f
    adds r0, r0, r3
    ldr r4, 2f
    adds r0, r0, r4
    pop {r4, r5, r6, pc}
    .balign 4
1:  .word 0x0092f068
2:  .word \\number
.set inside, 2b
end lonely
function starts
    mov r0, r2
    bx lr
end starts
function saves
    push {r4, lr}
    mov r4, r0
    bl called
    adds r0, r0, r4
    pop {r4, pc}
end saves
.section .init_array, "aw", %init_array
.word starts
.section .rodata
.word 1, listed, behind + \\bit, 0, inside + \\bit, saves, lonely + 4
"""

# Functions whose addresses are only in words: A32 among T32, as main() in -marm programs with Debian's start code for
# armhf, and T32 among A32, which bit 0 shows.
MIXED_STATES = """
.syntax unified
.text
.macro function name, state
.balign 4
.\\state
.type \\name, %function
\\name:
    push {r4, r5, r6, lr}
    mov r4, r0
    bl out
    ldr r5, [r4, #4]
    add r5, r5, r0
    str r5, [r4, #8]
    ldr r1, [r4, #12]
    add r0, r5, r1
    bl out
    cmp r0, #0
    beq 1f
    ldr r0, [r4, #16]
    bl out
1:  pop {r4, r5, r6, pc}
.size \\name, . - \\name
.endm
.global before, behind
function before, thumb
function a32, arm
function between, arm
function t32, thumb
function behind, thumb
.section .data.rel.ro, "aw"
.balign 4
.word 0, a32, between, t32
"""

# A function whose address is only computed by code.
CALLBACK = """
int out(int); void each(int (*)(int));
static int called_back(int a) { return out(a) * 3 + 1; }
int begins(int a) { each(called_back); return out(a) + 2; }
"""

# A function that returns only by way of its landing pad; all other paths end in a call that never returns.
RETURNS_BY_PAD = """
#define HIDDEN extern "C" __attribute__((noinline, visibility("hidden")))
extern "C" int out(int);
HIDDEN int catches(int n) {
    try { throw n; } catch (int m) { return m + 2; }
}
HIDDEN int calls(int n) {
    int a = catches(n);
    return out(a) * out(a + n);
}
HIDDEN void goes_on(int n) {
    for (out(catches(n));;)
        out(n);
}
extern "C" int begins(int n) {
    if (n)
        return calls(n) + 1;
    goes_on(n);
    return 0;
}
"""


# The file does not say that "dies" never returns. Constants behind most calls of it show that. Behind one call a
# function without a symbol begins.
UNNAMED_AFTER_NORETURN = """
.syntax unified
.\\state
.text
.macro begin name
.type \\name, %function
\\name:
    .fnstart
    .save {r4, lr}
    push {r4, lr}
.endm
.macro end name
    .fnend
.size \\name, . - \\name
.endm
.macro complain name
.global \\name
begin \\name
    ldr r0, 2f
    bl dies
    .balign 4
2:  .word 0x12345678
end \\name
.endm
.global begins
begin begins
    mov r4, r0
    bl out
    cmp r0, #0
    beq 1f
    pop {r4, pc}
1:  bl dies
end begins
.type silent, %function
silent:
    push {r4, r5, r6, lr}
    mov r4, r0
    bl out
    pop {r4, r5, r6, pc}
    nop
.size silent, . - silent
complain one
complain two
begin dies
    ldr r1, 3f
    ldr r3, [r0]
    blx r3
    .balign 4
3:  .word 0x5678
end dies
"""

# Go code: a function that another one, without a symbol, enters in its middle; and an exported C function.
GO = """
.syntax unified
.arm
.text
.global exported
.type exported, %function
exported:
    push {r4, lr}
    bl clears
    pop {r4, pc}
.size exported, . - exported
.type clears, %function
clears:
    str r0, [r1], #4
    str r0, [r1], #4
    str r0, [r1], #4
    bx lr
.size clears, . - clears
.type "runtime.untold", %function
"runtime.untold":
    str lr, [sp, #-4]!
    bl clears + 4
    ldr pc, [sp], #4
.size "runtime.untold", . - "runtime.untold"
.section .gopclntab, "a"
.word 0xfffffff0, 0x04040000
"""

# A program with many parts of the static libraries: tables of characters, hand-written code, constants.
STATIC = """
#include <cmath>
#include <cstdio>
#include <iostream>
#include <netdb.h>
#include <thread>
int main(int argc, char **argv) {
    std::thread([&] { std::wcout << argv[0] << std::pow(argc, 2.5); }).join();
    try { throw argc; } catch (int n) { std::printf("%d %f", n, std::sin(n)); }
    return getaddrinfo(argv[0], nullptr, nullptr, nullptr);
}
"""


@unittest.skipUnless(arm.GCC, "no compiler for 32-bit Arm")
class Stripped(arm.Explained):
    def both(self, *options, text, suffix="s", link=arm.LINK):
        """Returns {address: function} of the file with symbols, and of the stripped file."""
        self.build(*options, text=text, suffix=suffix, link=link)
        whole = {f["address"]: f for f in self.plan().values()}
        self.build("-s", *options, text=text, suffix=suffix, link=link)
        return whole, {f["address"]: f for f in self.plan().values()}

    def alike(self, whole, bare):
        """Without symbols each function has the same start and the same number of exits, all exact."""
        self.assertEqual({at: f["exits"] for at, f in bare.items()}, {at: f["exits"] for at, f in whole.items()})
        self.traced(bare, bare)

    def test_states_of_functions_from_unwind_tables(self):
        self.alike(*self.both("-Wl,-init=starts", text=NEIGHBOURS))

    def test_labels_found_by_words(self):
        whole, bare = self.both(text=LABELS_IN_WORDS)
        self.assertEqual(sorted(bare), sorted(whole))
        self.traced(whole, whole)
        self.traced(bare, bare)

    def test_states_of_functions_found_by_words(self):
        self.alike(*self.both(text=MIXED_STATES))

    def test_words_that_point_to_constants(self):
        self.alike(*self.both(text=CONSTANTS))

    def test_numbers_that_look_like_addresses_of_constants(self):
        fixed = ("-nostdlib", "-no-pie", "-Wl,-e,begins", "-Wl,--build-id=none")
        for state, bit, number, second in (("arm", 0, 0xe1a02001, 0xe12fff1e), ("thumb", 1, 0x1ad4, 0xbd10b510)):
            text = NUMBERS.replace("\\state", state).replace("\\bit", str(bit))
            text = text.replace("\\number", hex(number)).replace("\\second", hex(second))
            whole, bare = self.both(text=text, link=fixed)
            lonely, = (at for at, f in whole.items() if f["function"] == "lonely")
            self.assertEqual(sorted(bare), sorted(whole.keys() - {lonely}))

    def test_data_of_static_programs_unwritten(self):
        """No window is in data, by the mapping symbols of the unstripped file. Programs have T32 or A32 libraries."""
        source, whole = (os.path.join(self.folder.name, name) for name in ("static.cc", "whole"))
        with open(source, "w", encoding="utf-8") as f:
            f.write(STATIC)
        compilers = [shutil.which(f"arm-linux-{name}-g++") for name in ("gnueabihf", "gnueabi")]
        self.assertTrue(any(compilers))
        for compiler in filter(None, compilers):
            subprocess.run([compiler, "-w", "-O1", "-static", "-no-pie", source, "-o", whole], check=True,
                           stderr=subprocess.DEVNULL)
            subprocess.run([arm.GCC.replace("gcc", "strip"), "-o", self.program, whole], check=True)
            checked = arm.run(arm.CHECK, "--debug", whole, self.program)
            self.assertEqual(checked.returncode, 0, checked.stdout)
            self.assertRegex(checked.stdout, r"states of [1-9]\d{3} functions told")

    def test_stripped_go_functions_untouched(self):
        whole, bare = self.both(text=GO)
        self.traced(whole, whole)
        self.assertEqual([f["function"] for f in bare.values()], ["exported"])

    def test_no_code_falls_into_constants(self):
        for state in "arm", "thumb":
            whole, bare = self.both(text=UNREACHABLE.replace("\\state", state))
            self.traced(whole, whole)
            self.traced(bare, bare)

    def test_noreturn_calls_before_constants(self):
        for state in "arm", "thumb":
            self.alike(*self.both(text=UNNAMED_AFTER_NORETURN.replace("\\state", state)))

    def test_functions_whose_address_code_computes(self):
        for state in "-marm", "-mthumb":
            self.alike(*self.both("-O2", state, text=CALLBACK, suffix="c"))

    def test_returns_by_landing_pads(self):
        for state in "-marm", "-mthumb":
            whole, bare = self.both("-O2", state, "-x", "c++", text=RETURNS_BY_PAD)
            self.assertEqual({at: f["exits"] for at, f in bare.items() if at in whole},
                             {at: f["exits"] for at, f in whole.items()})
            self.assertEqual([at for at in bare if any(0 < at - f["address"] < f["size"] for f in whole.values())], [])
            self.traced(bare, whole)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
