#!/usr/bin/env python3
"""Code of 32-bit Arm that is built for profilers: GCC's -pg, which pushes what the profiler pops, and XRay's sleds."""
import sys
import unittest

import arm

# No padding between them: their entries have room for a jump only if the profiler's call, which is in it, is moved.
COUNT = 40
TINY = "".join(f"int tiny{n}(int a) {{ return a + {n}; }}\n" for n in range(1, COUNT + 1))

# As Clang leaves sleds, and tells where they are: by their distance from the word that tells it, which is negative.
SLEDS = """
.syntax unified
.arm
.text
.macro sled number, kind
sled\\number:
    b . + 28
    .rept 6
    nop
    .endr
.section xray_instr_map, "a"
    .word sled\\number - ., sledded - .
    .byte \\kind, 1, 2
    .zero 5
.text
.endm
.type sledded, %function
.global sledded
sledded:
    .fnstart
    sled 1, 0
    .save {fp, lr}
    push {fp, lr}
    bl out
    add r0, r0, #1
    sled 2, 1
    pop {fp, pc}
    .fnend
.size sledded, . - sledded
"""


@unittest.skipUnless(arm.GCC, "no compiler for 32-bit Arm")
class Profiled(arm.Explained):
    def test_register_pushed_for_the_profiler(self):
        for name, options in arm.STATES.items():
            for level in ("-O0", "-O2", "-Os"):
                with self.subTest(name, level=level):
                    self.build(level, "-pg", *options)
                    self.traced(self.plan(), (*arm.FUNCTIONS, "hidden"))

    def test_state_changing_calls_at_an_entry(self):
        self.build("-Os", "-pg", "-mthumb", text=TINY)
        functions = self.plan()
        names = [f"tiny{n}" for n in range(1, COUNT + 1)]
        self.traced(functions, names)
        self.assertIn("jump", {functions[name]["entry"] for name in names})

    def test_sleds_untouched(self):
        self.build(text=SLEDS, suffix="s")
        self.traced(self.plan(), ["sledded"])
        drawn = self.drawn("sledded")
        for line in "push {fp, lr}", "pop {fp, pc}":
            self.assertRegex(drawn, rf"\| +[0-9a-f]+ +\[[^]]*\] +{line}")
        self.assertNotRegex(drawn, r"\| +[0-9a-f]+ +\[[^]]*\] +b ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
