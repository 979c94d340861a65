#!/usr/bin/env python3
"""`spoor unwind` on made-up dumps and bad input. test/unwind checks the frames of real programs."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

SPOOR = os.environ["SPOOR"]
SOURCE = """\
#define CFI(size) ".cfi_startproc\\n.cfi_def_cfa_offset " #size "\\n.cfi_offset 14, -4\\n"
__asm__(".syntax unified\\n.thumb\\n.cfi_sections .debug_frame\\n"
".thumb_func\\n.type fault, %function\\nfault: .cfi_startproc\\nbeq 1f\\nudf #0\\n1: .cfi_endproc\\n.size fault, . - fault\\n"
".thumb_func\\n.type middle, %function\\nmiddle: " CFI(16) "nop\\nbl fault\\nnop\\n.cfi_endproc\\n.size middle, . - middle\\n"
".globl _start\\n.thumb_func\\n.type _start, %function\\n_start: .cfi_startproc\\n.cfi_undefined 14\\nbl middle\\n"
"blx r3\\nnop\\nbl stop\\n.cfi_endproc\\n.size _start, . - _start\\n"
".thumb_func\\n.type stop, %function\\nstop: .cfi_startproc\\nnop\\nbl fault\\n1: nop\\nb 1b\\n.cfi_endproc\\n.size stop, . - stop\\n");
"""


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True,
                          timeout=60, **more)


class Unwind(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        source, self.image = self.path("a.c"), self.path("a.elf")
        with open(source, "w", encoding="ascii") as f:
            f.write(SOURCE)
        subprocess.run(["clang", "--target=armv7m-none-eabi", "-mthumb", "-nostdlib", "-fuse-ld=lld", source,
                        "-o", self.image], check=True)
        rows = re.findall(r"(?m)^ *\d+: ([0-9a-f]+) .* (\w+)$", run("readelf", "-sW", self.image).stdout)
        at = {name: int(value, 16) & ~1 for value, name in rows}
        self.fault, self.middle, self.start = at["fault"] + 2, at["middle"] + 6, at["_start"] + 4
        self.stop = at["stop"] + 2

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as f:
            f.write(content)
        return self.path(name)

    def unwind(self, registers, stack, *options):
        words = ",".join(f"{name}={value:#x}" for name, value in registers.items())
        result = run(SPOOR, "unwind", "--regs", words, "--stack", stack, *options, self.image)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def ask(self, registers, words, *options):
        stack = self.write("words", struct.pack(f"<{len(words)}I", *words))
        found = json.loads(self.unwind(registers, stack, "--json", *options))
        return [(f["address"], f["return"], f["found"]) for f in found["frames"]], found["end"]

    def registers(self, **more):
        return {"pc": self.fault, "lr": self.middle | 1, "sp": 0x20001000, **more}

    def stack(self):
        return [1, 2, 3, self.start | 1]

    def all_frames(self):
        return [(self.fault, False, "registers"), (self.middle, True, "link register"),
                (self.start, True, "call-frame information")]

    # ---- frames ----

    def test_frames_and_how_they_were_found(self):
        stack = self.write("stack", b"".join(b"%08x: %08x\n" % (0x20001000 + 4 * i, word)
                                             for i, word in enumerate(self.stack())))
        self.assertEqual(self.unwind(self.registers(), stack),
                         f"#0   0x{self.fault:08x} fault+0x2 [registers]\n"
                         f"#1   0x{self.middle:08x} middle+0x6 [link register]\n"
                         f"#2   0x{self.start:08x} _start+0x4 [call-frame information]\n"
                         "end: nothing has called it\n")

    def test_dump_from_standard_input(self):
        words = f"pc={self.fault},lr={self.middle | 1:#x} sp=536875008 xpsr=0x1000000"
        result = run(SPOOR, "unwind", self.image, "--regs", words, "--stack=-", "--json",
                     input=" ".join(f"{word:08x}" for word in self.stack()))
        self.assertEqual(json.loads(result.stdout)["end"], "bottom")

    def test_image_loaded_elsewhere(self):
        low = 0x10000
        moved = self.registers(pc=self.fault + 0x5000, lr=self.middle + 0x5001)
        frames, end = self.ask(moved, [1, 2, 3, self.start + 0x5001], f"--base={low + 0x5000:#x}")
        self.assertEqual((frames[2][0], end), (self.start + 0x5000, "bottom"))

    def test_call_to_nowhere(self):
        behind = self.start + 2
        frames, end = self.ask(self.registers(pc=0, lr=behind | 1), self.stack())
        self.assertEqual(frames, [(0, False, "registers"), (behind, True, "link register")])
        self.assertEqual(end, "bottom")

    def test_jump_to_nowhere(self):
        """The call before the link register's address has a known callee, which is not 0. So it is an earlier call."""
        self.assertEqual(self.ask(self.registers(pc=0), self.stack()), ([(0, False, "registers")], "no-code"))

    # ---- exceptions ----

    def exception(self, how, psr=1 << 24, extended=()):
        """Registers and stack of a handler that has interrupted fault()."""
        return (self.registers(pc=how),
                [10, 11, 12, 13, 112, self.middle | 1, self.fault, psr, *extended, *self.stack()])

    def check_exception(self, registers, words):
        frames, end = self.ask(registers, words)
        self.assertEqual(end, "bottom", frames)
        self.assertEqual(frames, [(self.fault, False, "exception frame"), *self.all_frames()[1:]])

    def test_exception_frame(self):
        self.check_exception(*self.exception(0xfffffff9))
        self.check_exception(*self.exception(0xfffffff1))

    def test_fp_registers_and_padding(self):
        self.check_exception(*self.exception(0xffffffe9, extended=[0] * 18))
        self.check_exception(*self.exception(0xfffffff9, psr=1 << 24 | 1 << 9, extended=[0]))
        self.check_exception(*self.exception(0xffffffe9, psr=1 << 24 | 1 << 9, extended=[0] * 19))

    def test_registers_of_secure_code(self):
        registers, words = self.exception(0xffffffd9)
        self.check_exception(registers, [0xfefa125b, 0, 4, 5, 6, 7, 8, 9, 10, 11, *words])
        self.assertEqual(self.ask(registers, words), ([], "bad-exception"))

    def test_unknown_process_stack(self):
        registers, words = self.exception(0xfffffffd)
        self.assertEqual(self.ask(registers, words), ([], "no-register"))
        known = {**registers, "sp": 0x20008000, "psp": 0x20001000}
        self.assertEqual(self.ask(known, words, "--stack-base=0x20001000")[1], "bottom")

    def test_false_exception_frame(self):
        self.assertEqual(self.ask(*self.exception(0xfffffff9, psr=0)), ([], "bad-exception"))

    # ---- ends ----

    def test_no_invented_frames(self):
        first = self.all_frames()
        for registers, words, count, end in (
                (self.registers(lr=0), self.stack(), 1, "bottom"),
                (self.registers(lr=0x12345679), self.stack(), 1, "no-code"),
                (self.registers(lr=self.middle - 1), self.stack(), 1, "no-call"),
                (self.registers(), [1, 2, 3], 2, "cut"),
                (self.registers(), [1, 2, 3, self.start - 1], 2, "no-call"),
                (self.registers(), [1, 2, 3, 0x20001001], 2, "no-code"),
                (self.registers(sp=0x20000fff), self.stack(), 2, "no-code")):
            self.assertEqual(self.ask(registers, words, "--stack-base=0x20001000"
                                      if registers["sp"] == 0x20000fff else "--json"), (first[:count], end))
        without = {name: value for name, value in self.registers().items() if name != "lr"}
        self.assertEqual(self.ask(without, self.stack()), (first[:1], "no-register"))

    def test_noreturn_function(self):
        """The return address is in the link register until the first call. Then the register has the return address of
        any earlier call."""
        called, behind = self.start + 8, self.stop + 4
        self.assertEqual(self.ask(self.registers(pc=self.stop, lr=called | 1), self.stack()),
                         ([(self.stop, False, "registers"), (called, True, "prologue")], "bottom"))
        for lr in (behind | 1, self.middle | 1, 0):
            self.assertEqual(self.ask(self.registers(pc=behind, lr=lr), self.stack()),
                             ([(behind, False, "registers")], "no-return"))
        self.assertEqual(self.ask(self.registers(lr=behind | 1), self.stack()),
                         ([(self.fault, False, "registers"), (behind, True, "link register")], "no-return"))

    # ---- bad input ----

    def refused(self, status, why, *words):
        result = run(SPOOR, "unwind", *words, stdin=subprocess.DEVNULL)
        self.assertEqual((result.returncode, result.stdout), (status, ""))
        self.assertEqual(result.stderr, f"spoor: {why}\n")

    def test_bad_input(self):
        stack, good = self.write("stack", b"\0" * 64), "--regs=pc=0x10000,sp=0x20000000"
        self.refused(2, "unwind: registers are missing: give --regs: try 'spoor unwind --help'", self.image)
        self.refused(2, "unwind: no stack: give --stack: try 'spoor unwind --help'", self.image, good)
        self.refused(2, "the pc is missing: give pc=VALUE", self.image, "--regs=sp=1", "--stack", stack)
        self.refused(2, "the stack pointer is missing: give sp=VALUE", self.image, "--regs=pc=1", "--stack", stack)
        self.refused(2, "rax: is no register of this machine", self.image, "--regs=rax=1", "--stack", stack)
        for word in ("sp", "sp=", "sp=x", "sp=0x100000000", "sp=0x"):
            self.refused(2, f"{word}: has no value: write it as in sp=0x20001000", self.image, f"--regs={word}",
                         "--stack", stack)
        none = self.path("none")
        self.refused(1, f"{none}: No such file or directory", self.image, good, "--stack", none)
        self.refused(1, f"{self.directory}: Is a directory", self.image, good, "--stack", self.directory)
        text = self.write("text", b"nothing here\n")
        self.refused(1, f"{text}: holds no memory: give raw bytes, Intel HEX, or hexadecimal text as gdb, xxd, "
                     "hexdump or a fault handler prints it", self.image, good, "--stack", text)
        with open(self.image, "rb") as f:
            image = f.read()
        other = self.write("other", image[:18] + struct.pack("<H", 94) + image[20:])
        self.refused(1, f"{other}: its machine is not supported: spoor unwinds Arm, AArch64 and x86-64",
                     other, good, "--stack", stack)


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
