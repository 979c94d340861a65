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
function a32_ends_if
    push {r4, lr}
    sub sp, sp, #8
    cmp r0, #3
    addeq sp, sp, #8
    ldrne r1, [r0]
    popeq {r4, lr}
    beq out
    bl out
    add sp, sp, #8
    pop {r4, pc}
.size a32_ends_if, . - a32_ends_if
.macro unknown by test condition
function a32_unknown_\\by
    push {r4, lr}
    sub sp, sp, #8
    cmp r0, #3
    addeq sp, sp, #8
    \\test
    pop\\condition {r4, pc}
    bl out
    add sp, sp, #8
    pop {r4, pc}
.size a32_unknown_\\by, . - a32_unknown_\\by
.endm
unknown "other_flags", "cmp r1, #2", eq
unknown "another", "mov r1, #2", hi
function a32_unknown_where_ways_meet
    push {r4, lr}
    sub sp, sp, #8
    cmp r0, #3
    addeq sp, sp, #8
1:  popeq {r4, pc}
    bl out
    cmp r0, #7
    b 1b
.size a32_unknown_where_ways_meet, . - a32_unknown_where_ways_meet
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

# A shared tail without unwind information. The unwind entry before it also covers the padding in between.
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

# A function without a symbol begins behind the first call that never returns. Behind the second such call is dead code
# of the same function.
NORETURN = """
.syntax unified
.thumb
.text
.type asks, %function
.global asks
asks:
    .fnstart
    .save {r3, lr}
    push {r3, lr}
    mov r3, r1
    bl out
    cbz r0, 1f
    pop {r3, pc}
1:  bl dies
    .fnend
.size asks, . - asks
.type silent, %function
silent:
    push {r4, r5, r6, lr}
    mov r4, r0
    bl out
    pop {r4, r5, r6, pc}
    nop
.size silent, . - silent
.type dies, %function
dies:
    .fnstart
    .save {r4, lr}
    push {r4, lr}
    mov r4, r1
    bl out
    bl abort
    .fnend
.size dies, . - dies
.type goes_on, %function
.global goes_on
goes_on:
    .fnstart
    .save {r4, r5, r6, lr}
    push {r4, r5, r6, lr}
    cmp r0, #0
    beq 1f
    bl dies
    movs r0, #2
    bl out
1:  mov r0, r4
    pop {r4, r5, r6, pc}
    .fnend
.size goes_on, . - goes_on
"""

# Behind a call that never returns are words that look like code; a load reads them. Two functions are reached only by
# jumps of another function. One of them begins right behind such a call.
WORDS = """
.syntax unified
.arm
.text
.type reads, %function
.global reads
reads:
    .fnstart
    .save {r4, lr}
    push {r4, lr}
    mov r4, r0
    adr r3, 2f
    ldrd r2, r3, [r3]
    bl out
    cmp r0, r2
    bne 3f
0:  pop {r4, pc}
3:  bl abort
    nop
2:  .word 0x3b9aca00, 0
    .fnend
.size reads, . - reads
.type shared, %function
shared:
    push {r4, lr}
    mov r4, r0
    cmp r0, #0
    beq 1f
    bl out
    pop {r4, pc}
1:  bl abort
.size shared, . - shared
.type behind, %function
behind:
    push {r3, lr}
    bl out
    pop {r3, pc}
.size behind, . - behind
.type jumps, %function
.global jumps
jumps:
    .fnstart
    cmp r0, #1
    beq behind
    cmp r0, #2
    beq shared
    b out
    .fnend
.size jumps, . - jumps
"""

# A jump to labels whose addresses are only in words. They are not functions, though they look like A32 code. A part of
# the function is reached only from other parts.
LABELS = """
.syntax unified
.arm
.text
.type runs, %function
.global runs
runs:
    .fnstart
    push {r3, r4, r5, lr}
    mov r4, r0
    adr r3, 5f
    ldr r2, [r3]
    add r3, r3, r2
    str r3, [sp]
1:  ldr r2, [r4], #4
    ldr r3, [sp]
    ldr pc, [r3, r2, lsl #2]
2:  bl out
    cmp r0, #0
    bne 4f
    b 1b
3:  bl out
    pop {r3, r4, r5, pc}
4:  mov r0, #1
    pop {r3, r4, r5, pc}
5:  .word table - 5b
    .fnend
.size runs, . - runs
.section .data.rel.ro, "aw"
.balign 4
table: .word 2b, 3b
"""

# Every other T32 instruction is a short jump, which real code hardly has. Read as A32, the words have the condition
# "never".
HALF_JUMPS = """
.syntax unified
.thumb
.text
.balign 4
.type hops, %function
.global hops
hops:
    .fnstart
    .rept 20
    movs r0, #1
    b . + 2
    .endr
    bx lr
    .fnend
.size hops, . - hops
"""

# The shape of crti.o and GCC's start code in T32 libraries: the function that the dynamic linker calls first is A32.
# So is its callee, which begins behind a call that never returns.
STARTED = """
.syntax unified
.text
.thumb
.type never, %function
.global never
never:
    .fnstart
    .save {r3, lr}
    push {r3, lr}
    movs r0, #1
    bl abort
    .fnend
.size never, . - never
.arm
.type helps, %function
helps:
    cmp r0, #0
    bxeq lr
    b out
.size helps, . - helps
.type starts, %function
.global starts
.hidden starts
starts:
    push {r3, lr}
    bl helps
    pop {r3, pc}
.size starts, . - starts
"""


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


@unittest.skipUnless(GCC, "no compiler for 32-bit Arm")
class Explained(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.program = os.path.join(self.folder.name, "subject")

    def build(self, *options, text=C, suffix="c", good=True, link=LINK):
        source = os.path.join(self.folder.name, "subject." + suffix)
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        result = run(GCC, *link, *options, source, "-o", self.program)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        checked = run(CHECK, self.program)
        self.assertEqual((checked.returncode == 0, checked.stderr), (good, ""), checked.stdout)

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
    def test_functions_and_exits_in_each_state(self):
        for name, options in STATES.items():
            for level in ("-O1", "-O2", "-Os"):
                with self.subTest(name, level=level):
                    self.build(level, *options)
                    self.traced(self.plan(), (*FUNCTIONS, "hidden"))

    def test_exits_of_apcs_frames(self):
        for debug in ([], ["-gdwarf-4"]):  # with -g: call-frame information, by the frame pointer
            for level in ("-O0", "-O1", "-O2", "-Os"):
                with self.subTest(level=level, debug=debug):
                    self.build(level, "-marm", "-mapcs-frame", "-fno-omit-frame-pointer", *debug)
                    self.traced(self.plan(), (*FUNCTIONS, "hidden"))
                    self.assertRegex(self.drawn(FUNCTIONS[0]), r"return: jump\n\|.* ldm.*sp, pc\}")

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

    def test_unnamed_targets_of_several_tail_calls(self):
        self.build(text=SHARED, suffix="s")
        address = self.plan()["shared"]["address"]
        self.build("-s", text=SHARED, suffix="s")
        functions = self.plan()
        self.traced(functions, ("before", "one", "two", f"subject+{address:#x}"))

    def test_unnamed_functions_after_noreturn_calls(self):
        self.build(text=NORETURN, suffix="s")
        whole = self.plan()
        self.build("-s", text=NORETURN, suffix="s")
        functions = self.plan()
        names = {n: n if n in ("asks", "goes_on") else f"subject+{whole[n]['address']:#x}" for n in whole}
        self.traced(functions, (names["asks"], names["silent"], names["dies"], "goes_on"))
        self.assertEqual(sorted(functions), sorted(names.values()))

    def test_words_after_noreturn_calls(self):
        self.build(text=WORDS, suffix="s")
        whole = self.plan()
        self.traced(whole, whole)
        self.build("-s", text=WORDS, suffix="s")
        bare = {f["address"]: f for f in self.plan().values()}
        self.assertEqual(sorted(bare), sorted(f["address"] for f in whole.values()))
        self.traced(bare, bare)

    def test_state_of_code_called_by_the_dynamic_linker(self):
        self.build("-Wl,-init=starts", text=STARTED, suffix="s")
        whole = {f["address"]: f for f in self.plan().values()}
        self.build("-s", "-Wl,-init=starts", text=STARTED, suffix="s")
        bare = {f["address"]: f for f in self.plan().values()}
        for address, f in whole.items():
            self.assertIn(address, bare, f["function"])
            for key in ("entry", "refused", "exits"):
                self.assertEqual(bare[address][key], f[key], f["function"])
        self.traced(bare, bare)

    def test_labels_begin_no_functions(self):
        for strip in ((), ("-s",)):
            with self.subTest(strip):
                self.build(*strip, text=LABELS, suffix="s")
                functions = self.plan()
                self.assertEqual({name: f["size"] for name, f in functions.items()}, {"runs": 72})
                self.traced(functions, functions)

    def test_states_against_mapping_symbols(self):
        """check-plan compares with mapping symbols of a debug file, here also of another program, and with the looks of
        the code."""
        named = "-Wl,--build-id=0x11223344"
        debug = os.path.join(self.folder.name, "debug")
        os.makedirs(os.path.join(debug, ".build-id/11"))
        for state, result in (("t32", 0), ("a32", 1)):
            self.build(named, *STATES[state])
            os.replace(self.program, os.path.join(debug, ".build-id/11/223344.debug"))
            self.build("-s", named, *STATES["t32"])
            checked = run(CHECK, "--debug", debug, self.program)
            self.assertEqual(checked.returncode, result, checked.stdout)
            self.assertRegex(checked.stdout, r"states of [1-9]\d* functions told")
            self.assertEqual("tells another state" in checked.stdout, result == 1)
        self.build("-s", text=HALF_JUMPS, suffix="s", good=False)
        checked = run(CHECK, self.program)
        self.assertEqual(checked.returncode, 1, checked.stdout)
        self.assertIn("code reads like that of the other state", checked.stdout)

    def test_landing_pads_are_control_sites(self):
        """Cleanups are landing pads: only unwinders reach them."""
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

    def test_whole_it_blocks(self):
        self.traced(self.functions, ("t32_conditional_block",))

    def test_disassembly_of_both_states_and_data(self):
        self.assertRegex(self.drawn("a32_returns_if"), r"cmp +r0, #0?x?3")
        self.assertIn("data 0x4770bf00", self.drawn("t32_literal"))

    def test_code_of_unknown_depth_refused(self):
        unknown = [name for name in self.functions if "_unknown_" in name]
        self.assertEqual(len(unknown), 4)
        for name in unknown:
            self.assertEqual(self.functions[name]["refused"], "unknown-depth", name)

    def test_conditional_epilogues(self):
        self.traced(self.functions, ("a32_ends_if",))
        self.assertEqual(sum(self.functions["a32_ends_if"]["exits"].values()), 2)


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
