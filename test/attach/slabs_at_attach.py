#!/usr/bin/env python3
"""The lanes of all threads that a program has at attach fit into one slab, or into few slabs with 32-bit
addresses. Each slab takes time while the program is stopped.

    slabs_at_attach.py SPOOR MANY
"""
import os
import sys

from attach import Spoor, check, code_of, check_left, main, run, running
from code_after_detach import attached

THREADS = 60
PIECES = 1 if sys.maxsize >> 32 else 2  # of 16 MB each where addresses have 32 bits


def shared_with(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return [line for line in maps if "memfd:spoor" in line]


def test(spoor, program):
    with running([program, "threads", str(THREADS)], r"(?s:.*)") as process:
        before = code_of(process.pid)
        with attached(spoor, process.pid, "many threads", []):
            pieces = shared_with(process.pid)
        check(len(pieces) == PIECES, f"slabs: {pieces}")
        info = spoor.json("info", "--json", "trace")
        check(info["threads"] > THREADS, f"threads: {info}")
        check_left(process.pid, before)


def test_without_room(spoor, program):
    """spoor has no memory for slabs: then it leaves nothing in the program."""
    for kilobytes in (130000, 160000, 190000, 220000):
        with running([program, "threads", str(THREADS)], r"(?s:.*)") as process:
            before = code_of(process.pid)
            done = run(["prlimit", f"--as={kilobytes << 10}", spoor.path, "attach", "-o", "trace", "--duration=20ms",
                        str(process.pid)])
            if b"out of memory" in done.stderr:  # spoor itself got no memory
                done = run([spoor.path, "detach", str(process.pid)])
            check(done.status in (0, 1), f"{kilobytes} KB: {done}")
            check_left(process.pid, before)


if __name__ == "__main__":
    subject = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: (test(*subject), test_without_room(*subject)))
