#!/usr/bin/env python3
"""textrel.py SPOOR PROGRAM LOADER LIBRARY: spoor does not trace modules with text relocations, and says so: PROGRAM,
and LIBRARY, which LOADER loads fifty times."""
import os
import sys

from harness import Spoor, check, check_same, lines_of, main, run

WHY = ("its code is changed while it is loaded (DT_TEXTREL): left untraced: link it without text "
       "relocations to trace it")


def check_left(spoor, options, command, path):
    """COMMAND has the same outcome as untraced. spoor says once that it does not trace PATH."""
    alone = run(command)
    traced = run([spoor.path, "record", "-o", "trace", *options, "--", *command])
    messages = [line for line in lines_of(traced.stderr) if not line.startswith("spoor: trace: ")]
    check_same("standard output", lines_of(alone.stdout), lines_of(traced.stdout))
    check_same("standard error", lines_of(alone.stderr) + [f"spoor: {path}: {WHY}"], messages)
    check(alone.status == traced.status == 0, f"status {traced.status} instead of {alone.status}")
    calls = [row["function"] for row in spoor.report() if row["module"] == os.path.basename(path)]
    check(not calls, f"functions are traced: {calls}")
    refused = {f["refused"] for f in spoor.json("explain", "--json", path)}
    check("text-relocations" in refused and None not in refused, f"explain says {refused}")


def test(path, program, loader, library):
    spoor = Spoor(path)
    check_left(spoor, [], [program], program)
    check_left(spoor, ["-M", "*"], [loader, library], library)


if __name__ == "__main__":
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:]]
    main(lambda: test(*arguments))
