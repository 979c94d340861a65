#!/usr/bin/env python3
"""matrix.py SOURCE [--some] [--keep DIR] [--only TEXT] [--document FILE]

Backtraces of programs for each compiler, instruction set and optimization. The programs fault in chains of calls of
each shape.

Each program is built (chain.c, twice; the library) and runs in QEMU. It walks from each fault with each walker alone
and with all walkers. A walk is compared with the chain of called functions: it is complete, or ends early (and says
so), or has a wrong frame. The test fails on wrong frames, and on chains that all walkers together do not find
complete. --some: a quick part. --keep: keeps the programs in DIR. --only: programs with TEXT in their name.
--document: writes the table to FILE (doc/BACKTRACE.md)."""
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
MARKS = ["<!-- written by test/backtrace/matrix.py -->", "<!-- end -->"]
WALKERS = ["table", "return", "prologue", "chain", "all"]

# Chains from the fault outwards. A function that makes a tail call to the next one is left out of the expected walk.
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
    """A row of the table: flags for both parts of the program, and the emulator."""

    def __init__(self, name, flags, other=None, runs="qemu-arm-static", clang="arm-none-eabi"):
        self.name, self.flags, self.runs, self.clang = name, flags, runs, clang
        self.other = other if other is not None else flags
        self.gcc = "aarch64-linux-gnu-" if clang.startswith("aarch64") else "arm-none-eabi-"
        self.defines = []
        self.is_a64 = clang.startswith("aarch64")


class Board(Target):
    """A Cortex-M board: its programs run on bare metal."""

    def __init__(self, name, flags, machine, on_process_stack=False):
        super().__init__(name, ["-mthumb", *flags], runs="qemu-system-arm")
        self.machine = machine
        self.has_status = "armv7" in name or "main" in name
        self.on_main_stack = not on_process_stack
        self.defines = ["-DPROCESS"] * on_process_stack
        self.rom, self.ram = (0x10000000, 0x38000000) if machine == "mps2-an505" else (0, 0x20000000)


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
HARD = ["-march=armv7e-m", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
BOARDS = [
    Board("armv6-m", ["-march=armv6-m"], "microbit"),
    Board("armv7-m", ["-march=armv7-m"], "mps2-an385", on_process_stack=True),
    Board("armv7e-m with floating point", HARD, "mps2-an386"),
    Board("armv7e-m on M7", ["-march=armv7e-m"], "mps2-an500"),
    Board("armv8-m.base", ["-march=armv8-m.base"], "mps2-an505"),
    Board("armv8-m.main", ["-march=armv8-m.main"], "mps2-an505", on_process_stack=True),
]
TARGETS = USER + BOARDS
# A chain in the boards' runtime; it comes before the last of CHAINS.
BOARD_CHAIN = ["leaf", "serve", "service", "s_service"]
# With and without a frame pointer, with and without tables.
BUILDS = {"fp": ["-fno-omit-frame-pointer", "-funwind-tables"],
          "bare": ["-fomit-frame-pointer", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables"]}


# Chains with functions that never return. If these keep no return address, walks end there, and must be right.
ENDINGS = [["ending", "s_ending"], ["leaf", "ending_leaf", "s_ending_leaf"], ["pointed", "s_pointed"]]
# A chain without information for the walkers: a wrong frame must be marked as unsure.
UNSURE = ["kept", "s_kept"]

# Callers of the scenarios.
OUTER = ["run_scenarios"]
OUTER_OF = {"s_service": ["run_more", "run_scenarios"],
            **{chain[-1]: ["run_endings", "run_scenarios"] for chain in [*ENDINGS, UNSURE]}}
OUTERMOST = [["start_here", "_start"], ["begin", "reset"]]


SOME = [(compiler, optimization, build, target.name)
        for compiler, optimization, build in (("gcc", "-O2", "bare"), ("clang", "-Os", "fp"))
        for target in [*USER, BOARDS[0], BOARDS[2], BOARDS[5]]]
SOME.append(("gcc", "-O0", "bare", "Thumb-1"))  # the code behind its function "kept" leads to a return


class Broken(Exception):
    """A program could not be built or run."""


def run(command, seconds=60):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=seconds)
    if done.returncode:
        raise Broken(f"{' '.join(command)}: status {done.returncode}\n{done.stdout[-1500:]}")
    return done.stdout


class Build:
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

    def compile(self, directory):
        objects = []
        for part, flags in enumerate([self.target.flags, self.target.other]):
            objects.append(os.path.join(directory, self.file(f".{part}.o")))
            run([*self.compiler_command(), *flags, self.optimization, *BUILDS[self.build],
                 f"-DPART={part}", "-ffreestanding", "-fno-stack-protector", "-fno-pic", "-g0", "-c",
                 os.path.join(PROGRAMS, "chain.c"), "-o", objects[part]])
        return objects

    def library(self, source, directory):
        """Builds the library and the runtime, once for all programs of an instruction set. "bare" builds for boards
        get the default library (below 4 KB), others one with all walkers."""
        walkers = ["-DSPOOR_WALKERS=15"] * (self.build == "fp")
        base = re.sub(r"\W+", "_", "-".join(self.target.flags + walkers) + self.target.gcc)
        objects = []
        for path in self.sources(source):
            objects.append(os.path.join(directory, base + os.path.basename(path) + ".o"))
            if not os.path.exists(objects[-1]):
                run([self.target.gcc + "gcc", *self.target.flags, "-Os", "-std=gnu99", "-Wall",
                     "-Wextra", "-Werror", "-ffreestanding", "-fno-stack-protector", "-fno-pic",
                     "-fno-tree-loop-distribute-patterns", *BUILDS["fp"], *walkers, *self.target.defines, "-c", path,
                     "-o", objects[-1] + ".part"])
                os.rename(objects[-1] + ".part", objects[-1])
        return objects

    def chains(self):
        """The kinds of frame pointers that a walk may follow: enum spoor_flags."""
        return 0 if self.build != "fp" else 2 if self.compiler == "gcc" else 3

    def is_board(self):
        return isinstance(self.target, Board)

    def sources(self, source):
        library = os.path.join(source, "backtrace")
        yield os.path.join(library, "spoor_backtrace.c")
        if self.is_board():
            yield os.path.join(library, "spoor_fault.c")
        yield os.path.join(PROGRAMS, "runtime.c")
        yield os.path.join(PROGRAMS, "board.c" if self.is_board() else "linux.c")

    def make(self, source, directory):
        program = os.path.join(directory, self.file(".elf"))
        script = ["-T", os.path.join(PROGRAMS, "linux.ld")]
        if self.is_board():
            script = ["-T", os.path.join(PROGRAMS, "board.ld"), f"-Wl,--defsym=rom={self.target.rom}",
                      f"-Wl,--defsym=ram={self.target.ram}"]
        run([self.target.gcc + "gcc", *self.target.flags, "-nostdlib", "-static",
             f"-Wl,--defsym=chains={self.chains()}", "-Wl,--no-warn-rwx-segments",
             "-Wl,--build-id=none", *script, *self.compile(directory),
             *self.library(source, directory), "-lgcc", "-o", program])
        return program

    def execute(self, program):
        if self.target.is_a64:
            return run([self.target.runs, "-cpu", "max,pauth-impdef=on", program])  # quick, not secret
        if self.is_board():
            return run([self.target.runs, "-M", self.target.machine, "-nographic", "-monitor", "none",
                        "-serial", "null", "-semihosting-config", "enable=on,target=native",
                        "-kernel", program])
        return run([self.target.runs, program])

    def chains_called(self):
        """Chains that can be found complete."""
        return CHAINS[:-1] + [BOARD_CHAIN] * self.is_board() + CHAINS[-1:]

    def chains_run(self):
        return self.chains_called()[:-1] + [*ENDINGS, UNSURE] + CHAINS[-1:]

    def test(self, source, directory):
        try:
            program = self.make(source, directory)
            self.judge(Program(program, self.target.gcc), self.execute(program))
        except (Broken, subprocess.TimeoutExpired) as error:
            self.error = str(error)
        return self

    def judge(self, program, output):
        faults = [fault.splitlines() for fault in output.split("fault\n")[1:]]
        chains = self.chains_run()
        if len(faults) != len(chains) or "done" not in faults[-1]:
            raise Broken(f"{len(faults)} of {len(chains)} faults:\n{output[-1500:]}")
        if self.is_board():
            self.judge_printed(program, output)
        for number, (chain, lines) in enumerate(zip(chains, faults)):
            expected = program.called(chain)
            outer = program.called([chain[-1], *OUTER_OF.get(chain[-1], OUTER), *OUTERMOST[self.is_board()]])[1:]
            for line in lines[:len(WALKERS)]:
                name, *sites, result = line.split()
                names = [program.name(int(site[:-1], 16)) for site in sites]
                description = f"{name} in {chain[-1]} {number} ({result}: {' '.join(sites)})"
                right = len(os.path.commonprefix([names, expected + outer]))
                if chain not in [*ENDINGS, UNSURE]:
                    self.compare(name, (expected, outer), names, description)
                elif right < len(names) and (chain in ENDINGS or sites[right][-1] != "?"):
                    self.wrong.append(f"{self.name}: {description}: {names}, not {expected}")

    def judge_printed(self, program, output):
        """Checks the output of the library's fault handler."""
        printed = output.split("spoor: ")[-1].split("\nfault")[0]
        expected = ["leaf_with_locals", "s_printed", "run_more", "run_scenarios", "begin", "reset"]
        names = [program.name(int(site, 16)) for site in re.findall(r"(?m)^#\d+ 0x([0-9a-f]{8})(?: \?)?$", printed)]
        pc = re.search(r"  pc ([0-9a-f]{8})$", printed, re.M)
        status = " FORCED UNDEFINSTR" * self.target.has_status
        if not printed.startswith(f"HardFault:{status}\nr0 ") or names[:3] != expected[:3] or \
                names != expected[:len(names)] or program.name(int(pc[1], 16)) != names[0]:
            raise Broken(f"printed for {expected}:\n{printed}")
        here = [program.name(int(site, 16)) for site in re.search(r"here(.*)", output)[1].split()]
        if here[:2] != ["s_here", "run_more"] and self.target.on_main_stack:
            raise Broken(f"spoor_backtrace() found {here}")

    def compare(self, walker, chain, names, description):
        """A walk is complete if it reaches the scenario's function; it need not go further."""
        expected, outer = chain
        count = len(expected)
        self.found.setdefault(walker, 0)
        if names[:count] == expected and names[count:] == outer[:len(names) - count]:
            self.found[walker] += 1
        elif names != expected[:len(names)]:
            self.wrong.append(f"{self.name}: {description}: {names}, not {expected}")
        elif walker == "all":
            self.short.append(f"{self.name}: {description}: only {names} of {expected}")


class Program:
    """The names of an ELF file's functions, and their calls and tail calls."""

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
        """CHAIN without functions that end by a tail call to the next."""
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
                    if not some or (compiler, optimization, build, target.name) in SOME:
                        yield Build(compiler, target, optimization, build)


def rows(done):
    """Lines of the table in doc/BACKTRACE.md: complete chains, for all optimizations together."""
    yield "| instruction set | compiler | build | " + " | ".join(WALKERS) + " |"
    yield "|---|---|---|" + "---|" * len(WALKERS)
    groups = {}
    for cell in done:
        groups.setdefault((cell.target.name, cell.compiler, cell.build), []).append(cell)
    for (target, compiler, build), group in groups.items():
        total = sum(len(cell.chains_called()) for cell in group)
        counts = [sum(cell.found.get(walker, 0) for cell in group) for walker in WALKERS]
        shown = ["yes" if count == total else f"{count} of {total}" for count in counts]
        yield f"| {target} | {compiler} | {build} | " + " | ".join(shown) + " |"


def write_document(path, done):
    """Writes the table between the marks of the document."""
    with open(path, encoding="utf-8") as document:
        head, _, after_table = document.read().partition(MARKS[0])
    tail = after_table.partition(MARKS[1])[2]
    with open(path, "w", encoding="utf-8") as document:
        document.write(head + MARKS[0] + "\n" + "\n".join(rows(done)) + "\n" + MARKS[1] + tail)


def main(words):
    source, some = words[0], "--some" in words
    keep = words[words.index("--keep") + 1] if "--keep" in words else None
    only = words[words.index("--only") + 1] if "--only" in words else ""
    for tool in ("clang", "arm-none-eabi-gcc", "aarch64-linux-gnu-gcc", "qemu-arm-static",
                 "qemu-system-arm"):
        if not shutil.which(tool):
            print(f"{tool} is not installed")
            return SKIP
    directory = keep or tempfile.mkdtemp()
    os.makedirs(directory, exist_ok=True)
    chosen = [cell for cell in cells(some) if only in cell.name]
    one_each = list({(cell.target.name, cell.build): cell for cell in chosen}.values())
    with ThreadPoolExecutor(2) as pool:  # libraries first: programs share them
        list(pool.map(lambda cell: cell.library(source, directory), one_each))
        done = list(pool.map(lambda cell: cell.test(source, directory), chosen))
    if not keep:
        shutil.rmtree(directory)
    failed = False
    for cell in done:
        counts = " ".join(f"{walker} {cell.found.get(walker, 0)}" for walker in WALKERS)
        print(f"{cell.name:44} of {len(cell.chains_called())}: {counts}")
        for text in [cell.error] * bool(cell.error) + cell.wrong + cell.short:
            print("   ", text)
            failed = True
    if "--document" in words and not failed:
        write_document(words[words.index("--document") + 1], done)
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
