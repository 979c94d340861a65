#!/usr/bin/env python3
"""The main thread of a process has ended. spoor still traces the libraries that the process loads, and its new threads.

    ended_main.py SPOOR PROGRAM LIBRARY

PROGRAM is programs/ended_main.c.
"""
import os
import sys

from fault import Spoor, check, check_right, check_runs_right, main

LOADS = 10     # how often the program loads the library
WORKERS = 100  # threads of the program: more than one slab has lanes for


def test(spoor, command):
    check_runs_right(spoor, command)
    check_right(spoor.record(["-M", "*"], command), "recorded")
    info = spoor.info()
    if info["events"]["lost"] and info["may_lose"]:
        return
    calls = {row["function"]: row["calls"] for row in spoor.report()}
    found = calls.get("library_add"), calls.get("work_once"), info["events"]["lost"]
    check(found == (LOADS, WORKERS, 0), f"calls of the library, of threads, lost: {found}")


if __name__ == "__main__":
    subject, program = Spoor(sys.argv[1]), [os.path.realpath(word) for word in sys.argv[2:]]
    main(lambda: test(subject, [*program, str(WORKERS)]))
