#!/usr/bin/env python3
"""profiled.py SPOOR PROGRAM...: a program that is built for the profiler (-pg) writes the same profile as untraced, and
all functions that it prints are traced. run.py checks that the profiler's calls are not in the call tree."""
import os
import struct
import sys

from harness import Spoor, check, check_lossless, check_same_outcome, main, run

# gmon_out.h: a header; records of a tag each: samples (with their own header), arcs of the call graph
HEADER, TIMES, ARCS = 20, 0, 1
CLASS_AT, CLASS_32 = 4, 1  # of an ELF file


def word_of(program):
    """The struct format of an address in PROGRAM."""
    with open(program, "rb") as file:
        return "I" if file.read(CLASS_AT + 1)[CLASS_AT] == CLASS_32 else "Q"


def calls_of(path, word):
    """{(caller, callee): calls}, as offsets from the lowest profiled address."""
    times, arc = struct.Struct(f"={word}{word}ii15sc"), struct.Struct(f"={word}{word}i")
    with open(path, "rb") as file:
        data = file.read()
    check(data[:4] == b"gmon", f"{path} is no profile")
    at, calls, low = HEADER, {}, None
    while at < len(data):
        tag = data[at]
        at += 1
        if tag == TIMES:
            low, _, bins = times.unpack_from(data, at)[:3]
            at += times.size + 2 * bins
        else:
            check(tag == ARCS and low is not None, f"{path}: record {tag}")
            caller, callee, count = arc.unpack_from(data, at)
            at += arc.size
            # Callers outside the program (in the C library) have other addresses in each run.
            place = (caller - low if 0 <= caller - low < 1 << 28 else None, callee - low)
            calls[place] = calls.get(place, 0) + count
    return calls


def profile(program, command):
    """Returns the outcome of COMMAND, and the profile that PROGRAM has written."""
    if os.path.exists("gmon.out"):
        os.remove("gmon.out")
    outcome = command()
    return outcome, calls_of("gmon.out", word_of(program))


def test_one(spoor, program):
    alone, wanted = profile(program, lambda: run([program]))
    check(len(wanted) > 5, f"{program}: a profile of {len(wanted)} arcs")
    named = {line.split("> ")[1] for line in alone.stdout.decode().splitlines() if "> " in line}
    functions = {f["function"]: f for f in spoor.json("explain", "--json", program)}
    for name in named:
        check(not functions[name]["refused"] and not functions[name]["exits"]["none"],
              f"{program}: {functions[name]}")
    for options in [], ["-M", "*"]:
        traced, seen = profile(program, lambda: spoor.record(options, [program]))
        check_same_outcome(alone, traced, program)
        check_lossless(spoor.info())
        check(seen == wanted, f"{program} {options}: the profile differs: {sorted(wanted.items(), key=str)} "
              f"{sorted(seen.items(), key=str)}")


def test(path, *programs):
    for program in programs:
        test_one(Spoor(path), program)


if __name__ == "__main__":
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:]]
    main(lambda: test(*arguments))
