#!/usr/bin/env python3
"""`spoor explain` plans files of 32-bit Arm on any host: A32, T32, both in one file, stripped or not."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SPOOR, CHECK = os.environ["SPOOR"], os.path.abspath(sys.argv[1])
GCC = shutil.which("arm-linux-gnueabihf-gcc")
LINK = ["-shared", "-nostdlib", "-fPIC", "-O2", "-fno-stack-protector", "-Wl,--build-id=none"]
STATES = {"a32": ("-marm",), "t32": ("-mthumb",), "mixed": ("-mthumb", "-mflip-thumb")}

C = """
int out(int); extern int (*through)(int); extern volatile int sink;
__attribute__((noinline)) int plain(int a) { return out(a) + 1; }
__attribute__((noinline)) static int hidden(int a, int b) { sink = b; return out(a + b) * 3; }
int tail(int a) { sink = a; return out(a); }
int pointer(int a) { return through(a); }
int calls(int a) { return hidden(a, 2) + plain(a) + hidden(a, 7); }
int early(int a) { if (a < 3) return a; sink = out(a); return sink + out(a - 1); }
int leaf(int a, int b) { return a > b ? a * 7 : b - 5; }
static int (*const table[])(int) = {plain, tail, early};
int select(int a) { return table[a & 1](a); }
#define ARM(n) case n: sink = b + n; return out(b ^ n) + n;
int many(int a, int b) { switch (a) { ARM(0) ARM(1) ARM(2) ARM(3) ARM(4) ARM(5) ARM(6) ARM(7) ARM(8) } return b; }
int loops(const unsigned char *p, int b) { for (;;) switch (*p++ & 15) { case 0: b = out(b); break; case 1: b += 3; break;
  case 2: sink = b; break; case 3: b = out(b * 3); break; case 5: b ^= 9; break; case 6: b = -out(b); break;
  case 7: sink = 2; break; case 8: b <<= 1; break; case 9: return b; case 10: return out(b) - 1; default: b = ~b; } }
"""
CLEANS = """
int out(int); void done(int *); void unwound(void) __asm__("_Unwind_Resume"); void unwound(void) {}
int cleans(int a) { int n __attribute__((cleanup(done))) = a; return out(n) + 1; }
"""
FUNCTIONS = ("plain", "tail", "pointer", "calls", "early", "leaf", "select", "many", "loops")

ASSEMBLY = """
.syntax unified
.text
.macro function name
.global \\name
.type \\name, %function
\\name:
.endm
.arm
function a32_returns_if
    cmp r0, #3
    push {r4, lr}
    popeq {r4, pc}
    bl out
    pop {r4, lr}
    cmp r0, #0
    bxne lr
    mov r0, #1
    bx lr
.size a32_returns_if, . - a32_returns_if
function a32_goes_on_with_its_frame
    push {fp, lr}
    add fp, sp, #4
    cmp r0, #0
    popne {fp, pc}
    sub sp, fp, #4
    pop {fp, lr}
    b out
.size a32_goes_on_with_its_frame, . - a32_goes_on_with_its_frame
function a32_jumps_so_far
    push {r4, lr}
    rsbs r1, r1, #3
    addne pc, pc, r1, lsl #2
    nop
    add r0, r0, #1
    add r0, r0, #2
    add r0, r0, #3
    pop {r4, pc}
.size a32_jumps_so_far, . - a32_jumps_so_far
.thumb
function t32_returns_if
    push {r4, lr}
    cmp r0, #3
    it eq
    popeq {r4, pc}
    bl out
    pop {r4, pc}
.size t32_returns_if, . - t32_returns_if
function t32_conditional_block
    cmp r0, #3
    ite eq
    moveq r0, #1
    movne r0, #2
    bx lr
.size t32_conditional_block, . - t32_conditional_block
function t32_literal
    ldr r0, 1f
    bx lr
    .align 2
1:  .word 0x4770bf00
.size t32_literal, . - t32_literal
function t32_unknown_depth
    sub sp, sp, r0
    bx lr
.size t32_unknown_depth, . - t32_unknown_depth
"""

# What is shared has no unwind information, and padding before it that the entry which ends those of others covers.
SHARED = """
.syntax unified
.thumb
.text
.type before, %function
.global before
before:
    .fnstart
    .save {r4, lr}
    push {r4, lr}
    bl out
    pop {r4, pc}
    .fnend
.size before, . - before
.section .text.other, "ax", %progbits
.balign 32
.type shared, %function
shared:
    rsbs r0, r0, #0
    movs r1, #1
    bx lr
.size shared, . - shared
.macro jumps name
.type \\name, %function
.global \\name
\\name:
    cmp r0, #3
    it lt
    bxlt lr
    b.w shared
.size \\name, . - \\name
.endm
jumps one
jumps two
"""


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


@unittest.skipUnless(GCC, "no compiler for 32-bit Arm")
class Explained(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.program = os.path.join(self.folder.name, "subject")

    def build(self, *options, text=C, suffix="c"):
        source = os.path.join(self.folder.name, "subject." + suffix)
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        result = run(GCC, *LINK, *options, source, "-o", self.program)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        checked = run(CHECK, self.program)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""), checked.stdout)

    def plan(self):
        result = run(SPOOR, "explain", "--json", self.program)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return {f["function"]: f for f in json.loads(result.stdout)}

    def drawn(self, name):
        return run(SPOOR, "explain", "-F", name, self.program).stdout

    def traced(self, functions, names):
        for name in names:
            f = functions[name]
            self.assertEqual((f["refused"], f["inferred"]), (None, []), name)


class Compiled(Explained):
    def test_functions_are_traced_with_all_exits_in_each_state(self):
        for name, options in STATES.items():
            for level in ("-O1", "-O2", "-Os"):
                with self.subTest(name, level=level):
                    self.build(level, *options)
                    self.traced(self.plan(), (*FUNCTIONS, "hidden"))

    def test_stripped_files_have_the_same_windows(self):
        for name, options in STATES.items():
            with self.subTest(name):
                self.build(*options)
                whole = self.plan()
                self.build("-s", *options)
                bare = {f["address"]: f for f in self.plan().values()}
                for f in whole.values():
                    self.assertIn(f["address"], bare, f["function"])
                    there = bare[f["address"]]
                    for key in ("entry", "refused", "exits"):
                        self.assertEqual(there[key], f[key], f["function"])

    def test_what_several_functions_jump_to_is_one_of_its_own_where_nothing_names_it(self):
        self.build(text=SHARED, suffix="s")
        address = self.plan()["shared"]["address"]
        self.build("-s", text=SHARED, suffix="s")
        functions = self.plan()
        self.traced(functions, ("before", "one", "two", f"subject+{address:#x}"))

    def test_landing_pads_are_control_sites(self):
        """Cleanups are landing pads, which only unwinders come to."""
        for name, options in STATES.items():
            for strip in ((), ("-s",)):
                with self.subTest(name, strip=strip):
                    self.build(*options, *strip, "-fexceptions", text=CLEANS)
                    self.traced(self.plan(), ("cleans",))
                    drawn = self.drawn("cleans")
                    self.assertRegex(drawn, r"control: jump\n")
                    self.assertNotIn("inferred", drawn)


class Assembled(Explained):
    def setUp(self):
        super().setUp()
        self.build(text=ASSEMBLY, suffix="s")
        self.functions = self.plan()

    def test_returns_with_a_condition_are_exits(self):
        self.traced(self.functions, ("a32_returns_if", "t32_returns_if", "a32_goes_on_with_its_frame"))
        self.assertRegex(self.drawn("a32_returns_if"), r"return: jump\n\|.* popeq +\{r4, pc\}")
        self.assertRegex(self.drawn("t32_returns_if"), r"return: \w+.*\n\|.* it +eq")
        self.assertEqual(sum(self.functions["a32_returns_if"]["exits"].values()), 3)
        self.assertEqual(sum(self.functions["t32_returns_if"]["exits"].values()), 2)

    def test_jumps_by_a_distance_stay_in_their_function(self):
        self.traced(self.functions, ("a32_jumps_so_far",))
        self.assertEqual(sum(self.functions["a32_jumps_so_far"]["exits"].values()), 1)

    def test_blocks_are_whole(self):
        self.traced(self.functions, ("t32_conditional_block",))

    def test_each_state_is_disassembled_as_such_and_data_is_shown_as_data(self):
        self.assertRegex(self.drawn("a32_returns_if"), r"cmp +r0, #0?x?3")
        self.assertIn("data 0x4770bf00", self.drawn("t32_literal"))

    def test_code_that_does_not_tell_its_depth_is_refused(self):
        self.assertEqual(self.functions["t32_unknown_depth"]["refused"], "unknown-depth")


class Refused(Explained):
    def test_programs_are_not_recorded(self):
        source = os.path.join(self.folder.name, "program.c")
        with open(source, "w", encoding="utf-8") as f:
            f.write("int main(void) { return 0; }")
        self.assertEqual(run(GCC, source, "-o", self.program).returncode, 0)
        result = run(SPOOR, "record", "-o", os.path.join(self.folder.name, "trace"), self.program)
        self.assertIn(result.returncode, (125, 126))
        self.assertRegex(result.stderr, r"\Aspoor: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
