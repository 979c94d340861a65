#!/usr/bin/env python3
"""Code of 32-bit Arm for profilers: GCC's -pg, which pushes a register that the profiler pops, and XRay's sleds."""
import sys
import unittest

import arm

# There is no padding between these functions. An entry has room for a jump only if the profiler's call is moved.
COUNT = 40
TINY = "".join(f"int tiny{n}(int a) {{ return a + {n}; }}\n" for n in range(1, COUNT + 1))

# Sleds in Clang's form. Their table has negative distances from its own words to the sleds.
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
