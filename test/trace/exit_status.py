#!/usr/bin/env python3
"""spoor exits in the same way as the program (status or signal), and the trace is complete.

    exit_status.py SPOOR PROGRAM
"""
import os
import resource
import signal
import sys

from harness import Spoor, check, check_balanced, check_lossless, check_same_outcome, main, run

# Arguments of programs/ends.c, and the status or signal of each end.
WAYS = (["r0", "r1", "r255", "e3", "e255", "_7", "a", "f0", "t"]
        + [f"s{number}" for number in (1, 2, 3, 5, 9, 11, 13, 14, 15, 10, 31, 34, 64)]
        + ["b0", "b1", "b2", "Tb1", "Te3", "T_7", "Ta", "Tf0", f"Ts{int(signal.SIGKILL)}", "pe3", "p_7", "ps15", "px"])
# Signals that are tried without calls of libraries: others show these.
WITHOUT_LIBRARIES = {f"s{number}" for number in (1, 2, 3, 5, 13, 14, 15, 10, 31, 64)}


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def test(spoor, program):
    for way in WAYS:
        alone = run([program, way], preexec_fn=no_core)
        for options in ([],) if way in WITHOUT_LIBRARIES else ([], ["-M", "*"]):
            what = f"spoor record {' '.join(options)} -- ends {way}"
            traced = spoor.record(options, [program, way], preexec_fn=no_core)
            check_same_outcome(alone, traced, what)
            info = spoor.info()
            check_lossless(info)
            check(info["status"] == alone.status, f"{what}: info says status {info['status']}")
            check_balanced(spoor.replay())
            check(not os.path.exists("trace.part"), f"{what}: trace.part is left")
    for command, status in ([["./nothing-here"], 127], [["/etc/passwd"], 126], [["/"], 126]):
        check(spoor.record([], command).status == status, f"{command}: wrong status")


if __name__ == "__main__":
    tracer, traced = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, traced))
