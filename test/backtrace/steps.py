#!/usr/bin/env python3
"""steps.py SOURCE [--some] [--only TEXT]: walks from each instruction of functions, also of prologues and epilogues.

The programs of matrix.py run in QEMU. They replace one instruction after the other by an undefined one and run its
scenario. At the fault the instruction is put back, all walkers walk, and the program goes on. Each walk must be right:
complete, or, at few instructions, end early. A wrong frame fails the test."""
import os
import re
import shutil
import struct
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import matrix

MOST_SHORT = 0.02  # the share of walks that may end early
# Numbers of the scenarios (in runtime.c) whose functions are stepped through.
SCENARIOS = [3, 4, 5, 6, 8, 9, 10, 13]
MOST = 5900
TARGETS = [target for target in matrix.USER if "interworking" not in target.name]
SOME = [("gcc", "-O2", "bare", "Thumb-1"), ("gcc", "-Os", "bare", "T32"), ("clang", "-O2", "bare", "A64")]


def make_writable(path):
    """Makes the segments of an ELF file writable, so that the program can write its code."""
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        wide = data[4] == 2
        first = struct.unpack_from("<Q" if wide else "<I", data, 32 if wide else 28)[0]
        size, count = struct.unpack_from("<HH", data, 54 if wide else 42)
        for n in range(count):
            struct.pack_into("<I", data, first + n * size + (4 if wide else 24), 7)
        file.seek(0)
        file.write(data)


class Steps(matrix.Build):
    """A program that walks from each instruction."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.total = 0

    def library(self, source, directory):
        self.target.defines = ["-DSTEPS"]
        return super().library(source, directory)

    def make(self, source, directory):
        path = super().make(source, directory)
        self.program = matrix.Program(path, self.target.gcc)
        self.chain_of = {}
        stops = []
        for scenario in SCENARIOS:
            chain = matrix.CHAINS[scenario]
            for index, name in enumerate(chain):
                if name == "deep" or name in chain[:index]:
                    continue
                stops += [(at, scenario, index) for at in self.instructions(name)]
        data = b"".join(struct.pack("<II", at, scenario) for at, scenario, _ in stops[:MOST])
        written = path + ".steps"
        with open(written, "wb") as file:
            file.write(data + bytes(8))
        matrix.run([self.target.gcc + "objcopy", "--update-section", ".steps=" + written, path])
        for at, scenario, index in stops[:MOST]:
            self.chain_of.setdefault(at, []).append((scenario, index))
        make_writable(path)
        return path

    def instructions(self, name):
        """Addresses of a function's instructions, without constants and undefined instructions."""
        for line in self.program.code[name]:
            match = re.match(r"\s*([0-9a-f]+):\s+(\S+)", line)
            if match and not match[2].startswith((".", "udf")):
                yield int(match[1], 16)

    def judge(self, program, output):
        if not output.endswith("done\n"):
            raise matrix.Broken(output[-1500:])
        for line in re.findall(r"(?m)^at .*$", output):
            _, at, _, *sites, result = line.split()
            names = [program.name(int(site[:-1], 16)) for site in sites]
            self.compare_at(int(at, 16), names, f"{line}: {names}")

    def compare_at(self, at, names, description):
        """The walk is right if it fits one of the scenarios that reach this instruction."""
        right = False
        complete = False
        for scenario, index in self.chain_of[at]:
            chain = matrix.CHAINS[scenario]
            expected = self.program.called(chain[index:])
            outer = self.program.called([chain[-1], *matrix.OUTER, *matrix.OUTERMOST[0]])[1:]
            count = len(expected)
            if names[:count] == expected and names[count:] == outer[:len(names) - count]:
                right = complete = True
            elif names == expected[:len(names)] and names:
                right = True
        self.total += 1
        if not right:
            self.wrong.append(f"{self.name}: {description}")
        elif not complete:
            self.short.append(f"{self.name}: {description}")


def cells(some):
    for target in TARGETS:
        for compiler in ("gcc", "clang"):
            for optimization in matrix.OPTIMIZATIONS:
                for build in matrix.BUILDS:
                    if not some or (compiler, optimization, build, target.name) in SOME:
                        yield Steps(compiler, target, optimization, build)


def main(words):
    source, some = os.path.realpath(words[0]), "--some" in words
    only = words[words.index("--only") + 1] if "--only" in words else ""
    for tool in ("clang", "arm-none-eabi-gcc", "aarch64-linux-gnu-gcc", "qemu-arm-static"):
        if not shutil.which(tool):
            print(f"{tool} is not installed")
            return matrix.SKIP
    with tempfile.TemporaryDirectory() as directory:
        chosen = [cell for cell in cells(some) if only in cell.name]
        one_each = list({(cell.target.name, cell.build): cell for cell in chosen}.values())
        with ThreadPoolExecutor(2) as pool:  # libraries first: programs share them
            list(pool.map(lambda cell: cell.library(source, directory), one_each))
            done = list(pool.map(lambda cell: cell.test(source, directory), chosen))
    failed = not done
    for cell in done:
        print(f"{cell.name:36} {cell.total} stops, {len(cell.short)} end early, {len(cell.wrong)} wrong")
        few = len(cell.short) <= MOST_SHORT * cell.total
        for text in [cell.error] * bool(cell.error) + cell.wrong + cell.short:
            print("   ", text)
        failed = failed or cell.error or cell.wrong or not few or cell.total < 100
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
