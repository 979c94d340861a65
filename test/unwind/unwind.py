#!/usr/bin/env python3
"""unwind.py WALKER [some]

Steps through programs for several machines in QEMU. At each new instruction, also in prologues and epilogues, it
compares the frames that the unwinder of `spoor unwind` (WALKER) finds with the calls that were made. "some": without
most compilers and options."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import stub

WALKER = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
ALL = sys.argv[2:] != ["some"]
COMMON = ["-g", "-ffreestanding", "-nostdlib", "-static", "-fno-stack-protector", "-w", "-DNDEBUG"]
LEAN = "-fomit-frame-pointer"
KEPT = "-fno-omit-frame-pointer"

# compiler, emulator, registers, name of the stack pointer and of the pc, the register that calls write
A64 = ("aarch64-linux-gnu-gcc", "qemu-aarch64-static", stub.A64, "sp", "pc", "x30")
A64_CLANG = ("clang --target=aarch64-linux-gnu -fuse-ld=lld", "qemu-aarch64-static", stub.A64, "sp", "pc",
             "x30")
ARM = ("arm-none-eabi-gcc -mcpu=cortex-a9", "qemu-arm-static", stub.ARM, "sp", "pc", "lr")
ARM_CLANG = ("clang --target=armv7a-none-eabi -fuse-ld=lld", "qemu-arm-static", stub.ARM, "sp", "pc", "lr")
X86 = ("gcc -no-pie -fno-pic", "qemu-x86_64-static", stub.X86, "rsp", "rip", None)
USER = [(A64, ("-O2", LEAN)), (ARM, ("-Os", "-marm", LEAN)), (ARM, ("-O2", "-mthumb", LEAN)),
        (ARM_CLANG, ("-O2", "-mthumb", LEAN)), (X86, ("-O2", LEAN)), (X86, ("-O2", KEPT))]
if ALL:
    USER = [(machine, (level, frame, *more)) for level in ("-O0", "-O1", "-O2", "-Os")
            for frame in (LEAN, KEPT)
            for machine, more in ((A64, ()), (A64, ("-mbranch-protection=standard",)), (A64_CLANG, ()),
                                  (ARM, ("-marm",)), (ARM, ("-mthumb",)), (ARM_CLANG, ("-marm",)),
                                  (ARM_CLANG, ("-mthumb",)), (X86, ()))]

GCC = "arm-none-eabi-gcc -mthumb -mcpu="
CLANG = "clang --target=arm-none-eabi -fuse-ld=lld -mthumb -mcpu="
AT_0 = ("mps2-an385", "0", "0x20000000")
BOARDS = {"cortex-m0": ("microbit", "0", "0x20000000"), "cortex-m3": AT_0,
          "cortex-m4": ("mps2-an386", "0", "0x20000000"), "cortex-m7": ("mps2-an500", "0", "0x20000000"),
          "cortex-m33": ("mps2-an505", "0x10000000", "0x38000000")}
FLOAT = ("-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-DFLOATING")
METAL = [(GCC, "cortex-m0", ("-Os",)), (GCC, "cortex-m3", ("-O2", LEAN, "-DPROCESS_STACK")),
         (GCC, "cortex-m4", ("-O1", *FLOAT)), (GCC, "cortex-m7", ("-O2", "-funwind-tables"))]
if ALL:
    METAL = [(compiler, cpu, (level, *more)) for level in ("-O0", "-O1", "-O2", "-Os")
             for compiler in (GCC, CLANG) for cpu in BOARDS
             for more in ((), (LEAN,), (KEPT,), ("-DPROCESS_STACK",), ("-DUNDEFINED",))]
    METAL.append((GCC, "cortex-m7", ("-O2", "-funwind-tables")))
    METAL += [(compiler, "cortex-m4", (level, *FLOAT, *more)) for level in ("-O0", "-O2")
              for compiler in (GCC, CLANG) for more in ((), ("-DPROCESS_STACK",), ("-DUNDEFINED",))]
MOST_STEPS = 20000
QUIET = 1000  # so many steps without a new instruction mean that the program is in a loop


class Truth:
    """The open calls of a program, taken from the effects of its instructions."""

    def __init__(self, machine):
        self.sp, self.pc, self.link = machine
        self.mask = ~1 if self.link == "lr" else ~0  # the Thumb bit
        self.calls = []  # (return address, sp after the return, whether an exception has interrupted there)

    def is_call(self, before, after, memory):
        """The return address if the step was a call; otherwise None."""
        pc, now = before[self.pc] & self.mask, after[self.pc] & self.mask
        if self.link is None:
            if after[self.sp] != before[self.sp] - 8:
                return None
            behind = int.from_bytes(memory(after[self.sp], 8), "little")
            return behind if 0 < behind - pc <= 7 and now != behind else None
        behind = after[self.link] & self.mask
        # The next instruction may be the callee, or the target of a jump over a call.
        goes_on = now == pc + 2 or (now == behind and before[self.link] == after[self.link])
        return behind if behind - pc in (2, 4) and not goes_on else None

    def has_ended(self, before, after):
        """Whether the program is in its last loop, of one instruction."""
        return before == after

    def note(self, before, after, memory):
        behind = self.is_call(before, after, memory)
        interrupted = self.link == "lr" and after["lr"] >= 0xffffff80 and after["pc"] != before["pc"] and \
            before["lr"] != after["lr"]
        if interrupted and after["lr"] != 0xffffffff:
            undefined = memory(before["pc"], 2)[1] == 0xde
            self.calls.append((before["pc"] + (0 if undefined else 2), before["sp"], True))
        elif behind is not None:
            self.calls.append((behind, before[self.sp], False))
        elif self.calls and (after[self.pc] & self.mask, after[self.sp]) == self.calls[-1][:2]:
            self.calls.pop()

    def frames(self, registers):
        return [(registers[self.pc] & self.mask, True)] + [(pc, exact) for pc, _, exact in reversed(self.calls)]


class Unwind(unittest.TestCase):
    walked = set()  # code and frames of programs for boards

    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)

    def path(self, name):
        return os.path.join(self.directory, name)

    def build(self, compiler, *flags):
        words = compiler.split()
        if not stub.is_there(words[0]):
            self.skipTest(words[0] + " is missing")
        image = self.path("image.elf")
        subprocess.run([*words, *COMMON, *flags, os.path.join(HERE, "calls.c"), "-o", image], check=True)
        if "-funwind-tables" in flags:
            subprocess.run(["arm-none-eabi-objcopy", "--remove-section=.debug_frame", image], check=True)
        return image

    def is_walked(self, image):
        """Whether an earlier program for a board had the same bytes: many options make no difference."""
        flat, frames = self.path("flat"), self.path("frames")
        open(frames, "wb").close()
        subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", image, flat], check=True)
        subprocess.run(["arm-none-eabi-objcopy", f"--dump-section=.debug_frame={frames}", image, self.path("copy")],
                       stderr=subprocess.DEVNULL, check=False)  # there may be none
        with open(flat, "rb") as code, open(frames, "rb") as table:
            both = code.read() + b"frames" + table.read()
        is_walked = both in self.walked
        self.walked.add(both)
        return is_walked

    def symbols(self, image):
        text = subprocess.run(["readelf", "-sW", image], stdout=subprocess.PIPE, text=True, check=True).stdout
        rows = [line.split() for line in text.splitlines() if line.strip()[:1].isdigit()]
        return {row[7]: (int(row[1], 16) & ~1, int(row[2], 0)) for row in rows if len(row) == 8}

    def unwind(self, walker, registers, base, stack):
        """Returns [(address, is exact)], and why the walk has ended."""
        words = ",".join(f"{name}={value:#x}" for name, value in registers.items())
        walker.stdin.write(f"{words} {base:x} {stack.hex()}\n".encode())
        walker.stdin.flush()
        *frames, end = walker.stdout.readline().decode().strip().split(";")
        parts = [frame.split(":") for frame in frames]
        return [(int(address, 16), kind == "p") for address, kind, _ in parts], end

    def is_gone(self, address, registers, stack, truth):
        """Whether neither a register nor a word of the stack has ADDRESS. (Pointers may be authenticated.)"""
        size = 4 if truth.link == "lr" else 8
        words = [int.from_bytes(stack[at:at + size], "little") for at in range(0, len(stack), size)]
        held = [*words, *(value for name, value in registers.items() if name != truth.pc)]
        return address not in [word & truth.mask & (1 << 48) - 1 for word in held]

    def compare(self, truth, walker, registers, target, extra):
        """None, or why frames are missing. Fails if a frame is wrong. The caller of a function that never returns
        may be missing: compilers (GCC for Arm, Clang) do not save its return address."""
        low = min([registers[truth.sp]] + [sp - 128 * exact for _, sp, exact in truth.calls])
        stack = target.read_memory(low, 12288)
        frames, end = self.unwind(walker, {**registers, **extra}, low, stack)
        wanted = truth.frames(registers)
        self.assertEqual(frames, wanted[:len(frames)], end)
        if end == "bottom":
            self.assertEqual(frames, wanted)
        if end == "no-return":
            self.assertTrue(self.is_gone(wanted[len(frames)][0], registers, stack, truth))
            return None
        return None if frames == wanted else end

    def walk(self, image, target, truth, process_stack):
        """Steps to the end. Returns the number of instructions where it unwound, and those with missing frames."""
        seen, lacking = set(), []
        walker = subprocess.Popen([WALKER, image], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(walker.stdout.close)
        registers, quiet = target.read_registers(), 0
        for _ in range(MOST_STEPS):
            extra = {}
            if process_stack and any(interrupted for _, _, interrupted in truth.calls):
                extra["psp"] = int.from_bytes(target.read_memory(process_stack, 4), "little")
            key = (registers[truth.pc], len(truth.calls) if ALL else 0)
            quiet += 1
            if key not in seen and extra.get("psp") != 0:
                seen.add(key)
                quiet = 0
                end = self.compare(truth, walker, registers, target, extra)
                if end:
                    lacking.append((hex(registers[truth.pc]), end))
            if quiet == QUIET or not target.step():
                break
            before, registers = registers, target.read_registers()
            if truth.has_ended(before, registers):
                break
            truth.note(before, registers, target.read_memory)
        walker.stdin.close()
        self.assertEqual(walker.wait(), 0)
        return len(seen), lacking

    def check(self, image, target, truth, process_stack=None, least=150):
        try:
            count, lacking = self.walk(image, target, truth, process_stack)
        finally:
            target.close()
            os.unlink(self.path("socket"))
        self.assertGreater(count, least)
        self.assertEqual(lacking, [])

    def test_programs(self):
        for (compiler, emulator, registers, sp, pc, link), flags in USER:
            with self.subTest(compiler=compiler, flags=flags):
                if not stub.is_there(emulator):
                    self.skipTest(emulator + " is missing")
                image = self.build(compiler, *flags)
                target = stub.user(emulator, image, self.path("socket"), registers)
                self.check(image, target, Truth((sp, pc, link)))

    def test_boards(self):
        for compiler, cpu, flags in METAL:
            with self.subTest(compiler=compiler, cpu=cpu, flags=flags):
                if not stub.is_there("qemu-system-arm"):
                    self.skipTest("qemu-system-arm is missing")
                machine, rom, ram = BOARDS[cpu]
                image = self.build(compiler + cpu, *flags, "-DCORTEX_M",
                                   "-Wl,-T," + os.path.join(HERE, "board.ld"),
                                   f"-Wl,--defsym=rom_start={rom}", f"-Wl,--defsym=ram_start={ram}")
                if self.is_walked(image):
                    continue
                target = stub.board(machine, image, self.path("socket"))
                process = self.symbols(image)["process_stack"][0] if "-DPROCESS_STACK" in flags else None
                least = 30 if "-DUNDEFINED" in flags else 150  # the handler stays in a loop
                self.check(image, target, Truth(("sp", "pc", "lr")), process, least)


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
