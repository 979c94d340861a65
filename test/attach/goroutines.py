#!/usr/bin/env python3
"""spoor attaches to a program with Go stacks. Saved pcs on these stacks point into the middle of windows. spoor does
not patch these windows, so the goroutines go on correctly. It traces all other functions.

    goroutines.py [--headless] [--libraries] SPOOR PROGRAM

--headless: a copy of the program without section headers. --libraries: traces the libraries, since any of the
program's own functions may stay unpatched.
"""
import os
import struct
import sys

from attach import Spoor, attach_for, check, check_left, code_of, main, running

ELFCLASS32 = 1  # at EI_CLASS
DURATIONS = ("700ms", "5s", "30s")  # a busy machine may let a program do nothing for a while


def behead(program):
    """A copy without section headers: it has the dynamic linker's symbols only."""
    with open(program, "rb") as file:
        data = bytearray(file.read())
    if data[4] == ELFCLASS32:
        struct.pack_into("<I", data, 0x20, 0)  # e_shoff
        struct.pack_into("<HH", data, 0x30, 0, 0)  # e_shnum, e_shstrndx
    else:
        struct.pack_into("<Q", data, 0x28, 0)
        struct.pack_into("<HH", data, 0x3c, 0, 0)
    with open("headless", "wb") as file:
        file.write(data)
    os.chmod("headless", 0o755)
    return os.path.realpath("headless")


def visit(spoor, pid, options):
    """Attaches until events are recorded; returns {function: calls}."""
    for duration in DURATIONS:
        info = attach_for(spoor, pid, duration, *options)
        if info["events"]["entry"]:
            break
    check(info["events"]["entry"] > 0, "no event")
    return {row["function"]: row["calls"] for row in spoor.report()}


def test(spoor, program, headless, libraries):
    with running([behead(program) if headless else program]) as process:
        before = code_of(process.pid)
        for _ in range(3):
            calls = visit(spoor, process.pid, ["-M", "*"] if libraries else [])
            check((headless or libraries or calls.get("go_on", 0) > 0) and "same" not in calls, f"calls: {calls}")
            check_left(process.pid, before)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    subject, given = Spoor(words[0]), os.path.realpath(words[1])
    main(lambda: test(subject, given, "--headless" in sys.argv, "--libraries" in sys.argv))
