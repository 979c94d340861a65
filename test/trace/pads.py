#!/usr/bin/env python3
"""pads.py SPOOR PROGRAM...
   pads.py SPOOR LOADER LIBRARY...

Functions with nops that the compiler left for patching have the tier pad. These patches run: all calls of each
function that the program prints are recorded. LOADER (dlopen.c) loads a library (plugin.c) fifty times and calls each
of its functions."""
import os
import sys

from harness import Spoor, check, check_lossless, check_same_outcome, main, run

LOADS = 50


def test_one(spoor, program):
    alone = run([program])
    named = {line.split("> ")[1] for line in alone.stdout.decode().splitlines() if "> " in line}
    named.discard("main")  # its two nops need a hole, and there may be none near it
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
        check({row["tier"] for row in spoor.report()} == {"pad"}, f"{program}: calls not by pads")
        rows = {row["function"]: row["calls"] for row in spoor.report()}
        marks = alone.stdout.decode().splitlines()
        for name in named:
            calls = sum(mark.endswith(f"> {name}") for mark in marks)
            check(rows.get(name) == calls, f"{program}: {name}: {rows.get(name)} of {calls} calls")


def test_library(spoor, loader, library):
    functions = {f["function"]: f for f in spoor.json("explain", "--json", "-F", "plugin_*", library)}
    check(len(functions) == 4, f"{library}: {list(functions)}")
    for name, function in functions.items():
        check(function["entry"] == "pad", f"{library}: {name}: {function}")
    options = ["-M", os.path.basename(library), "-F", "plugin_*"]
    check_same_outcome(run([loader, library]), spoor.record(options, [loader, library]), library)
    check_lossless(spoor.info())
    if spoor.is_whole():
        rows = {row["function"]: row["calls"] for row in spoor.report()}
        check(rows == dict.fromkeys(functions, LOADS), f"{library}: {rows}")


def test(path, *arguments):
    spoor = Spoor(path)
    libraries = [argument for argument in arguments if argument.endswith(".so")]
    for library in libraries:
        test_library(spoor, arguments[0], library)
    for program in [] if libraries else arguments:
        test_one(spoor, program)


if __name__ == "__main__":
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:]]
    main(lambda: test(*arguments))
