#!/usr/bin/env python3
"""In a sandbox (seccomp) spoor makes the remote calls that the filters allow, and does without the others.

    sandboxes.py SPOOR PROGRAM LIBRARY

PROGRAM is programs/sandboxes.c. Only root outside of all sandboxes can read the filters of other processes.
"""
import os
import sys

from fault import WAYS, Spoor, check, check_right, main, run, stderr_of

THREADS, LOADED = 100, 7


def sees_filters():
    with open("/proc/self/status", encoding="ascii") as status:
        return os.getuid() == 0 and "\nSeccomp:\t0\n" in status.read()


def calls(spoor):
    own_functions = "library_add", "thread_work", "inner_work"
    return {row["function"]: row["calls"] for row in spoor.report() if row["function"] in own_functions}


def try_kind(spoor, words, message=""):
    """Returns {function: recorded calls}."""
    check_right(run(words), f"{words[1]}: alone")
    for way in WAYS:
        check_right(spoor.record(way, words), f"{words[1]}: record {' '.join(way)}")
    done = run([spoor.path, "record", "-o", "trace", "-M", "*", "--", *words])
    check_right(done, f"{words[1]}: record")
    check(message in stderr_of(done) if message else len(stderr_of(done).splitlines()) == 1,
          f"{words[1]}: no message '{message}': {stderr_of(done)}")
    return calls(spoor)


def test(spoor, program, library):
    def kind(name, message=""):
        message = message if sees_filters() or not message else "seccomp sandbox"
        if not sees_filters() and not message:
            check_right(spoor.record(["-M", "*"], [program, name, library]), name)
            return None
        return try_kind(spoor, [program, name, library], message)

    for name in "spares", "guards":
        seen = kind(name)
        if seen:
            expect = {"library_add": LOADED, "thread_work": THREADS, "inner_work": 1}
            check(expect.items() <= seen.items(), f"{name}: {seen}")
    seen = kind("fails", "sandbox forbids memfd_create, which tracing needs: it is left untraced")
    if sees_filters():
        check(seen["library_add"] == LOADED and seen["thread_work"] < THREADS and
              "inner_work" not in seen, f"fails: {seen}")
    seen = kind("kills", "sandbox forbids mmap, which tracing needs: what it loads from now on")
    if sees_filters():
        check("library_add" not in seen and seen["thread_work"] == THREADS and
              "inner_work" not in seen, f"kills: {seen}")
    seen = kind("thread")
    if seen:
        check(seen["library_add"] == LOADED, f"thread: {seen}")


if __name__ == "__main__":
    tracer, given = Spoor(sys.argv[1]), [os.path.realpath(word) for word in sys.argv[2:4]]
    main(lambda: test(tracer, *given))
