#!/usr/bin/env python3
"""matrix.py SOURCE [--some] [--keep DIR] [--only TEXT]: backtraces of programs of each
compiler, instruction set and optimization, with faults in chains of calls of each shape.

Every program is built (chain.c, twice; the library), run in QEMU, and walks from each fault with each
walker alone and with all together. A walk is compared with the chain of functions that was called: it is
complete, or it stops before its end (and says so), or it has a frame that is wrong. Wrong frames fail the
test, as does a chain that all walkers together do not find complete. --some: a part that is quick.
--keep DIR keeps the programs, --only TEXT takes those whose name has it."""
import bisect
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

SKIP = 77
PROGRAMS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "programs")
OPTIMIZATIONS = ["-O0", "-O1", "-O2", "-Os"]
WALKERS = ["table", "return", "prologue", "chain", "all"]

# Chains from the fault outwards. A function that ends in a jump to the next one is left out, if it does.
CHAINS = [
    ["leaf", "s_leaf"],
    ["leaf_with_locals", "s_leaf_with_locals"],
    ["after_call", "s_after_call"],
    ["leaf", "plain_3", "plain_2", "plain_1", "s_plain"],
    ["leaf", "locals_4", "locals_3", "locals_2", "locals_1", "s_locals"],
    ["leaf", "dynamic_2", "dynamic_1", "s_dynamic"],
    ["leaf", "various_2", "various_1", "s_various"],
    ["leaf"] + ["deep"] * 13 + ["s_deep"],
    ["leaf", "tail_3", "tail_2", "tail_1", "s_tail"],
    ["leaf_with_locals", "saved_2", "saved_1", "s_saved"],
    ["leaf", "pointer_2", "pointer_1", "s_pointer"],
    ["leaf", "early", "choose_1", "s_choose"],
    ["leaf", "looping", "s_looping"],
    ["leaf", "many", "s_many"],
    ["leaf", "plain_3", "many", "s_many"],
    ["leaf", "wide_1", "s_wide"],
    ["leaf", "finish", "s_forever"],
]


class Target:
    """One row: how both parts are compiled, and how the program is run."""

    def __init__(self, name, flags, other=None, runs="qemu-arm-static", clang="arm-none-eabi"):
        self.name, self.flags, self.runs, self.clang = name, flags, runs, clang
        self.other = other if other is not None else flags
        self.gcc = "aarch64-linux-gnu-" if clang.startswith("aarch64") else "arm-none-eabi-"
        self.is_a64 = clang.startswith("aarch64")


ARMV7 = ["-march=armv7-a", "-mfloat-abi=soft"]
USER = [
    Target("A64", [], runs="qemu-aarch64-static", clang="aarch64-linux-gnu"),
    Target("A64 with PAC", ["-march=armv8.3-a", "-mbranch-protection=standard"],
           runs="qemu-aarch64-static", clang="aarch64-linux-gnu"),
    Target("A32", ARMV7 + ["-marm"]),
    Target("T32", ARMV7 + ["-mthumb"]),
    Target("A32/T32 interworking", ARMV7 + ["-marm"], ARMV7 + ["-mthumb"]),
    Target("Thumb-1", ["-march=armv5te", "-mfloat-abi=soft", "-mthumb"]),
]
TARGETS = USER
# With and without a frame pointer, with and without tables.
BUILDS = {"fp": ["-fno-omit-frame-pointer", "-funwind-tables"],
          "bare": ["-fomit-frame-pointer", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables"]}


class Broken(Exception):
    """A program could not be built or run."""


def run(command, seconds=60):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=seconds)
    if done.returncode:
        raise Broken(f"{' '.join(command)}: status {done.returncode}\n{done.stdout[-1500:]}")
    return done.stdout


class Cell:
    """One program: compiler, target, optimization, build."""

    def __init__(self, compiler, target, optimization, build):
        self.compiler, self.target, self.build = compiler, target, build
        self.optimization = optimization
        self.name = f"{compiler} {target.name} {optimization} {build}"
        self.found = {}  # walker: complete chains
        self.wrong, self.short, self.error = [], [], None

    def file(self, ending):
        return re.sub(r"[^\w.-]+", "_", self.name) + ending

    def compiler_command(self):
        if self.compiler == "gcc":
            return [self.target.gcc + "gcc"]
        return ["clang", "--target=" + self.target.clang]

    def compile(self, source, directory):
        objects = []
        for part, flags in enumerate([self.target.flags, self.target.other]):
            objects.append(os.path.join(directory, self.file(f".{part}.o")))
            run([*self.compiler_command(), *flags, self.optimization, *BUILDS[self.build],
                 f"-DPART={part}", "-ffreestanding", "-fno-stack-protector", "-fno-pic", "-g0", "-c",
                 os.path.join(PROGRAMS, "chain.c"), "-o", objects[part]])
        return objects

    def library(self, source, directory):
        """The library and the runtime: the same for all programs of an instruction set."""
        base = re.sub(r"\W+", "_", "-".join(self.target.flags) + self.target.gcc)
        objects = []
        for path in self.sources(source):
            objects.append(os.path.join(directory, base + os.path.basename(path) + ".o"))
            if not os.path.exists(objects[-1]):
                run([self.target.gcc + "gcc", *self.target.flags, "-Os", "-std=gnu99", "-Wall",
                     "-Wextra", "-Werror", "-ffreestanding", "-fno-stack-protector", "-fno-pic",
                     "-fno-tree-loop-distribute-patterns", *BUILDS["fp"], "-c", path,
                     "-o", objects[-1] + ".part"])
                os.rename(objects[-1] + ".part", objects[-1])
        return objects

    def chains(self):
        """Which frame pointers lead on: enum spoor_flags."""
        return 0 if self.build != "fp" else 2 if self.compiler == "gcc" else 3

    def sources(self, source):
        return [os.path.join(source, "backtrace", "spoor_backtrace.c"),
                os.path.join(PROGRAMS, "runtime.c"), os.path.join(PROGRAMS, "linux.c")]

    def make(self, source, directory):
        program = os.path.join(directory, self.file(".elf"))
        run([self.target.gcc + "gcc", *self.target.flags, "-nostdlib", "-static",
             f"-Wl,--defsym=chains={self.chains()}",
             "-Wl,--no-warn-rwx-segments", "-Wl,--build-id=none", "-T",
             os.path.join(PROGRAMS, "linux.ld"), *self.compile(source, directory),
             *self.library(source, directory), "-lgcc", "-o", program])
        return program

    def execute(self, program):
        if self.target.is_a64:
            return run([self.target.runs, "-cpu", "max", program])
        return run([self.target.runs, program])

    def test(self, source, directory):
        try:
            program = self.make(source, directory)
            self.judge(Program(program, self.target.gcc), self.execute(program))
        except (Broken, subprocess.TimeoutExpired) as error:
            self.error = str(error)
        return self

    def judge(self, program, output):
        faults = [fault.splitlines() for fault in output.split("fault\n")[1:]]
        if len(faults) != len(CHAINS) or "done" not in faults[-1]:
            raise Broken(f"{len(faults)} of {len(CHAINS)} faults:\n{output[-1500:]}")
        for number, (chain, lines) in enumerate(zip(CHAINS, faults)):
            expected = program.called(chain)
            outer = program.called([chain[-1], "run_scenarios", "start_here", "_start"])[1:]
            for line in lines[:len(WALKERS)]:
                name, *sites, result = line.split()
                self.compare(name, (expected, outer), [program.name(int(site[:-1], 16)) for site in sites],
                             f"{name} in {chain[-1]} {number} ({result}: {' '.join(sites)})")

    def compare(self, walker, chain, names, told):
        """A walk is complete when it comes to the scenario's function; it need not go further."""
        expected, outer = chain
        count = len(expected)
        self.found.setdefault(walker, 0)
        if names[:count] == expected and names[count:] == outer[:len(names) - count]:
            self.found[walker] += 1
        elif names != expected[:len(names)]:
            self.wrong.append(f"{self.name}: {told}: {names}, not {expected}")
        elif walker == "all":
            self.short.append(f"{self.name}: {told}: only {names} of {expected}")


class Program:
    """Names of an ELF file's functions, and which of them jump to others at their end."""

    def __init__(self, path, prefix):
        symbols = {}
        for line in run([prefix + "nm", "-n", path]).splitlines():
            match = re.match(r"([0-9a-f]+) [tT] ([^$]\S*)$", line)
            if match and match[2] not in ("text_start", "text_end", "exidx_start"):
                symbols[int(match[1], 16) & ~1] = match[2]
        self.starts, self.names = sorted(symbols), symbols
        self.code = {}
        name = None
        for line in run([prefix + "objdump", "-d", "--no-show-raw-insn", path]).splitlines():
            match = re.match(r"[0-9a-f]+ <(\S+)>:$", line)
            if match:
                name = match[1]
                self.code[name] = []
            elif name:
                self.code[name].append(line)

    def name(self, site):
        at = bisect.bisect_right(self.starts, site) - 1
        return self.names[self.starts[at]] if at >= 0 else hex(site)

    def calls(self, caller, callee):
        pattern = re.compile(rf"\s(?:bl|blx|blr|bl\S*)\s.*<(?:__)?{callee}(?:_from_\w+|_veneer)?>")
        return any(pattern.search(line) for line in self.code[caller])

    def jumps(self, caller, callee):
        pattern = re.compile(rf"\sb(?:\.[nw])?\s.*<(?:__)?{callee}(?:_from_\w+|_veneer)?>")
        return any(pattern.search(line) for line in self.code[caller])

    def called(self, chain):
        """CHAIN without functions that are left by a jump."""
        kept = chain[:1]
        for callee, caller in zip(chain, chain[1:]):
            if not self.jumps(caller, callee) or self.calls(caller, callee):
                kept.append(caller)
        return kept


def cells(some):
    for target in TARGETS:
        for compiler in ("gcc", "clang"):
            for optimization in OPTIMIZATIONS:
                for build in BUILDS:
                    if not some or (optimization, build) in (("-O0", "fp"), ("-O2", "bare")):
                        yield Cell(compiler, target, optimization, build)


def main(words):
    source, some = words[0], "--some" in words
    keep = words[words.index("--keep") + 1] if "--keep" in words else None
    only = words[words.index("--only") + 1] if "--only" in words else ""
    for tool in ("clang", "arm-none-eabi-gcc", "aarch64-linux-gnu-gcc", "qemu-arm-static"):
        if not shutil.which(tool):
            print(f"{tool} is not installed")
            return SKIP
    directory = keep or tempfile.mkdtemp()
    os.makedirs(directory, exist_ok=True)
    chosen = [cell for cell in cells(some) if only in cell.name]
    for cell in chosen:  # before programs that share it are built at once
        cell.library(source, directory)
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda cell: cell.test(source, directory), chosen))
    if not keep:
        shutil.rmtree(directory)
    failed = False
    for cell in done:
        counts = " ".join(f"{walker} {cell.found.get(walker, 0)}" for walker in WALKERS)
        print(f"{cell.name:44} of {len(CHAINS)}: {counts}")
        for text in [cell.error] * bool(cell.error) + cell.wrong + cell.short:
            print("   ", text)
            failed = True
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
