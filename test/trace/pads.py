#!/usr/bin/env python3
"""pads.py SPOOR PROGRAM...: functions with nops that the compiler left for patching are patched there, and
these patches are run: each function that the program names is a pad, and its calls are all seen."""
import os
import sys

from harness import Spoor, check, check_lossless, check_same_outcome, main, run


def test_one(spoor, program):
    alone = run([program])
    named = {line.split("> ")[1] for line in alone.stdout.decode().splitlines() if "> " in line}
    named.discard("main")  # two nops need a hole, and there may be none near it
    check(len(named) > 2, f"{program} names {named}")
    functions = {f["function"]: f for f in spoor.json("explain", "--json", program)}
    for name in named:
        check(functions[name]["entry"] == "pad", f"{program}: {functions[name]}")
    patterns = [word for name in named for word in ("-F", name)]
    check_same_outcome(alone, spoor.record(patterns, [program]), program)
    info = spoor.info()
    check_lossless(info)
    check(info["functions"]["tiers"]["pad"] == len(named), f"{program}: {info['functions']}")
    if spoor.is_whole():
        rows = {row["function"]: row["calls"] for row in spoor.report()}
        marks = alone.stdout.decode().splitlines()
        for name in named:
            calls = sum(mark.endswith(f"> {name}") for mark in marks)
            check(rows.get(name) == calls, f"{program}: {name}: {rows.get(name)} of {calls} calls")


def test(path, *programs):
    for program in programs:
        test_one(Spoor(path), program)


if __name__ == "__main__":
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:]]
    main(lambda: test(*arguments))
