#!/usr/bin/env python3
"""All threads that a program has when spoor comes find room in one piece of memory that both share: each piece takes
time while the program stands.

    shared.py SPOOR MANY
"""
import os
import sys

from attach import Spoor, check, code_of, check_left, main, running
from exact import attached

THREADS = 60


def shared_with(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return [line for line in maps if "memfd:spoor" in line]


def test(spoor, program):
    with running([program, "threads", str(THREADS)], r"(?s:.*)") as process:
        before = code_of(process.pid)
        with attached(spoor, process.pid, "many threads", []):
            pieces = shared_with(process.pid)
        check(len(pieces) == 1, f"pieces of memory: {pieces}")
        info = spoor.json("info", "--json", "trace")
        check(info["threads"] > THREADS, f"threads: {info}")
        check_left(process.pid, before)


if __name__ == "__main__":
    subject = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(*subject))
