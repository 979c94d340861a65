#!/usr/bin/env python3
"""plans.py SPOOR INSIDE SYSROOT FILE...

INSIDE, a spoor for another processor, runs in QEMU's user-mode emulator. It makes the same plans as SPOOR
for the FILEs, which are for any processor: `explain` prints the same bytes. Missing FILEs are left out."""
import os
import sys

from emulated import command_of, machine_of
from harness import check, check_same, lines_of, main, run

WAYS = ["--json"], ["-v"]


def test(here, there, files):
    for file in files:
        for way in WAYS:
            plans = [run([*spoor, "explain", *way, file]) for spoor in ([here], there)]
            check(all(plan.status == 0 and plan.stdout for plan in plans), f"explain {way[0]} {file}: {plans[1].stderr}")
            check_same(f"explain {way[0]} {file}", *(lines_of(plan.stdout) for plan in plans))


def main_of(here, inside, sysroot, *files):
    there = command_of(inside, sysroot)
    files = list(filter(os.path.exists, files))
    machines = {machine_of(file) for file in files}
    print(f"{len(files)} files of {', '.join(sorted(machines))}")
    main(lambda: test(here, there, files))


if __name__ == "__main__":
    main_of(*map(os.path.realpath, sys.argv[1:]))
