#!/usr/bin/env python3
"""A process has a kernel thread of io_uring among its threads. spoor does not seize such threads: their waits would
fail, and they cannot make remote calls.

    io_uring_worker.py SPOOR PROGRAM

PROGRAM is programs/io_worker.c.
"""
import os
import sys

from attach import SKIP, Spoor, attach_until_seen, check, check_left, code_of, main, run, running, threads_of

WAYS = ([], ["-M", "*"], ["-M", "*", "--overflow=wait"])


def test(spoor, program):
    with running([program]) as process:
        before = code_of(process.pid)
        for way in WAYS:
            info = attach_until_seen(spoor, process.pid, *way)
            check(info["events"]["entry"] > 0, f"{way}: no event")
            check(info["threads"] == 1, f"{way}: {info['threads']} threads")
            check_left(process.pid, before)
        check(len(threads_of(process.pid)) == 2, f"threads: {threads_of(process.pid)}")


if __name__ == "__main__":
    subject, given = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    if run([given]).status == SKIP:
        print("io_uring cannot be used here")
        sys.exit(SKIP)
    main(lambda: test(subject, given))
