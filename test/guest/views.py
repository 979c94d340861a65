#!/usr/bin/env python3
"""views.py SPOOR INSIDE SYSROOT PROGRAM PROGRAM

INSIDE, a spoor for another processor, runs in QEMU's user-mode emulator. It shows traces that SPOOR has
recorded here as SPOOR does: each view prints the same bytes. (The other way, recorded in the guest and
shown here: Views in guest.py.) The first PROGRAM's trace has all events and callers. The second loses events."""
import os
import shutil
import sys

from emulated import command_of
from guest import Views
from harness import Spoor, check, check_same_outcome, main, run

WAYS = ["-M", "*", "--stack"], ["-M", "*", "--stack=2", "--overflow=drop", "--buffer=4K"]
VIEWS = [*Views.VIEWS, ["report", "--by-thread", "--sort=self", "-t", "2us"], ["replay", "--time", "-D", "3"]]


def record(here, program, options):
    """Records a copy of PROGRAM and removes it, so names are in the trace only. Returns the trace's path."""
    shutil.copy(program, "program")
    done = run([here, "record", "-q", "-o", "spoor.trace", *options, "--", "./program"])
    check(done.status == 0, f"record {' '.join(options)} {program}: {done}")
    os.remove("program")
    os.rename("spoor.trace", "copied")
    return "copied"


def test(here, there, programs):
    for program, options in zip(programs, WAYS):
        trace = record(here, program, options)
        functions = {row["function"] for row in Spoor(here).report(trace)}
        events = Spoor(here).json("info", "--json", trace)["events"]
        print(f"{os.path.basename(program)}: {len(functions)} functions, {events}")
        check("main" in functions or events["lost"], "names are missing")
        for view in VIEWS:
            shown, expected = (run([*spoor, *view, trace]) for spoor in (there, [here]))
            check(expected.status == 0 and expected.stdout, f"spoor {' '.join(view)}: {expected}")
            check_same_outcome(expected, shown, f"spoor {' '.join(view)}")


def main_of(here, inside, sysroot, *programs):
    there = command_of(inside, sysroot)
    main(lambda: test(here, there, programs))


if __name__ == "__main__":
    main_of(*map(os.path.realpath, sys.argv[1:]))
