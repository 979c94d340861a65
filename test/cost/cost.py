#!/usr/bin/env python3
"""cost.py stub STUB | stub-arm | drain DRAIN | report DRAIN SPOOR

Counts the instructions that a traced call, an event on its way into the trace, and an event of a report take. Fails if
a count differs from that of limits.txt by more than 2 %. A count is of spoor's own code: what it calls in libraries
depends on the processor, and is only printed. UPDATE=1 writes the measured counts into limits.txt instead.

STUB (stub.c) steps a process through calls. Stubs for Arm run in QEMU's processor emulator (bench/slices.py). DRAIN
(drain.c) drains a ring, and SPOOR reports its trace, in valgrind. What both do once is not counted: it is the same for
two numbers of events.
"""
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path += [os.path.join(HERE, "..", "..", "bench")]
import callgrind  # noqa: E402
import slices  # noqa: E402

LIMITS = os.path.join(HERE, "limits.txt")
TOLERANCE = 0.02
SKIP = 77
SHAPES = "fib", "tree"
WITH_VALUES = "fib-values"  # of slots
FEW, MANY = 1 << 15, 1 << 18
TOOLS = {"stub": [], "stub-arm": [tool for how, _ in slices.STATES.values() for tool in (how.COMPILER, how.EMULATOR)],
         "drain": ["valgrind", "readelf"], "report": ["valgrind", "readelf"]}


def compiler_of(program):
    """The compilers that PROGRAM's .comment section names."""
    text = subprocess.run(["readelf", "-p", ".comment", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return "; ".join(sorted(re.findall(r"\]\s+(.*\S)", text)))


def measure_stub(program):
    lines = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return {name: (float(count), 0) for name, count in map(str.split, lines)}


def measure_arm():
    counts = {}
    for name, (how, state) in slices.STATES.items():
        with tempfile.TemporaryDirectory() as folder:
            counts[f"stub-arm.{name}"] = (float(slices.Counter(how, state, folder).count_event()), 0)
    return counts


def for_each_event(count):
    """COUNT: (own instructions, those of libraries) for a number of events. Returns both for one event."""
    return [(many - few) / (MANY - FEW) for few, many in zip(count(FEW), count(MANY))]


def measure_drain(program):
    return {f"drain.{shape}": for_each_event(lambda events, shape=shape:
                                             callgrind.run([program, shape, str(events), "trace"]))
            for shape in (*SHAPES, WITH_VALUES)}


def measure_report(program, spoor):
    def count(shape, events):
        subprocess.run([program, shape, str(events), "trace"], stdout=subprocess.DEVNULL, check=True)
        return callgrind.run([spoor, "report", "trace"])
    return {f"report.{shape}": for_each_event(lambda events, shape=shape: count(shape, events)) for shape in SHAPES}


MEASURES = {"stub": measure_stub, "stub-arm": measure_arm, "drain": measure_drain, "report": measure_report}


def read_limits():
    """The lines of limits.txt: [(name, value)]; name "" for comments."""
    with open(LIMITS, encoding="utf-8") as lines:
        return [("", line.rstrip()) if line.startswith("#") or not line.strip() else tuple(line.strip().split(" ", 1))
                for line in lines]


def update(measured):
    """Replaces lines of limits.txt; new names come last. Other tests may do the same at the same time."""
    with open(LIMITS, "r+", encoding="utf-8") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        lines = [(name, measured.pop(name, value)) for name, value in read_limits()]
        out.writelines(f"{name} {value}".strip() + "\n" for name, value in [*lines, *measured.items()])
        out.truncate()


def judge(name, value, limits):
    """A sentence, if VALUE is not what limits.txt says; else ""."""
    if name not in limits:
        return f"{name} has no limit"
    limit = float(limits[name])
    if value > limit * (1 + TOLERANCE):
        return f"{name} takes {value:.2f} instructions, more than {limit:.2f}"
    if value < limit * (1 - TOLERANCE):
        return f"{name} takes {value:.2f} instructions, less than {limit:.2f}: lower the limit"
    return ""


def main():
    what, programs = sys.argv[1], [os.path.abspath(path) for path in sys.argv[2:]]
    missing = [tool for tool in TOOLS[what] if not shutil.which(tool)]
    if missing:
        print(f"{missing[0]} is not installed")
        return SKIP
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        counts = MEASURES[what](*programs)
        compiler = compiler_of(programs[-1]) if "readelf" in TOOLS[what] else ""
        os.chdir("/")
    for name, (own, others) in counts.items():
        print(f"{name}: {own:.2f} instructions" + (f", and {others:.2f} in libraries" if others else ""))
    if os.environ.get("UPDATE") == "1":
        update({name: f"{own:.2f}" for name, (own, _) in counts.items()} |
               ({f"{what}.compiler": compiler} if compiler else {}))
        return 0
    limits = {name: value for name, value in read_limits() if name}
    wrong = list(filter(None, (judge(name, own, limits) for name, (own, _) in counts.items())))
    wrong += [f"{name} was not measured" for name in limits
              if name.startswith(what + ".") and name not in counts and not name.endswith(".compiler")]
    if wrong:
        print("\n".join(wrong))
        print(f"If that is intended: 'make cost UPDATE=1' writes the counts into test/cost/limits.txt")
        if compiler and compiler != limits.get(f"{what}.compiler"):
            print(f"But the limits are for another compiler: {limits.get(f'{what}.compiler')}; this is {compiler}.")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
