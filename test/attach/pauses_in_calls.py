#!/usr/bin/env python3
"""The pauses of stopped threads in `replay --json`: those that fall into a blocking system call are marked.

    pauses_in_calls.py SPOOR STANDS     (programs/stands.c)
"""
import collections
import os
import subprocess
import sys

from attach import Spoor, check, main, threads_of
from pauses import WAITING, attach_and_change


def names_of(pid):
    """{tid: name} of the threads of process PID."""
    names = {}
    for tid in threads_of(pid):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as comm:
            names[tid] = comm.read().rstrip("\n")
    return names


def test(spoor, stands):
    with subprocess.Popen([stands, "waits"], stdout=subprocess.PIPE) as program:
        try:
            check(program.stdout.readline() == b"ready\n", "the program is not ready")
            names = names_of(program.pid)
            attach_and_change(spoor, program)
        finally:
            program.kill()
    seen = collections.defaultdict(collections.Counter)
    for item in spoor.all_json_lines("replay", "--json", "attached"):
        if item["kind"] == "pause" and item["cause"] != "ring":
            seen[names[item["tid"]]][item["cause"], item.get("in_call", False)] += 1
    for name in ("computes", *WAITING):
        pauses, in_call = seen[name], name in WAITING
        check(set(pauses) == {("start", in_call), ("filter", in_call)}, f"pauses of {name}: {pauses}")
        check(pauses["start", in_call] >= 1 and pauses["filter", in_call] >= 3, f"pauses of {name}: {pauses}")


if __name__ == "__main__":
    subject, path = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, path))
