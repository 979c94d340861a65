#!/usr/bin/env python3
"""xray_at_start.py SPOOR PROGRAM: XRay patches the program's sleds before main(). Under spoor it logs the same calls as
untraced, and spoor records them, too."""
import collections
import glob
import os
import re
import struct
import sys

from harness import Spoor, check, check_lossless, check_same, main, run

# The log of compiler-rt's xray-basic: a header, then records of one size.
HEADER, RECORD = 32, struct.Struct("<HBBiQII8x")
OPTIONS = {"XRAY_OPTIONS": "patch_premain=true xray_mode=xray-basic xray_logfile_base=log.",
           "XRAY_BASIC_OPTIONS": "func_duration_threshold_us=0"}


def logged():
    """{(function, kind of event): count} in the log. Removes the log."""
    path, = glob.glob("log.*")
    with open(path, "rb") as file:
        data = file.read()[HEADER:]
    os.remove(path)
    records = (RECORD.unpack_from(data, at) for at in range(0, len(data), RECORD.size))
    return collections.Counter((function, kind) for _, _, kind, function, *_ in records)


def stderr(outcome):
    """The runtime's messages, without process IDs and file names."""
    return re.sub(r"==\d+==|'log\..*'|TID: \d+", "", outcome.stderr.decode()).splitlines()


def test(path, program):
    spoor = Spoor(path)
    environment = {**os.environ, **OPTIONS}
    alone = run([program], env=environment)
    wanted = logged()
    check(sum(wanted.values()) > 50, f"the log has {sum(wanted.values())} records")
    functions = {f["function"]: f for f in spoor.json("explain", "--json", program)}
    # Functions without room beside their sled lose their patch when XRay patches the sled.
    beside = {name for name, f in functions.items() if f["entry"] == "jump"}
    marks = [line for line in alone.stdout.decode().splitlines() if "> " in line]
    for options in [], ["-M", "*"]:
        traced = spoor.record(options, [program], env=environment)
        check_same("output", alone.stdout.decode().splitlines(), traced.stdout.decode().splitlines())
        check_same("messages", stderr(alone), stderr(traced))
        check(alone.status == traced.status == 0, f"status {traced.status}")
        check(logged() == wanted, "the log differs")
        check_lossless(spoor.info())
        rows = {row["function"]: row for row in spoor.report()}
        named = beside & {mark.split("> ")[1] for mark in marks}
        check(len(named) > 4, f"functions with patches beside their sleds: {named}")
        for name in named if spoor.is_whole() else ():
            calls = sum(mark.endswith(f"> {name}") for mark in marks)
            check(rows[name]["calls"] == calls, f"{name}: {rows[name]['calls']} of {calls} calls")


if __name__ == "__main__":
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:]]
    main(lambda: test(*arguments))
