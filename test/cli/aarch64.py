#!/usr/bin/env python3
"""`spoor explain` plans AArch64 files on any host: assembly of known shapes, and compiled code."""
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SPOOR, SHAPES = os.environ["SPOOR"], sys.argv[1]
GCC, CLANG = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("clang")
PROTECTIONS = ("none", "bti", "standard", "pac-ret+leaf")
LINK = ["-shared", "-nostdlib", "-fPIC", "-O2", "-Wl,--build-id=none"]

C = """
int out(int); extern int (*through)(int); extern volatile int sink;
__attribute__((noinline)) int plain(int a) { return out(a) + 1; }
int tail(int a) { sink = a; return out(a); }
int many(int a, int b) { switch (a) {
  case 0: return b * 7; case 1: return out(b) + 3; case 2: return b / 3; case 3: sink = b; return 9;
  case 4: return b ^ 55; case 5: return out(b * 2) - 1; case 6: return b << 3; case 7: return ~b;
  case 8: return out(b + 8) * 5; case 9: return b % 11; case 10: sink = b + 1; return 1; case 11: return -b;
  case 12: return out(b - 1) ^ 3; case 13: return b * b; case 14: return b & 77; case 15: return out(out(b)); }
  return 0; }
"""


# Arms of a switch that return. Without call-frame information a function is traced only if all of them are found.
SWITCHES = """
int out(int); extern volatile int sink;
#define ARM(n) case n: sink = b + n; return out(b ^ n) + n;
int bytes(int a, int b) { switch (a) { ARM(0) ARM(1) ARM(2) ARM(3) ARM(4) ARM(5) ARM(6) ARM(7) ARM(8) } return b; }
int halves(int a, int b) { switch (a - 40) { ARM(0) ARM(1) ARM(2) ARM(3) ARM(4) ARM(5) ARM(6) ARM(7) ARM(8) ARM(9) ARM(10)
  ARM(11) ARM(12) ARM(13) ARM(14) ARM(15) ARM(16) ARM(17) ARM(18) ARM(19) ARM(20) ARM(21) ARM(22) ARM(23) ARM(24) ARM(25)
  ARM(26) ARM(27) ARM(28) ARM(29) ARM(30) ARM(31) ARM(32) ARM(33) ARM(34) ARM(35) ARM(36) ARM(37) ARM(38) ARM(39) } return 1; }
int loops(const unsigned char *p, int b) { for (;;) switch (*p++ & 15) { case 0: b = out(b); break; case 1: b += 3; break;
  case 2: sink = b; break; case 3: b = out(b * 3); break; case 5: b ^= 9; break; case 6: b = -out(b); break;
  case 7: sink = 2; break; case 8: b <<= 1; break; case 9: return b; case 10: return out(b) - 1; default: b = ~b; } }
"""
TWICE = """
#include <setjmp.h>
#include <unistd.h>
extern jmp_buf buffer; int out(int);
int jumps(void) { int r = setjmp(buffer); return out(r) + 1; }
int forks(void) { int r = vfork(); return r ? out(r) + 2 : 0; }
int neither(void) { return out(3) + out(4); }
"""


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


class Explained(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def build(self, *options, text=None, compiler=(GCC,)):
        source, program = SHAPES, os.path.join(self.folder.name, "subject")
        if text:
            source = os.path.join(self.folder.name, "subject.c")
            with open(source, "w", encoding="utf-8") as f:
                f.write(text)
        else:
            options = ("-march=armv8.5-a", *options)
        result = run(*compiler, *LINK, *options, source, "-o", program)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return program

    def plan(self, program):
        result = run(SPOOR, "explain", "--json", program)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return {f["function"]: f for f in json.loads(result.stdout)}

    def drawn(self, program, name):
        return run(SPOOR, "explain", "-F", name, program).stdout

    def exits(self, f):
        return {tier: n for tier, n in f["exits"].items() if n}


class Shapes(Explained):
    def setUp(self):
        super().setUp()
        self.program = self.build()
        self.functions = self.plan(self.program)

    def traced(self, name, exits):
        f = self.functions[name]
        self.assertEqual((f["entry"], f["refused"], self.exits(f), f["inferred"]), ("jump", None, exits, []))

    def test_windows_of_one_instruction(self):
        for name, exits in (("first_page", 1), ("first_vector", 1), ("tail_direct", 1), ("tail_indirect", 1),
                            ("tail_if", 2), ("leaf_switch", 3), ("large_frame", 1),
                            ("undescribed", 2), ("lands", 1)):
            with self.subTest(name):
                self.traced(name, {"jump": exits})

    def test_sites_behind_landing_instructions(self):
        self.assertRegex(self.drawn(self.program, "lands"),
                         r"bti c\n.* 3f 23 03 d5 .*paciasp\n +entry: jump\n\|.*\[00 04 00 91\] +add x0, x0, #0x1\n"
                         r" +return: jump\n\|.*\[ff 0b 5f d6\] +retaa")

    def test_one_moved_instruction_per_site(self):
        text = self.drawn(self.program, "leaf_switch")
        moved = [line for line in text.splitlines() if line.startswith("|")]
        self.assertEqual(len(moved), 4)  # the entry and three returns
        self.assertIn("tail: jump", self.drawn(self.program, "tail_indirect"))
        self.assertNotIn("tail", text)
        self.assertIn("control: jump", self.drawn(self.program, "by_another_stack"))

    def test_exclusive_accesses_stay_together(self):
        self.assertEqual(self.functions["atomic_first"]["refused"], "unrelocatable")
        f = self.functions["atomic_inside"]
        self.assertEqual((f["entry"], self.exits(f)), ("jump", {"jump": 1, "none": 1}))

    def test_moved_calls_and_unmoved_system_calls(self):
        self.traced("calls_first", {})
        self.assertEqual(self.functions["kernel_first"]["refused"], "syscall-in-window")


class Compiled(Explained):
    COMPILERS = {"gcc": (GCC,), "clang": (CLANG, "--target=aarch64-linux-gnu", "-fuse-ld=lld")}

    def each(self):
        for name, compiler in self.COMPILERS.items():
            lld = name == "gcc" or shutil.which("ld.lld")
            if compiler[0] and lld:
                yield name, compiler

    def test_switches_are_no_tail_calls(self):
        for name, compiler in self.each():
            with self.subTest(name):
                f = self.plan(self.build("-fno-stack-protector", text=C, compiler=compiler))
                drawn = self.drawn(os.path.join(self.folder.name, "subject"), "many")
                self.assertIn("br x", drawn)
                self.assertEqual(f["many"]["inferred"], [])
                self.assertNotRegex(drawn, r"tail: jump\n\|.*br x")
                self.assertEqual(self.exits(f["tail"]), {"jump": 1})

    def test_switches_without_symbols(self):
        no_cfi = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-stack-protector")
        for name, compiler in self.each():
            for level in ("-O1", "-O2", "-O3", "-Os"):
                for protection in ("none", "standard"):
                    with self.subTest(compiler=name, level=level, protection=protection):
                        program = self.build(level, *no_cfi, f"-mbranch-protection={protection}",
                                             text=SWITCHES, compiler=compiler)
                        functions = self.plan(program)
                        self.assertIn("br x", self.drawn(program, "halves"))
                        for function in "bytes", "halves", "loops":
                            f = functions[function]
                            self.assertEqual((f["entry"], f["refused"], f["inferred"]), ("jump", None, []))

    def test_setjmp_calls_through_linker_stubs(self):
        for name, compiler in self.each():
            for options in ((), ("-mbranch-protection=standard",), ("-fno-plt",), ("-Wl,-z,now",)):
                with self.subTest(compiler=name, options=options):
                    program = self.build(*options, text=TWICE, compiler=compiler)
                    for function, count in ("jumps", 1), ("forks", 1), ("neither", 0):
                        self.assertEqual(self.drawn(program, function).count("control: jump"), count, function)

    def test_setjmp_calls_without_dynamic_symbols(self):
        text = TWICE + "jmp_buf buffer; int main(void) { return jumps() + forks(); } int out(int n) { return n; }"
        for name, compiler in self.each():
            with self.subTest(compiler=name):
                source, program = (os.path.join(self.folder.name, file) for file in ("main.c", "main"))
                with open(source, "w", encoding="utf-8") as f:
                    f.write(text)
                result = run(*compiler, "-O1", "-fno-inline", source, "-o", program)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertEqual(self.drawn(program, "jumps").count("control: jump"), 1)

    def padded(self, entries):
        """Programs with pads. Each kind of pad meets each protection with one compiler, in turns."""
        for i, (name, compiler) in enumerate(self.each()):
            for j, (entry, protection) in enumerate(itertools.product(entries, PROTECTIONS)):
                if (j // len(PROTECTIONS) + j) % 2 == i:
                    with self.subTest(compiler=name, entry=entry, protection=protection):
                        yield self.build(f"-fpatchable-function-entry={entry}",
                                         f"-mbranch-protection={protection}", text=C, compiler=compiler)

    def test_patchable_pads_with_and_without_bti(self):
        for program in self.padded(("1", "2,1", "6,5")):
            for f in self.plan(program).values():
                self.assertEqual((f["entry"], f["inferred"]), ("pad", []), f)
            self.landing_stays(self.drawn(program, "plain"))

    def test_pads_before_the_entry(self):
        for program in self.padded(("1,1", "2,2", "4,4")):
            for f in self.plan(program).values():
                self.assertEqual((f["entry"], f["refused"], f["inferred"]), ("jump", None, []), f)
            self.landing_stays(self.drawn(program, "plain"), nops=0)

    def landing_stays(self, text, nops=1):
        self.assertNotRegex(text, r"(?m)^\|.*(bti|pac.asp)")
        self.assertEqual(len(re.findall(r"\[1f 20 03 d5\]", text)), nops)

    def test_protected_functions_are_traced(self):
        for name, compiler in self.each():
            for protection in ("bti", "standard", "pac-ret+leaf+b-key"):
                with self.subTest(compiler=name, protection=protection):
                    program = self.build(f"-mbranch-protection={protection}", text=C, compiler=compiler)
                    for f in self.plan(program).values():
                        self.assertEqual((f["entry"], f["inferred"]), ("jump", []), f)


if __name__ == "__main__":
    if not GCC:
        print("aarch64-linux-gnu-gcc is missing")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
