#!/usr/bin/env python3
"""plans.py SPOOR INSIDE SYSROOT FILE...

INSIDE, a spoor for another processor, plans the FILEs, of all machines, as SPOOR does here, to the last byte: in QEMU's
emulator of processors. FILEs that are not here are left out."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "trace"))

from harness import SKIP, check, check_same, lines_of, main, run  # noqa: E402

EMULATORS = {"AArch64": "qemu-aarch64-static", "ARM": "qemu-arm-static"}
WAYS = ["--json"], ["-v"]


def machine_of(path):
    head = subprocess.run(["readelf", "-h", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return next(line.split()[-1] for line in head.splitlines() if "Machine:" in line)


def test(here, there, files):
    for file in files:
        for way in WAYS:
            plans = [run([*spoor, "explain", *way, file]) for spoor in ([here], there)]
            check(all(plan.status == 0 and plan.stdout for plan in plans), f"explain {way[0]} {file}: {plans[1].stderr}")
            check_same(f"explain {way[0]} {file}", *(lines_of(plan.stdout) for plan in plans))


def main_of(here, inside, sysroot, *files):
    if not os.path.exists(inside) or not shutil.which("readelf"):
        print(f"{inside} is not built (make ARCH=), or readelf is not installed")
        sys.exit(SKIP)
    emulator = EMULATORS[machine_of(inside)]
    if not shutil.which(emulator):
        print(f"{emulator} is not installed")
        sys.exit(SKIP)
    files = list(filter(os.path.exists, files))
    machines = {machine_of(file) for file in files}
    print(f"{len(files)} files of {', '.join(sorted(machines))}")
    main(lambda: test(here, [emulator, "-L", sysroot, inside], files))


if __name__ == "__main__":
    main_of(*map(os.path.realpath, sys.argv[1:]))
