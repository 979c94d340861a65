#!/usr/bin/env python3
"""A process that has as many mappings as the system allows (vm.max_map_count): spoor says so, does not blame room for
trampolines, and counts no function from which no event can come.

    full_maps.py SPOOR PROGRAM

PROGRAM is programs/full_maps.c.
"""
import os
import subprocess
import sys

from fault import SKIP, Spoor, check, main, run, stderr_of

STATUS = 7


def attach(spoor, program, left):
    """Attaches to PROGRAM, which has LEFT mappings left. Returns the outcome."""
    with subprocess.Popen([program, str(left)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if not process.stdout.readline():
            sys.exit(process.wait())
        done = run([spoor.path, "attach", "--events=20", "--duration=2s", "-o", "trace", str(process.pid)])
        process.stdin.close()
        check(process.wait() == STATUS, f"{left} left: the program has ended with {process.returncode}")
    return done


def check_full(spoor, program, left):
    """LEFT is small: some of what spoor maps has no place. Returns whether PROGRAM is untraced for that."""
    done = attach(spoor, program, left)
    text = stderr_of(done)
    check("room" not in text and "ulimit" not in text, f"{left} left: {text}")
    if done.status == 1:
        check(text.count("\n") == 1 and "vm.max_map_count" in text, f"{left} left: {text}")
        return False
    info = spoor.info()
    untraced = f"{program}: left untraced: " in text
    check(untraced == (info["functions"]["instrumented"] == 0), f"{left} left: {info['functions']} and {text}")
    check(untraced == (info["events"]["entry"] == 0), f"{left} left: {info['events']} and {text}")
    check(not untraced or "vm.max_map_count" in text and "trace: 0 of" in text, f"{left} left: {text}")
    return untraced


def test(spoor, program):
    untraced = [check_full(spoor, program, left) for left in range(-2, 5)]
    check(any(untraced), "the program was traced, or not attached to, in all cases")
    check(not attach(spoor, program, 40).status and spoor.info()["events"]["entry"] > 0, "40 left: no event")


if __name__ == "__main__":
    if not os.path.exists("/proc/sys/vm/max_map_count"):
        print("the kernel does not tell its limit")
        sys.exit(SKIP)
    tracer_under_test, path = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer_under_test, path))
