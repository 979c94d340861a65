#!/usr/bin/env python3
"""guest.py SPOOR CACHE [--machine=NAME] [--inside=FILE] [--real] [--every-instruction]
             [--values PROGRAM]... [--next PROGRAM OPTION...]...

Runs programs of test/trace in an emulated machine (machine.py). Its processor has all features that QEMU
emulates; its kernel is Debian's. In the guest each PROGRAM runs alone and under spoor. Output and traces
come back. On the host SPOOR reads the traces, and they are compared as run.py does with its OPTIONs.
With SPOOR_TEST_SEED (harness.py) a random sample of the programs runs: the guest is slow, and the same
round runs all of them on the host.

--inside: the spoor in the guest, if it is not SPOOR. If the file does not exist, programs run alone only,
and each must print its calls. --real: also Debian's python3, bash and others (real_programs.py).
--values: also PROGRAM, made from programs/passed.c, with its arguments and results (passed.py).
--every-instruction: signals come between any two instructions (machine.py)."""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "trace"))

import machine  # noqa: E402
import passed  # noqa: E402
import real_programs  # noqa: E402
import run as runner  # noqa: E402
from harness import (SEED, SKIP, Failure, Outcome, Spoor, check, check_balanced,  # noqa: E402
                     check_lossless, check_same_outcome, main, run)

# Features that the guest's processor must have: few machines have them today.
FEATURES = {"amd64": {"la57", "pku"}, "arm64": {"paca", "bti", "sve2", "mte"},
            "arm64-16k": {"paca", "bti", "sve2", "mte"}, "arm64-64k": {"paca", "bti", "sve2", "mte"},
            "armhf": {"neon", "idiva"}, "armhf-on-arm64": {"asimd"}}
UNWINDER_NAME = "libgcc_s.so.1"  # loaded for pthread_cancel()
UNWINDER = "/lib/x86_64-linux-gnu/" + UNWINDER_NAME
LIBRARIES_OF_SPOOR = ["libdw1", "libzydis4.0", "libzstd1", "libbpf1"]
NAMES = ["default", "all"]  # of runner.WAYS
SAMPLE_DIVISOR = 4  # with a seed, one job in so many runs
REAL_SECONDS = 1200  # for a run of one of Debian's programs with all functions traced
FIRST_SHELL_STATUS = 126  # from here on the shell says that a program did not start or was killed


def output_of(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def host_libraries_of(path):
    """The interpreter of an ELF file for the host, and the libraries that the dynamic linker finds for it."""
    interpreter = re.search(r"interpreter: (\S+)\]", output_of("readelf", "-lW", path))
    yield from [interpreter[1]] if interpreter else []
    if not interpreter or "musl" not in interpreter[1]:
        yield from re.findall(r"(/\S+) \(0x", output_of("ldd", path))


def cross_libraries_of(path):
    """The interpreter of an ELF file for another machine, and the libraries beside it that the file may
    load. Empty unless the interpreter is a cross compiler's on the host: the guest does not have that."""
    interpreter = re.search(r"interpreter: (\S+)\]", output_of("readelf", "-lW", path))
    if not interpreter or not os.path.exists(interpreter[1]):
        return set()
    folder = os.path.dirname(interpreter[1])
    found, left = {interpreter[1]}, [path, os.path.join(folder, UNWINDER_NAME)]
    while left:
        path = left.pop()
        found |= {path} if path.startswith(folder) else set()
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW", path))
        left += {os.path.join(folder, name) for name in needed} - found
    return found


class Job:
    """A program that runs alone and under spoor."""

    def __init__(self, name, command, files):
        self.name, self.command, self.files = name, command, files
        self.lossy = {}  # {name of a trace: whether it may lack events}

    def steps(self, spoor):
        """(name, command) of each step. SPOOR is the spoor in the guest, or None."""
        yield "alone", self.command
        for name, options in zip(NAMES, runner.WAYS) if spoor else ():
            record = spoor.command(options, self.command, f"{name}.trace")
            self.lossy[name] = spoor.lossy
            yield name, record

    def check(self, spoor):
        """Compares the results in the current directory. SPOOR reads the traces."""
        alone = outcome("alone")
        check(alone.status != SKIP, "the guest's processor lacks a feature that the program needs")
        self.check_alone(alone)
        for name, options in zip(NAMES, runner.WAYS):
            if name in self.lossy:
                os.replace(f"{name}.trace", "trace")
                spoor.lossy = self.lossy[name]
                self.compare(spoor, alone, outcome(name), options)


class TraceProgram(Job):
    """A program of test/trace. It prints its calls."""

    def __init__(self, arguments):
        files = [arguments.program, *arguments.library, *(arguments.load_by or [])[1:]]
        super().__init__(os.path.basename(arguments.program), runner.command_of(arguments), files)
        self.arguments = arguments

    def check_alone(self, alone):
        runner.Expectation(alone.stdout.decode(), self.name)
        errors = alone.stderr.decode(errors="replace")
        check(alone.status < FIRST_SHELL_STATUS, f"alone: status {alone.status}; stderr:\n{errors}")

    def compare(self, spoor, alone, traced, options):
        runner.compare(self.arguments, spoor, alone, traced, options)


class Values(Job):
    """programs/passed.c, recorded with arguments and results."""

    def __init__(self, program):
        super().__init__(f"values of {os.path.basename(program)}", [program], [program])
        self.traced = False
        # A float is passed in general registers; a result of two doubles is then in memory.
        self.unknown_results = ["passed_pair"] if "armel" in program else []

    def steps(self, spoor):
        self.traced = spoor is not None
        yield "alone", self.command
        if self.traced:
            yield "values", [spoor.path, "record", "-q", *passed.RECORD, "-o", "values.trace", "--", *self.command]

    def check(self, spoor):
        alone = outcome("alone")
        check(alone.status == 0 and alone.stdout, f"alone: {alone}")
        if self.traced:
            check_same_outcome(alone, outcome("values"), "spoor record -a")
            os.replace("values.trace", "trace")
            passed.compare(spoor, alone.stdout.decode(), self.unknown_results)


class RealProgram(Job):
    """A program of Debian's."""

    def __init__(self, name, command, wanted):
        super().__init__(name, command, [])
        self.wanted = wanted

    def check_alone(self, alone):
        check((alone.stdout.decode(), alone.status) == (self.wanted, 0), f"alone: {alone}")

    def compare(self, spoor, alone, traced, options):
        check_same_outcome(alone, traced, f"spoor record {' '.join(options)}")
        check_lossless(spoor.info())
        check(check_balanced(spoor.replay()), "no call was recorded")


class Views(Job):
    """Each view of a trace with callers is the same in the guest and on the host."""

    VIEWS = [[*view, *form] for view in (["info"], ["report"], ["graph"], ["replay"], ["report", "--stack"],
                                         ["replay", "--stack"]) for form in ([], ["--json"])] + [
        ["export", f"--format={form}"] for form in ("chrome", "folded", "csv", "json")]

    def __init__(self, recorded):
        super().__init__(f"views of {recorded.name}", recorded.command, [])
        self.traced = False

    def steps(self, spoor):
        self.traced = spoor is not None
        if self.traced:
            yield "recorded", [spoor.path, "record", "-q", "--stack", "-o", "trace", "--", *self.command]
            for number, view in enumerate(self.VIEWS):
                yield f"view-{number}", [spoor.path, *view, "trace"]

    def check(self, spoor):
        for number, view in enumerate(self.VIEWS if self.traced else []):
            there, here = outcome(f"view-{number}"), run([spoor.path, *view, "trace"])
            check_same_outcome(here, there, f"spoor {' '.join(view)} in the guest, not on the host")
            check(here.status == 0 and here.stdout, f"spoor {' '.join(view)}: {here}")


def outcome(name):
    """The Outcome of the step NAME, from files in the current directory."""
    with open(f"{name}.out", "rb") as out, open(f"{name}.err", "rb") as err, \
            open(f"{name}.status", encoding="utf-8") as status:
        return Outcome(out.read(), err.read(), int(status.read()))


def check_processor(name):
    with open("results/cpuinfo", encoding="utf-8") as info, \
            open("results/kernel", encoding="utf-8") as release:
        found = re.search(r"(?:flags|Features)\s*: (.*)", info.read())
        flags = set(found[1].split()) if found else set()
        print("kernel:", release.read().strip(), "features:", " ".join(sorted(flags)))
    check(flags >= FEATURES[name], f"the processor lacks {FEATURES[name] - flags}")


def prepare(arguments, inside):
    packages = LIBRARIES_OF_SPOOR if inside and arguments.machine != "amd64" else []
    packages = packages + (real_programs.PACKAGES if arguments.real else [])
    seconds = REAL_SECONDS if arguments.real else machine.STEP_SECONDS
    guest = machine.Guest(arguments.machine, arguments.cache, packages, seconds, machine.PROCESSORS)
    if arguments.every_instruction:
        guest.interrupt_at_every_instruction()
    files = {inside.path} if inside else set()
    for number, job in enumerate(arguments.jobs):
        guest.job(f"{number:03}", job.steps(inside))
        files.update(job.files)
    if arguments.machine == "amd64":
        files.update({UNWINDER}, *map(host_libraries_of, files))
    else:
        files.update(*map(cross_libraries_of, files))
    for path in files:
        guest.add(path)
    return guest


def test(arguments, guest):
    wrong = guest.boot()
    check(not wrong, wrong)
    check_processor(arguments.machine)
    spoor = Spoor(arguments.spoor)
    failed = []
    top = os.getcwd()
    for number, job in enumerate(arguments.jobs):
        os.chdir(os.path.join(top, "results", f"{number:03}"))
        try:
            job.check(spoor)
        except (Failure, OSError) as failure:
            failed.append(f"{job.name}: {failure}")
    os.chdir(top)
    print(f"{len(arguments.jobs)} programs, {len(failed)} failed")
    check(not failed, "\n".join(failed))


def parse(words):
    first = words.index("--next") if "--next" in words else len(words)
    parser = argparse.ArgumentParser()
    parser.add_argument("spoor", type=os.path.realpath)
    parser.add_argument("cache", type=os.path.realpath)
    parser.add_argument("--machine", choices=machine.MACHINES, default="amd64")
    parser.add_argument("--inside", type=os.path.realpath)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--every-instruction", action="store_true")
    parser.add_argument("--values", type=os.path.realpath, action="append", default=[])
    arguments = parser.parse_args(words[:first])
    programs = []
    for word in words[first:]:
        if word == "--next":
            programs.append([arguments.spoor])
        else:
            programs[-1].append(word)
    arguments.jobs = [TraceProgram(runner.parse(program)) for program in programs]
    if arguments.inside and arguments.jobs:
        arguments.jobs.append(Views(arguments.jobs[0]))
    arguments.jobs += [Values(program) for program in arguments.values]
    if arguments.real:
        arguments.jobs += [RealProgram(*program) for program in real_programs.PROGRAMS]
    if SEED:
        arguments.jobs = random.Random(SEED).sample(arguments.jobs, -(-len(arguments.jobs) // SAMPLE_DIVISOR))
    return arguments


def main_of(arguments):
    path = arguments.inside or arguments.spoor
    inside = Spoor(path) if os.path.exists(path) else None
    if not inside:
        print(f"{path} is not built: programs run alone, and this counts as skipped")
    try:
        guest = prepare(arguments, inside)
    except machine.Unavailable as why:
        print(why)
        sys.exit(SKIP)
    main(lambda: test(arguments, guest))
    if arguments.inside and not inside:
        print(f"{path} is not built: programs ran alone")
        sys.exit(SKIP)  # no program was traced, so the test has not passed


if __name__ == "__main__":
    sys.setrecursionlimit(20000)
    if not shutil.which("readelf"):
        print("readelf is not installed")
        sys.exit(SKIP)
    main_of(parse(sys.argv[1:]))
