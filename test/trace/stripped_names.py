#!/usr/bin/env python3
"""Functions without symbols have made-up names. Filters select them by these names.

    stripped_names.py SPOOR PROGRAM
"""
import os
import shutil
import subprocess
import sys

from harness import Spoor, check, main


def calls(spoor, *options):
    spoor.record([*options, "--overflow=wait"], [os.path.abspath("stripped")])
    return {row["function"]: row["calls"] for row in spoor.report()}


def test(path, program):
    spoor = Spoor(path)
    shutil.copy(program, "stripped")
    subprocess.run(["strip", "stripped"], check=True)
    everything = calls(spoor)
    names = [name for name in everything if name.startswith("stripped+0x")]
    check(len(names) > 3, f"functions: {everything}")
    name = max(names, key=lambda n: everything[n])
    shown = [f["function"] for f in spoor.json("explain", "--json", "-F", name, "stripped")]
    check(shown == [name], f"explain: {shown}")
    check(calls(spoor, "-F", name) == {name: everything[name]}, f"-F {name}")
    check(calls(spoor, "-F", f"stripped!{name}", "-M", "*") == {name: everything[name]}, "-F with a module")
    check(set(calls(spoor, "-F", "/[+]0x[0-9a-f]+$/")) == set(names), "-F with a regular expression")
    check(set(calls(spoor, "-N", name)) == set(everything) - {name}, f"-N {name}")


if __name__ == "__main__":
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:]]
    main(lambda: test(*arguments))
