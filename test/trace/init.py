#!/usr/bin/env python3
"""init.py SPOOR PROGRAM: the first process of a pid namespace dies by its own faults under spoor, too. The kernel
ignores these signals for a traced init, so spoor detaches from it. PROGRAM is programs/crashes.cc."""
import os
import subprocess
import sys

from harness import Spoor, check, check_same_outcome, main, run

UNSHARE = ["unshare", "--pid", "--fork"]
SKIPPED = 77


def test(path, program):
    spoor = Spoor(path)
    for how in "af":
        command = [*UNSHARE, program, how]
        alone = run(command)
        check(alone.status > 128, f"{command}: {alone}")
        check_same_outcome(alone, spoor.record(["-M", "*"], command), f"spoor record {command}")
        check(any(row["calls"] for row in spoor.report()), "no call was recorded")


if __name__ == "__main__":
    if subprocess.run([*UNSHARE, "true"], stderr=subprocess.DEVNULL).returncode:
        print("namespaces cannot be made here")
        sys.exit(SKIPPED)
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:]]
    main(lambda: test(*arguments))
